"""How fast and how small softset is beside its peers and the machine's own limit: `python -m benchmarks --help`."""

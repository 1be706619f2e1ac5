"""Benchmarks of speed and memory against other libraries and the machine's limit: `python -m benchmarks --help`."""

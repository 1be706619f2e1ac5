"""What the software survives: `python -m reliability GROUP`; docs/reliability.md has the last figures."""

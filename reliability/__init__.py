"""Reliability checks: `python -m reliability GROUP`. docs/reliability.md has the latest results."""

"""Interfaces of other packages, implemented with softset."""

"""Atomic files, manifests, locks and the registry of imported data."""

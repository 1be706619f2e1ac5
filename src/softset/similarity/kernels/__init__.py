"""Numeric kernels on NumPy arrays: memberships and cosines, pair by pair and for all pairs."""

"""Similarity of two texts: metrics over token sets, their kernels, weights, chance levels and explanations."""

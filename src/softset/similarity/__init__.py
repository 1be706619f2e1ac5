"""How alike two texts are: metrics over token sets, their kernels, weights, chance levels and explanations."""

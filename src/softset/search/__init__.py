"""Search: vector sources, the exact and the approximate engine, results."""

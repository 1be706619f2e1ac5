"""Search by membership: sources of vectors, exact and approximate engines, results."""

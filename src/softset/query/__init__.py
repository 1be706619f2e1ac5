"""Queries: parser, expression tree, logics, thresholds and plans."""

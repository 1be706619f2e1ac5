"""Queries: parser, expression tree, logics, backgrounds and plans."""

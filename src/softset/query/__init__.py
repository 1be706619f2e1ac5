"""Queries as expressions of sets: parser, plan and logic."""

"""Threads and just-in-time compilation."""

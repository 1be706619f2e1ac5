"""Threads, progress and just-in-time compilation."""

"""Evaluation of metrics and of sets of words: data readers, tasks, significance tests and tables of results."""

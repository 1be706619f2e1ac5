"""Texts to token sets: one pipeline for every kind of model, and the few things in which they differ."""

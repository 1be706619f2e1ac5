"""Texts to token sets: one pipeline for all models, and a module for each kind of model."""

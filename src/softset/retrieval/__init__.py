"""Which items belong: the query language, its evaluation, and search."""

from softset.retrieval.logic import Logic
from softset.retrieval.parser import parse
from softset.retrieval.results import Hit, Result
from softset.retrieval.words import WordVectors, load_words

__all__ = ["Hit", "Logic", "Result", "WordVectors", "load_words", "parse"]

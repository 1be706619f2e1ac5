"""Why a score is what it is: token by token, for the terminal, a page, a picture or a program."""

from softset.similarity.explain.data import Explanation, Side, View

__all__ = ["Explanation", "Side", "View"]

"""What bert_score is given to score: texts, and for each a text or several to compare it with."""

from typing import Any

from softset.encoders.tokensets import TokenSets
from softset.errors import InputError
from softset.similarity.inputs import read_job

__all__ = ["read_texts"]


def read_texts(cands: Any, refs: Any) -> tuple[list[str], list[str] | list[list[str]], list[str]]:
    """Return the candidates, their references as they were grouped, and all references in one list.

    >>> read_texts(("a", "b"), [["c", "d"], ["e"]])
    (['a', 'b'], [['c', 'd'], ['e']], ['c', 'd', 'e'])
    >>> read_texts(["a", None], ["b", "c"])
    Traceback (most recent call last):
    softset.errors.InputError: candidate 1 is None, but a str was wanted
    """
    job = read_job(_listed(cands), _listed(refs))
    candidates, flat = job.candidates, job.references
    if isinstance(candidates, TokenSets) or isinstance(flat, TokenSets):
        raise InputError("lists of texts were wanted, but vectors were given: softset.score takes them")
    if not job.multi_reference:
        return candidates, flat, flat
    grouped: list[list[str]] = [[] for _ in candidates]
    for owner, text in zip(job.owner.tolist(), flat, strict=True):
        grouped[owner].append(text)
    return candidates, grouped, flat


def _listed(given: Any) -> Any:
    """Return arrays and columns of texts as lists of Python's own strings."""
    return given.tolist() if hasattr(given, "tolist") else given

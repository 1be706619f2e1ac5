"""MultiReference references for one candidate: the best of them, their mean, or their union."""

from dataclasses import replace
from typing import Literal

import numpy as np

from softset.encoders.tokensets import TokenSets
from softset.similarity.metrics.base import PRF

__all__ = ["MULTI_REFERENCE", "MultiReference", "reduced", "united"]

MultiReference = Literal["best", "mean", "union"]
MULTI_REFERENCE = ("best", "mean", "union")


def united(sets: TokenSets, right: np.ndarray, owner: np.ndarray) -> TokenSets:
    """Return one set for each owner, of all the tokens of its references: their span is the union of the spans.

    >>> A = TokenSets.from_arrays([[[1.0, 0]], [[0, 1.0]], [[1.0, 1]]])
    >>> united(A, np.array([0, 1, 2]), np.array([0, 0, 1])).counts.tolist()
    [2, 1]
    """
    taken = replace(sets, special=None).take(right)
    first = np.flatnonzero(np.concatenate([[True], np.diff(owner) > 0]))
    return replace(
        taken,
        offsets=np.concatenate([taken.offsets[first], taken.offsets[-1:]]),
        spans=None,
        truncated=np.add.reduceat(taken.truncated, first),
        unknown=np.add.reduceat(taken.unknown, first),
    )


def reduced(
    numbers: PRF, facts: dict[str, np.ndarray], owner: np.ndarray, n: int, multi_reference: str
) -> tuple[PRF, dict[str, np.ndarray], np.ndarray]:
    """Return the numbers and facts of n candidates from those of all their pairs, and which reference counted.

    The best is by F, with the precision and recall of that same reference; the first of equals. Pairs are in the order
    of their owners, and each candidate has at least one.
    """
    alone = len(numbers.score) == n  # one reference each, or united ones
    if alone:
        return numbers, facts, np.full(n, 0 if multi_reference == "best" else -1)
    first = np.flatnonzero(np.concatenate([[True], np.diff(owner) > 0]))
    if multi_reference == "best":
        # What differs by less than scores are exact to is equal: the first counts.
        order = np.lexsort((np.arange(len(owner)), -numbers.score.round(6), owner))[first]
        best = {name: values[order] for name, values in facts.items()}
        return PRF(*(values[order] for values in numbers)), best, order - first
    counts = np.diff(np.append(first, len(owner)))
    means = PRF(*(np.add.reduceat(values, first) / counts for values in numbers))
    whole = {
        name: np.logical_or.reduceat(values, first) if values.dtype == bool else np.add.reduceat(values, first)
        for name, values in facts.items()
    }
    whole["candidate_tokens"] = facts["candidate_tokens"][first]
    return means, whole, np.full(n, -1)

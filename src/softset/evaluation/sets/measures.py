"""Where the words that should be found stand in a ranking, and what that is worth."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from softset.evaluation.significance import Interval

__all__ = ["CUTS", "METRICS", "Ranks", "measured", "median", "ndcg", "ranks", "recall"]

Rows = npt.NDArray[np.float64]
Ranks = list[Rows]

CUTS = {"R@10": 10, "R@100": 100, "R@1k": 1000}
METRICS = (*CUTS, "median", "nDCG")


def ranks(
    scores: npt.NDArray[np.floating],
    known: npt.NDArray[np.bool_],
    shown: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
) -> Ranks:
    """Return the rank of each target, query by query, from scores (q, v) of all words.

    The words that a query shows are no candidates. Equal scores share the mean of their ranks, so that no order of the
    vocabulary counts. A word without a vector ranks last.

    >>> scores = np.array([[0.9, 0.5, 0.5, 0.1, 0.7]])
    >>> ranks(scores, np.array([True, True, True, True, False]), [(0,)], [(1, 3, 4)])
    [array([1.5, 3. , 4. ])]
    """
    found = []
    for row, query, wanted in zip(scores, shown, targets, strict=True):
        candidate = known.copy()
        candidate[list(query)] = False
        order = np.sort(row[candidate])
        values = row[list(wanted)]
        above = len(order) - np.searchsorted(order, values, side="right")
        from_here = len(order) - np.searchsorted(order, values, side="left")
        last = len(row) - len(set(query))
        found.append(np.where(known[list(wanted)], (above + 1 + from_here) / 2, last))
    return found


def measured(found: Ranks) -> dict[str, Rows]:
    """Return what each query is worth (q,): recalls, and nDCG over the whole ranking.

    >>> {name: one.round(3).tolist() for name, one in measured([np.array([1.0, 3.0, 200.0])]).items()}
    {'R@10': [0.667], 'R@100': [0.667], 'R@1k': [1.0], 'nDCG': [0.765]}
    """
    recalls = {name: np.array([recall(one, cut) for one in found]) for name, cut in CUTS.items()}
    return {**recalls, "nDCG": np.array([ndcg(one) for one in found])}


def recall(found: Rows, cut: int) -> float:
    """Return the share of the targets among the first.

    >>> recall(np.array([1.0, 3.0, 200.0, 10.0]), 10)
    0.75
    """
    return float((found <= cut).mean())


def ndcg(found: Rows) -> float:
    """Return the discounted gain of the targets' ranks by that of a perfect ranking.

    >>> ndcg(np.array([2.0, 1.0]))
    1.0
    """
    perfect = np.arange(1, len(found) + 1)
    return float((1 / np.log2(found + 1)).sum() / (1 / np.log2(perfect + 1)).sum())


def median(found: Ranks, *, samples: int, seed: int, confidence: float) -> Interval:
    """Return the median rank of all targets of all queries, and its interval over queries drawn with replacement.

    >>> median([np.array([1.0, 3.0]), np.array([2.0, 9.0, 4.0])], samples=100, seed=1, confidence=0.95)
    Interval(mean=3.0, low=1.0, high=4.0)
    """
    pooled = np.concatenate(found)
    order = np.argsort(pooled, kind="stable")
    owner = np.repeat(np.arange(len(found)), list(map(len, found)))[order]
    drawn = np.random.default_rng(seed).integers(len(found), size=(samples, len(found)))
    medians = np.sort([_drawn_median(pooled[order], owner, one) for one in drawn])
    outside = int(samples * (1 - confidence) / 2 + 1e-9)
    return Interval(float(np.median(pooled)), float(medians[outside]), float(medians[samples - outside - 1]))


def _drawn_median(values: Rows, owner: npt.NDArray[np.int64], drawn: npt.NDArray[np.int64]) -> float:
    """Return the lower median of values (t,) in rising order, each as often as its query was drawn."""
    counts = np.bincount(drawn, minlength=len(drawn))[owner].cumsum()
    return float(values[np.searchsorted(counts, counts[-1] / 2)])

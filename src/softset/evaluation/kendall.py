"""Kendall's tau as WMT18 has it: how often a metric agrees with people about which of two translations is better.

tau = (concordant - discordant) / (concordant + discordant) over all judgements, and a metric that scores both alike
does not agree: a tie is discordant (Ma, Bojar and Graham 2018, "Results of the WMT18 Metrics Shared Task").

Judgements of one segment share its reference and its translations, so the bootstrap draws segments. All it needs of a
segment is how many judgements it has, and how many more of them are concordant than discordant.
"""

import numpy as np
import numpy.typing as npt

from softset.evaluation.agreement import Agreement, Finding
from softset.evaluation.correlation_draws import drawn_counts

__all__ = ["kendall", "surplus", "tau"]

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]

# Texts that a tokeniser reads alike may differ in the seventh digit, where a model's numbers depend on the batch. Real
# differences are larger: none of 5,110 judgements of cs-en, by 19 scores, lies between 0 and this.
ALIKE = 1e-6


def surplus(scores: Floats, better: Places, worse: Places, segment: Places) -> Floats:
    """Return concordant - discordant (k, s) of s segments, from scores (k, m) of m translations by k metrics.

    Judgement i, of n, says that translation better[i] of segment[i] is better than worse[i]; segments are counted from
    0, and each has a judgement.

    >>> scores = np.array([[0.9, 0.5, 0.5, 0.1]])
    >>> surplus(scores, np.array([0, 1, 2]), np.array([1, 2, 3]), np.array([0, 0, 1]))
    array([[0., 1.]])
    """
    signs = np.where(scores[:, better] > scores[:, worse] + ALIKE, 1.0, -1.0)
    order = np.argsort(segment, kind="stable")
    begins = np.searchsorted(segment[order], np.arange(segment.max() + 1))
    sums: Floats = np.add.reduceat(signs[:, order], begins, axis=1)
    return sums


def tau(surpluses: Floats, judgements: npt.ArrayLike) -> Floats:
    """Return the taus (k,) of surpluses (k, s), where segments have so many judgements (s,).

    >>> tau(np.array([[0.0, 1.0]]), [2, 1]).round(3).tolist()
    [0.333]
    """
    taus: Floats = surpluses.sum(axis=1) / np.sum(judgements)
    return taus


def kendall(
    surpluses: Floats,
    judgements: npt.ArrayLike,
    *,
    baseline: int | None = None,
    samples: int = 1000,
    seed: int = 12345,
    name: str = "",
) -> list[Finding]:
    """Return the tau of each of k metrics with its interval and p, all from the same draws of segments.

    Args:
        surpluses: (k, s), see `surplus`.
        judgements: (s,), how many each segment has.
        baseline: which of the k the others are tested against.
        samples: how many times s segments are drawn with replacement.
        seed: the same seed gives the same draws.
        name: of the dataset, which has draws of its own.

    >>> better, base = kendall(np.array([[2.0, 1.0, 3.0], [0.0, 1.0, 1.0]]), [2, 1, 3], baseline=1, samples=99)
    >>> better.value, better.p, round(base.value, 2), base.p
    (1.0, 0.01, 0.33, None)
    """
    counts = np.asarray(judgements, dtype=np.float64)
    taus = np.empty((len(surpluses), samples))
    for here, drawn in drawn_counts(len(counts), samples, seed, name):
        taus[:, here] = surpluses @ drawn / (counts @ drawn)
    found = Agreement(tau(surpluses, counts), taus).findings(baseline)
    if len(counts) > 1:
        return found
    # All draws are the one segment: nothing is known about chance.
    return [one if one.p is None else one._replace(p=1.0) for one in found]

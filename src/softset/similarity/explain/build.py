"""How an explanation is made: the metrics' own memberships, and what each token of the other text gives to them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from softset.encoders.tokensets import TokenSets
from softset.errors import InputError
from softset.similarity.explain.data import Explanation, Side, View
from softset.similarity.explain.level import chance_level
from softset.similarity.inputs import read_side
from softset.similarity.metrics import MembershipMetric, Metric
from softset.similarity.pairs import Pairs

if TYPE_CHECKING:
    from softset.similarity.scorer import Scorer

__all__ = ["explain"]


def explain(scorer: "Scorer", candidate: Any, reference: Any, metrics: Sequence[Metric]) -> Explanation:
    """Return the explanation of one pair by some metrics."""
    for one in metrics:
        if not isinstance(one, MembershipMetric):
            raise InputError(f"{one} has no membership of single tokens to show: use softset, subspace or bertscore")
    if not metrics:
        raise InputError("no metric was given to explain: give at least one")
    A, B = (_set(scorer, given, what) for given, what in ((candidate, "candidate"), (reference, "reference")))
    views = tuple(_view(scorer, A, B, one) for one in metrics if isinstance(one, MembershipMetric))
    pairs = Pairs.of(A, B)
    rows, others = _units(pairs)
    names = [str(at) for at in range(len(pairs.norms))] if pairs.tokens is None else pairs.tokens.tolist()
    sides = _side(candidate, A, names[: len(rows)]), _side(reference, B, names[len(rows) :])
    first = scorer.with_options(metric=metrics[0]).score(A, B)
    return Explanation(*sides, rows @ others.T, views, first.signature)


def _set(scorer: "Scorer", given: Any, what: str) -> TokenSets:
    """Return one text, one array of vectors, or token sets of one text, as token sets of one text."""
    if isinstance(given, TokenSets):
        if len(given) != 1:
            raise InputError(f"token sets of one {what} were wanted, but they hold {len(given)}")
        return given
    side = read_side([given], what)
    return side if isinstance(side, TokenSets) else scorer.encode(side)


def _view(scorer: "Scorer", A: TokenSets, B: TokenSets, wanted: MembershipMetric) -> View:
    of_metric = scorer.with_options(metric=wanted)
    numbers = next(iter(of_metric.score(A, B)))
    metric, moment = of_metric.served(A)
    assert isinstance(metric, MembershipMetric)  # noqa: S101 (what serves it is of its kind)
    pairs = Pairs.of(A, B, idf=of_metric.weights_for(B), moment=moment)
    k = int(pairs.counts[0])
    memberships, shares = metric.memberships(pairs), metric.shares(pairs)
    rows, others = _units(pairs)
    return View(
        repr(metric),
        numbers.precision,
        numbers.recall,
        numbers.score,
        memberships[:k],
        memberships[k:],
        shares[:k],
        shares[k:],
        metric.links(rows, others),
        metric.links(others, rows),
        metric.LINKS,
        None if scorer.rescale else chance_level(metric, pairs, of_metric.moment_of(A.signature), A.signature),
    )


def _units(pairs: Pairs) -> tuple[np.ndarray, np.ndarray]:
    k = int(pairs.counts[0])
    rows = pairs.exact_rows(np.arange(len(pairs.norms)))
    return rows[:k], rows[k:]


def _side(given: Any, sets: TokenSets, names: Sequence[str]) -> Side:
    """Return a side; spans are known only if every token is shown."""
    spans = sets.spans if sets.spans is not None and len(sets.spans) == len(names) else None
    places = None if spans is None else tuple((int(start), int(stop)) for start, stop in spans)
    return Side(given if isinstance(given, str) else None, tuple(names), places)

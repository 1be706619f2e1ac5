"""Build an explanation: the memberships of the metrics, and the contribution of each token of the other text."""

import csv
from collections.abc import Sequence
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from softset.algebra.arrays import unit_rows
from softset.encoders.models import BUNDLED
from softset.encoders.signature import parse_signature
from softset.encoders.tokensets import TokenSets
from softset.errors import InputError
from softset.io.assets import bundled_file
from softset.similarity.explain.data import ChanceLevel, ExplainedText, Explanation, MetricView
from softset.similarity.inputs import read_side
from softset.similarity.metrics import MembershipMetric, Metric
from softset.similarity.metrics.pairs import Pairs
from softset.similarity.rescaling import chance_levels, has_closed_form, pair_levels

if TYPE_CHECKING:
    from softset.similarity.scorer import Scorer

CHANCE_LEVELS = "baselines/levels.csv"


def explain(scorer: "Scorer", candidate: Any, reference: Any, metrics: Sequence[Metric]) -> Explanation:
    """Explain the scores that some metrics give to one pair."""
    if not metrics:
        raise InputError("no metric was given to explain: give at least one")
    for metric in metrics:
        if not isinstance(metric, MembershipMetric):
            raise InputError(f"{metric} has no membership of single tokens: use softset, subspace or bertscore")
    A, B = _encode(scorer, candidate, "candidate"), _encode(scorer, reference, "reference")
    views = tuple(_view(scorer.with_options(metric=metric), A, B) for metric in metrics)
    pairs = Pairs.of(A, B)
    rows, others = np.split(unit_rows(pairs.vectors), pairs.offsets[1:2])
    tokens = [str(index) for index in range(len(pairs.norms))] if pairs.tokens is None else pairs.tokens.tolist()
    texts = _text(candidate, A, tokens[: len(rows)]), _text(reference, B, tokens[len(rows) :])
    signature = scorer.with_options(metric=metrics[0]).resolve(A, B).signature
    return Explanation(*texts, rows @ others.T, views, signature)


def _encode(scorer: "Scorer", text: Any, role: str) -> TokenSets:
    """Return one text, one array of vectors or the token sets of one text as token sets of one text."""
    if isinstance(text, TokenSets):
        if len(text) != 1:
            raise InputError(f"the token sets of one {role} were expected, but they hold {len(text)} texts")
        return text
    side = read_side([text], role)
    return side if isinstance(side, TokenSets) else scorer.encode(side)


def _view(scorer: "Scorer", A: TokenSets, B: TokenSets) -> MetricView:
    plan, row = scorer.resolve(A, B), scorer.score(A, B)[0]
    metric = plan.metric
    assert isinstance(metric, MembershipMetric)  # noqa: S101 (resolving keeps the kind of metric)
    pairs = Pairs.of(A, B, idf=plan.idf, moment=plan.moment)
    m = metric.memberships(pairs)
    sides = [m, metric.mean_weights(pairs, m), unit_rows(pairs.vectors)]
    memberships, weights, (rows, others) = (np.split(values, pairs.offsets[1:2]) for values in sides)
    return MetricView(
        metric=repr(metric),
        precision=row.precision,
        recall=row.recall,
        score=row.score,
        candidate_membership=memberships[0],
        reference_membership=memberships[1],
        candidate_weights=weights[0],
        reference_weights=weights[1],
        candidate_links=metric.links(rows, others, pairs.cut),
        reference_links=metric.links(others, rows, pairs.cut),
        links=metric.LINKS,
        chance=None if scorer.rescale else _chance_level(metric, pairs, A.signature),
        score_label="F" if metric.SCORE_KIND == "f1" else "score",
    )


def _text(text: Any, sets: TokenSets, tokens: Sequence[str]) -> ExplainedText:
    """Return a text with its tokens; spans are used only if there is one for every token."""
    spans = None
    if sets.spans is not None and len(sets.spans) == len(tokens):
        spans = tuple((int(start), int(end)) for start, end in sets.spans)
    return ExplainedText(text if isinstance(text, str) else None, tuple(tokens), spans)


def _chance_level(metric: Metric, pairs: Pairs, signature: str) -> ChanceLevel | None:
    """Return the score of unrelated text: in closed form for this pair, measured for the bundled encoder, or None."""
    if has_closed_form(metric):
        of_sets = chance_levels(metric, pairs, pairs.moment).of_sets
        if of_sets is not None:
            precision, recall, score = (float(level[0]) for level in pair_levels(of_sets[:1], of_sets[1:]))
            return ChanceLevel(precision, recall, score, "closed form")
    default = all(getattr(metric, field.name) == field.default for field in fields(metric))
    if not default or not signature.startswith(f"encoder:{BUNDLED}@"):
        return None
    facts = parse_signature(signature)
    if facts["unit"] != "token" or facts["special"] != "out":
        return None
    levels = _measured_levels().get((metric.NAME, facts["layer"]))
    return None if levels is None else ChanceLevel(*levels, "measured on 4,000 pairs of unrelated sentences")


@cache
def _measured_levels() -> dict[tuple[str, str], tuple[float, float, float]]:
    with bundled_file(CHANCE_LEVELS).open(encoding="ascii", newline="") as file:
        rows = list(csv.DictReader(file))
    return {(row["METRIC"], row["LAYER"]): (float(row["P"]), float(row["R"]), float(row["F"])) for row in rows}

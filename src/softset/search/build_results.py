"""Build the results of searches: from rankings and plans to hits with ids, texts and memberships."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from softset import __version__
from softset.encoders.texts import check_texts
from softset.errors import InputError
from softset.query.background import MembershipCalibration
from softset.query.logic import Logic
from softset.query.plan import Plan
from softset.query.resolution import EXACT_MATCH, Resolved, resolve_all
from softset.search.exact import Ranking, exact_scores
from softset.search.filtered import SelectedItems, filter_signature
from softset.search.options import FindOptions
from softset.search.paging import Page
from softset.search.results import (
    Hit,
    ItemMembership,
    MembershipResult,
    SearchResult,
    add_passages,
    explain_hits,
    explain_leaves,
)
from softset.search.source import VectorSource

if TYPE_CHECKING:
    from softset.search.find import SearchableSource

EXCLUDED_POOL = 500  # number of best items of the query without BUT NOT that are checked for removal
MIN_REDUCTION = 0.01  # smallest reduction of a membership with which an item is listed as removed


def build_result(source: "SearchableSource", plan: Plan, page: Page, n: int, options: FindOptions) -> SearchResult:
    """Return the hits of a page of a ranking of `n` items."""
    min_score, stop = options.get("min_score", 0.0), options.get("restrict_vocab")
    ranking = page.ranking
    memberships = plan.membership(ranking.scores)
    # Items with membership 0 are never hits; excluded items are not in the order of their memberships.
    shown = memberships >= min_score if min_score > 0 else memberships > 0
    indices, scores = ranking.indices[shown].tolist(), memberships[shown].tolist()
    percentiles = np.round(100 * (n - 1 - page.positions[shown]) / n, 4).tolist() if indices else []
    pairs = zip(source.items(indices), scores, percentiles, indices, strict=True)
    hits = tuple(
        Hit(item.id, score, percentile, index, (), item.text, item.metadata) for item, score, percentile, index in pairs
    )
    hits = add_passages(hits, source, plan)
    if options.get("explain") or options.get("excluded"):
        hits = explain_hits(hits, source, plan, leaves=options.get("explain", False))
    condition = options.get("filter")
    restricted = "" if stop is None else f"|restrict:{stop}"
    restricted += "" if condition is None else filter_signature(condition)
    engine = "approximate" if options.get("approximate") and condition is None else source.engine
    signature = f"{source.signature}{restricted}|engine:{engine}|logic:{plan.logic}|softset:{__version__}"
    described = (plan.query, plan.logic.name, signature)
    return SearchResult(*described, hits, plan.notes, plan.unknown, plan=plan, source=source)


def without_exclusions(plan: Plan) -> Plan:
    """Return the plan without its BUT NOTs, or raise InputError if there are none."""
    if plan.without_exclusions is None:
        raise InputError(f"{plan.query} has no BUT NOT in the logic {Logic.name}, so nothing is excluded")
    return plan.without_exclusions


def most_reduced(source: "SearchableSource", plan: Plan, ranking: Ranking, count: int) -> Ranking:
    """Return the items of a ranking without exclusions whose memberships BUT NOT reduces most, with their scores."""
    scores = exact_scores(source, plan, ranking.indices) if len(ranking.indices) else np.zeros(0)
    reductions = without_exclusions(plan).membership(ranking.scores) - plan.membership(scores)
    order = np.argsort(-reductions.round(12), kind="stable")[:count]
    order = order[reductions[order] > MIN_REDUCTION]
    return Ranking(ranking.indices[order], scores[order])


def searched_count(source: VectorSource, excluded: frozenset[int], stop: int | None) -> int:
    """Return how many of the first `stop` items a search may return."""
    if isinstance(source, SelectedItems):
        return source.count(excluded, stop)
    if stop is None or stop >= len(source):
        return len(source) - len(source.hidden) - len(excluded - source.hidden)
    return stop - sum(index < stop for index in source.hidden | excluded)


def build_memberships(
    plan: Plan,
    texts: Sequence[str],
    resolved: Mapping[str, Resolved],
    source: "SearchableSource",
    signature: str,
    *,
    explain: bool,
) -> MembershipResult:
    """Return the memberships of texts, given the vectors of those that have one; a zero vector has membership 0."""
    known = [text for text in dict.fromkeys(texts) if text in resolved]
    by_text: dict[str, ItemMembership] = {}
    if known:
        given, all_known = source.given_items([resolved[text] for text in known]), np.arange(len(known))
        scores = plan.membership(exact_scores(given, plan, all_known))
        leaves = explain_leaves(given, all_known, plan) if explain else [()] * len(known)
        for text, score, text_leaves in zip(known, scores.tolist(), leaves, strict=True):
            resolved_as = resolved[text].resolved_as
            shown = None if resolved_as == EXACT_MATCH else resolved_as
            by_text[text] = ItemMembership(text, score, shown, text_leaves)
    items = tuple(by_text.get(text, ItemMembership(text, None)) for text in texts)
    unknown = tuple(dict.fromkeys([*plan.unknown, *(text for text in texts if text not in resolved)]))
    return MembershipResult(plan.query, plan.logic.name, signature, items, plan.notes, unknown)


def fit_calibration(
    source: "SearchableSource", plan: Plan, members: Sequence[str], non_members: Sequence[str]
) -> MembershipCalibration:
    """Return the calibration of a plan that fits texts that belong to it, and texts that do not."""
    if plan.combination is None:
        raise InputError(f"only memberships of the logic {Logic.name} can be calibrated, not of {plan.logic}")
    inside, outside = check_texts(members), check_texts(non_members)
    for name, texts, verb in (("members", inside, "does"), ("non_members", outside, "does not")):
        if not texts:
            raise InputError(f"{name} is empty: give at least one text that {verb} belong")
    resolved = resolve_all(source, [*inside, *outside], skip_unknown=False)
    given = source.given_items([resolved[text] for text in (*inside, *outside)])
    scores = exact_scores(given, plan, np.arange(len(given)))
    for text, score in zip((*inside, *outside), scores, strict=True):
        if score == -np.inf:
            raise InputError(f"{text!r} has the zero vector, which has no membership: leave it out")
    values = plan.combination.relative(scores)
    belongs = np.arange(len(values)) < len(inside)
    return MembershipCalibration.fit(values, belongs != plan.combination.negated)

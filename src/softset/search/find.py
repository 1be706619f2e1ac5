"""Queries over vectors: `find`, `membership`, `map` and `plan` for word vectors, collections, stores and Ray jobs.

One `find` goes forward through five steps: `make_plans` parses the query, resolves its examples and computes the
thresholds; `rank` runs the plan over the items; `_result` reads ids, texts and metadata of the best.
"""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from softset import __version__
from softset.errors import InputError
from softset.query.logic import Logic, resolve_logic
from softset.query.plan import NamedSets, Plan, Resolved, make_plans
from softset.runtime.threads import own_threads
from softset.search.exact import Ranking, search
from softset.search.membership import MembershipResult, compute_memberships
from softset.search.projection_2d import Projection2D, project
from softset.search.results import Hit, Item, SearchResult, explain_leaves
from softset.search.source import MANY_DIRECTIONS, VectorSource

if TYPE_CHECKING:
    from softset.search.approximate import ApproximateIndex

__all__ = ["SearchableSource"]


class SearchableSource(VectorSource):
    """A vector source whose items are found by queries; the base of `WordVectors` and `Collection`."""

    @abstractmethod
    def resolve(self, text: str) -> Resolved:
        """Return the vector of a text, or raise UnknownWordError."""

    @abstractmethod
    def resolve_many(self, texts: Iterable[str]) -> dict[str, Resolved]:
        """Return the vectors of those texts that have one, read in one batch."""

    @abstractmethod
    def item(self, index: int) -> Item:
        """Return the item at an index."""

    def items(self, indices: Sequence[int]) -> list[Item]:
        """Return the items at several indices."""
        return [self.item(index) for index in indices]

    def rank(
        self, plans: Sequence[Plan], top: int, *, excluded: Sequence[frozenset[int]], stop: int | None = None
    ) -> list[Ranking]:
        """Return the best items of each plan among the first `stop` items, without the excluded indices."""
        return search(self, plans, top, excluded=excluded, stop=stop)

    @cached_property
    def approximate_index(self) -> "ApproximateIndex":
        """The index of the approximate engine, built or loaded from the cache at the first use."""
        from softset.search.approximate import ApproximateIndex

        return ApproximateIndex(self)

    def preprocessed(self, preprocessing: str | None, logic: Logic) -> "SearchableSource":
        """Return the source that is searched: word vectors after a preprocessing, other sources unchanged."""
        del logic
        if preprocessing not in (None, "none"):
            raise InputError(f"the preprocessing {preprocessing!r} is for word vectors: leave it out for other items")
        return self

    # Queries

    def find(
        self,
        query: str,
        top: int = 10,
        *,
        logic: str | Logic | None = None,
        alpha: float | None = None,
        aperture: float | None = None,
        floor: float | None = None,
        preprocessing: str | None = None,
        sets: NamedSets | None = None,
        min_score: float = 0.0,
        include_examples: bool = False,
        skip_unknown: bool = False,
        explain: bool = False,
        approximate: bool = False,
        threads: int | None = None,
        restrict_vocab: int | None = None,
    ) -> SearchResult:
        """Return the items with the largest membership in a query; `find_many` describes the options.

        >>> import softset
        >>> softset.load_words().find("{red, blue, green} & {apple, peach, banana}", top=2)
        0.767  orange
        0.572  plum
        """
        return self.find_many(
            [query],
            top,
            logic=logic,
            alpha=alpha,
            aperture=aperture,
            floor=floor,
            preprocessing=preprocessing,
            sets=sets,
            min_score=min_score,
            include_examples=include_examples,
            skip_unknown=skip_unknown,
            explain=explain,
            approximate=approximate,
            threads=threads,
            restrict_vocab=restrict_vocab,
        )[0]

    def find_many(
        self,
        queries: str | Sequence[str],
        top: int = 10,
        *,
        logic: str | Logic | None = None,
        alpha: float | None = None,
        aperture: float | None = None,
        floor: float | None = None,
        preprocessing: str | None = None,
        sets: NamedSets | None = None,
        min_score: float = 0.0,
        include_examples: bool = False,
        skip_unknown: bool = False,
        explain: bool = False,
        approximate: bool = False,
        threads: int | None = None,
        restrict_vocab: int | None = None,
    ) -> list[SearchResult]:
        """Return one result for each query, from one pass over the items.

        Args:
            queries: queries as described in docs/queries.md, such as ``"{red, blue} & fruit"``.
            top: the maximal number of hits in each result.
            logic: "logistic" (default), "lattice" (the paper's), "graded", "product" or "minmax".
            alpha: the tolerance of AND in the logic "lattice".
            aperture: the aperture of graded subspaces; infinity makes them crisp.
            floor: the minimum grade in intersections of the logic "graded".
            preprocessing: the preprocessing of word vectors, such as "none" or "centre"; by default that of the logic.
            sets: the examples of named sets, which queries refer to as @name.
            min_score: the lowest membership of a hit.
            include_examples: keep the query's own examples among the hits.
            skip_unknown: leave out examples without a vector, and list them, instead of raising an error.
            explain: add the membership in each set of the query to every hit.
            approximate: search an index of nearest neighbours, which is built at the first use. Complements are
                refused, because nearly every item belongs to them.
            threads: the maximal number of threads; by default all processors.
            restrict_vocab: search only the first n items; examples are looked up among all.
        """
        queries = [queries] if isinstance(queries, str) else queries
        if not all(isinstance(query, str) for query in queries):
            raise InputError("a query must be a string such as '{red, blue} & fruit', but something else was given")
        _check_counts(top=top, threads=threads, restrict_vocab=restrict_vocab)
        if approximate and restrict_vocab is not None:
            raise InputError("an approximate search always covers all items: leave out restrict_vocab or approximate")
        chosen = resolve_logic(logic, alpha=alpha, aperture=aperture, floor=floor)
        with own_threads(threads is not None or len(queries) >= MANY_DIRECTIONS, threads):
            source = self.preprocessed(preprocessing, chosen)
            plans = make_plans(queries, source, chosen, sets=sets, skip_unknown=skip_unknown)
            excluded = [frozenset[int]() if include_examples else plan.example_indices for plan in plans]
            if approximate:
                rankings = source.approximate_index.search(plans, top, excluded=excluded)
            else:
                rankings = source.rank(plans, top, excluded=excluded, stop=restrict_vocab)
        restricted = "" if restrict_vocab is None else f"|restrict:{restrict_vocab}"
        signature = f"{source.signature}{restricted}|engine:{'approximate' if approximate else source.engine}"
        n = len(source) if restrict_vocab is None else min(restrict_vocab, len(source))
        return [
            _result(source, signature, plan, ranking, _searched(source, indices, n), min_score, explain)
            for plan, ranking, indices in zip(plans, rankings, excluded, strict=True)
        ]

    def plan(
        self,
        query: str,
        *,
        logic: str | Logic | None = None,
        alpha: float | None = None,
        aperture: float | None = None,
        floor: float | None = None,
        preprocessing: str | None = None,
        sets: NamedSets | None = None,
        skip_unknown: bool = False,
    ) -> Plan:
        """Return the plan of a query without running it; `find_many` describes the options.

        >>> import softset
        >>> print(softset.load_words().plan("red wine"))
        query     {red wine}
        logic     logistic
        set       {red wine}  ->  Centroid(ambient=300, threshold=0.2...)
                    red wine: the mean of red, wine
        combined  the memberships in 1 set
        """
        chosen = resolve_logic(logic, alpha=alpha, aperture=aperture, floor=floor)
        source = self.preprocessed(preprocessing, chosen)
        return make_plans([query], source, chosen, sets=sets, skip_unknown=skip_unknown)[0]

    def membership(
        self,
        query: str,
        texts: str | Sequence[str],
        *,
        logic: str | Logic | None = None,
        alpha: float | None = None,
        aperture: float | None = None,
        floor: float | None = None,
        preprocessing: str | None = None,
        sets: NamedSets | None = None,
        skip_unknown: bool = False,
        explain: bool = False,
        threads: int | None = None,
    ) -> MembershipResult:
        """Return the memberships of texts in a query, in the order of the texts, whether they are items or not.

        `find_many` describes the options. With `skip_unknown`, the membership of a text without a vector is None.

        >>> import softset
        >>> softset.load_words().membership("{red, blue} & {apple, peach}", ["orange", "blood orange", "dog"])
        0.801  orange
        0.601  blood orange
        0.033  dog
        """
        texts = [texts] if isinstance(texts, str) else list(texts)
        if not all(isinstance(text, str) for text in texts):
            raise InputError("the texts must be a list of strings, but something else was given")
        chosen = resolve_logic(logic, alpha=alpha, aperture=aperture, floor=floor)
        with own_threads(threads is not None, threads):
            source = self.preprocessed(preprocessing, chosen)
            (plan,) = make_plans([query], source, chosen, sets=sets, skip_unknown=skip_unknown)
            vectors = source.resolve_many(dict.fromkeys(texts))
            if not skip_unknown:
                vectors |= {text: source.resolve(text) for text in texts if text not in vectors}  # raises an error
        signature = f"{source.signature}|logic:{chosen}|softset:{__version__}"
        return compute_memberships(plan, texts, vectors, signature, explain=explain)

    def map(
        self,
        query: str,
        top: int = 10,
        *,
        logic: str | Logic | None = None,
        alpha: float | None = None,
        aperture: float | None = None,
        floor: float | None = None,
        preprocessing: str | None = None,
        sets: NamedSets | None = None,
        min_score: float = 0.0,
        include_examples: bool = False,
        skip_unknown: bool = False,
        threads: int | None = None,
        restrict_vocab: int | None = None,
    ) -> Projection2D:
        """Return the sets of a query and its best items in two dimensions; `find_many` describes the options."""
        result = self.find(
            query,
            top,
            logic=logic,
            alpha=alpha,
            aperture=aperture,
            floor=floor,
            preprocessing=preprocessing,
            sets=sets,
            min_score=min_score,
            include_examples=include_examples,
            skip_unknown=skip_unknown,
            threads=threads,
            restrict_vocab=restrict_vocab,
        )
        source = self.preprocessed(preprocessing, result.plan.logic)
        return project(result, source.take([hit.index for hit in result]))

    def recall(
        self,
        queries: Sequence[str],
        top: int = 10,
        *,
        logic: str | Logic | None = None,
        alpha: float | None = None,
        aperture: float | None = None,
        floor: float | None = None,
        preprocessing: str | None = None,
        sets: NamedSets | None = None,
        skip_unknown: bool = False,
    ) -> float:
        """Return the share of the exact hits that the approximate engine finds; `find_many` describes the options."""
        exact, approximate = (
            self.find_many(
                queries,
                top,
                logic=logic,
                alpha=alpha,
                aperture=aperture,
                floor=floor,
                preprocessing=preprocessing,
                sets=sets,
                skip_unknown=skip_unknown,
                approximate=flag,
            )
            for flag in (False, True)
        )
        pairs = [({hit.index for hit in a}, {hit.index for hit in b}) for a, b in zip(exact, approximate, strict=True)]
        return sum(len(a & b) for a, b in pairs) / max(sum(len(a) for a, _ in pairs), 1)


def _check_counts(**counts: int | None) -> None:
    for name, value in counts.items():
        if value is not None and (not isinstance(value, int) or value < 1):
            raise InputError(f"{name} must be a positive whole number, but {value!r} was given")


def _searched(source: VectorSource, excluded: frozenset[int], n: int) -> int:
    """Return how many of the first n items a search may return."""
    if n == len(source):
        return n - len(source.hidden) - len(excluded - source.hidden)
    return n - sum(index < n for index in source.hidden | excluded)


def _result(
    source: SearchableSource, signature: str, plan: Plan, ranking: Ranking, n: int, min_score: float, explain: bool
) -> SearchResult:
    # Items with membership 0 are never hits.
    count = np.count_nonzero(ranking.scores >= min_score if min_score > 0 else ranking.scores > 0)
    indices, scores = ranking.indices[:count].tolist(), ranking.scores[:count].tolist()
    percentiles = np.round(100 * np.arange(n - 1, n - 1 - count, -1) / n, 4).tolist() if count else []
    leaves = explain_leaves(source.take(indices), plan) if explain and count else [()] * count
    hits = tuple(
        Hit(item.id, score, percentile, index, hit_leaves, item.text, item.metadata)
        for item, score, percentile, index, hit_leaves in zip(
            source.items(indices), scores, percentiles, indices, leaves, strict=True
        )
    )
    signature = f"{signature}|logic:{plan.logic}|softset:{__version__}"
    return SearchResult(plan.query, plan.logic.name, signature, hits, plan, plan.notes, plan.unknown)

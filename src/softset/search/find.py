"""Queries over vectors: `find`, `membership`, `map` and `plan` for word vectors, collections, stores and Ray jobs.

`make_plans` parses queries, resolves their examples and computes the thresholds; `rank` runs the plans over the items;
`_result` reads ids, texts and metadata of the best.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypedDict, Unpack

import numpy as np

from softset import __version__
from softset.errors import InputError
from softset.io.text import check_options
from softset.query.logic import Logic, resolve_logic
from softset.query.plan import EXACT_MATCH, NamedSets, Plan, QuerySource, Resolved, make_plans, resolve_all
from softset.runtime.threads import own_threads
from softset.search.exact import Ranking, search
from softset.search.projection_2d import Projection2D, project
from softset.search.results import Hit, Item, ItemMembership, MembershipResult, SearchResult, explain_leaves
from softset.search.source import MANY_DIRECTIONS, VectorSource

if TYPE_CHECKING:
    from softset.search.approximate import ApproximateIndex


class PlanOptions(TypedDict, total=False):
    """The options of a query.

    Attributes:
        logic: "logistic" (default), "lattice" (the paper's), "graded", "product" or "minmax".
        alpha: the tolerance of AND in the logic "lattice".
        aperture: the aperture of graded subspaces; infinity makes them crisp.
        floor: the minimum grade in intersections of the logic "graded".
        preprocessing: the preprocessing of word vectors, such as "none" or "centre"; by default that of the logic.
        sets: the examples of named sets, which queries refer to as @name.
        skip_unknown: leave out examples without a vector, and list them, instead of raising an error.
    """

    logic: str | Logic | None
    alpha: float | None
    aperture: float | None
    floor: float | None
    preprocessing: str | None
    sets: NamedSets | None
    skip_unknown: bool


class FindOptions(PlanOptions, total=False):
    """The options of a search: those of `PlanOptions` and the following.

    Attributes:
        min_score: the lowest membership of a hit.
        include_examples: keep the query's own examples among the hits.
        explain: add the membership in each set of the query to every hit.
        approximate: search an index of nearest neighbours, which is built at the first use. Complements are refused,
            because nearly every item belongs to them.
        threads: the maximal number of threads; by default all processors.
        restrict_vocab: search only the first n items; examples are looked up among all.
    """

    min_score: float
    include_examples: bool
    explain: bool
    approximate: bool
    threads: int | None
    restrict_vocab: int | None


class SearchableSource(VectorSource, QuerySource):
    """A vector source whose items are found by queries; the base of `WordVectors` and `Collection`."""

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

    def find(self, query: str, top: int = 10, **options: Unpack[FindOptions]) -> SearchResult:
        """Return the `top` items with the largest membership in a query; `FindOptions` describes the options.

        >>> import softset
        >>> softset.load_words().find("{red, blue, green} & {apple, peach, banana}", top=2)
        0.767  orange
        0.572  plum
        """
        return self.find_many([query], top, **options)[0]

    def find_many(
        self, queries: str | Sequence[str], top: int = 10, **options: Unpack[FindOptions]
    ) -> list[SearchResult]:
        """Return the result of `find` for each query, from one pass over the items.

        >>> import softset
        >>> [result[0].id for result in softset.load_words().find_many(["red & fruit", "king - man"])]
        ['orange', 'queen']
        """
        check_options(options, ["top", *FindOptions.__annotations__])
        queries = [queries] if isinstance(queries, str) else queries
        if not all(isinstance(query, str) for query in queries):
            raise InputError("a query must be a string such as '{red, blue} & fruit', but something else was given")
        threads, stop = options.get("threads"), options.get("restrict_vocab")
        _check_counts(top=top, threads=threads, restrict_vocab=stop)
        approximate = options.get("approximate", False)
        if approximate and stop is not None:
            raise InputError("an approximate search always covers all items: leave out restrict_vocab or approximate")
        with own_threads(threads is not None or len(queries) >= MANY_DIRECTIONS, threads):
            source, plans = self._make_plans(queries, options)
            include_examples = options.get("include_examples", False)
            excluded = [frozenset[int]() if include_examples else plan.example_indices for plan in plans]
            if approximate:
                rankings = source.approximate_index.search(plans, top, excluded=excluded)
            else:
                rankings = source.rank(plans, top, excluded=excluded, stop=stop)
        return [
            _result(source, plan, ranking, indices, options)
            for plan, ranking, indices in zip(plans, rankings, excluded, strict=True)
        ]

    def find_each(
        self, queries: Sequence[str], top: int = 10, **options: Unpack[FindOptions]
    ) -> list[SearchResult | InputError]:
        """Return the result of each query like `find_many`, or the error of a query that is invalid.

        >>> import softset
        >>> softset.load_words().find_each(["king - man", "qwxz"], top=1)
        [0.852  queen, UnknownWordError("'qwxz' has no vector here")]
        """
        try:
            return [*self.find_many(queries, top, **options)]
        except InputError as error:
            if len(queries) == 1:
                return [error]
        errors: dict[str, InputError] = {}
        for query in queries:
            try:
                self._make_plans([query], options)
            except InputError as error:
                errors[query] = error
        if not errors:  # the engine refuses a query, for example a complement
            return [result for query in queries for result in self.find_each([query], top, **options)]
        results = iter(self.find_each([query for query in queries if query not in errors], top, **options))
        return [errors[query] if query in errors else next(results) for query in queries]

    def plan(self, query: str, **options: Unpack[PlanOptions]) -> Plan:
        """Return the plan of a query without running it; `PlanOptions` describes the options.

        >>> import softset
        >>> print(softset.load_words().plan("red wine"))
        query     {red wine}
        logic     logistic
        set       {red wine}  ->  Centroid(ambient=300, threshold=0.2...)
                    red wine: the mean of red, wine
        combined  the memberships in 1 set
        """
        check_options(options, PlanOptions.__annotations__)
        return self._make_plans([query], options)[1][0]

    def _make_plans(self, queries: Sequence[str], options: PlanOptions) -> tuple["SearchableSource", list[Plan]]:
        """Return the source after its preprocessing, and the plans of the queries in it."""
        alpha, aperture, floor = options.get("alpha"), options.get("aperture"), options.get("floor")
        logic = resolve_logic(options.get("logic"), alpha=alpha, aperture=aperture, floor=floor)
        source = self.preprocessed(options.get("preprocessing"), logic)
        skip_unknown = options.get("skip_unknown", False)
        return source, make_plans(queries, source, logic, sets=options.get("sets"), skip_unknown=skip_unknown)

    def membership(
        self,
        query: str,
        texts: str | Sequence[str],
        *,
        explain: bool = False,
        threads: int | None = None,
        **options: Unpack[PlanOptions],
    ) -> MembershipResult:
        """Return the memberships of texts in a query, in the order of the texts, whether they are items or not.

        `FindOptions` describes the options. With `skip_unknown`, the membership of a text without a vector is None.

        >>> import softset
        >>> softset.load_words().membership("{red, blue} & {apple, peach}", ["orange", "blood orange", "dog"])
        0.801  orange
        0.601  blood orange
        0.033  dog
        """
        check_options(options, [*PlanOptions.__annotations__, "explain", "threads"])
        texts = [texts] if isinstance(texts, str) else list(texts)
        if not all(isinstance(text, str) for text in texts):
            raise InputError("the texts must be a list of strings, but something else was given")
        with own_threads(threads is not None, threads):
            source, (plan,) = self._make_plans([query], options)
            vectors = resolve_all(source, texts, skip_unknown=options.get("skip_unknown", False))
        signature = f"{source.signature}|logic:{plan.logic}|softset:{__version__}"
        return _memberships(plan, texts, vectors, signature, explain=explain)

    def map(self, query: str, top: int = 10, **options: Unpack[FindOptions]) -> Projection2D:
        """Return the sets of a query and its best items in two dimensions; `FindOptions` describes the options."""
        result = self.find(query, top, **options)
        source = self.preprocessed(options.get("preprocessing"), result.plan.logic)
        return project(result, source.take([hit.index for hit in result]))

    def recall(self, queries: Sequence[str], top: int = 10, **options: Unpack[PlanOptions]) -> float:
        """Return the share of the exact hits that the approximate engine finds; `PlanOptions` describes the options."""
        exact, approximate = (self.find_many(queries, top, approximate=flag, **options) for flag in (False, True))
        pairs = [({hit.index for hit in a}, {hit.index for hit in b}) for a, b in zip(exact, approximate, strict=True)]
        return sum(len(a & b) for a, b in pairs) / max(sum(len(a) for a, _ in pairs), 1)


def _check_counts(**counts: int | None) -> None:
    for name, value in counts.items():
        if value is not None and (not isinstance(value, int) or value < 1):
            raise InputError(f"{name} must be a positive whole number, but {value!r} was given")


def _result(
    source: SearchableSource, plan: Plan, ranking: Ranking, excluded: frozenset[int], options: FindOptions
) -> SearchResult:
    min_score, stop = options.get("min_score", 0.0), options.get("restrict_vocab")
    # Items with membership 0 are never hits.
    count = np.count_nonzero(ranking.scores >= min_score if min_score > 0 else ranking.scores > 0)
    indices, scores = ranking.indices[:count].tolist(), ranking.scores[:count].tolist()
    n = _searched(source, excluded, stop)
    percentiles = np.round(100 * np.arange(n - 1, n - 1 - count, -1) / n, 4).tolist() if count else []
    leaves = explain_leaves(source.take(indices), plan) if options.get("explain") and count else [()] * count
    columns = zip(source.items(indices), scores, percentiles, indices, leaves, strict=True)
    hits = tuple(
        Hit(item.id, score, percentile, index, hit_leaves, item.text, item.metadata)
        for item, score, percentile, index, hit_leaves in columns
    )
    restricted = "" if stop is None else f"|restrict:{stop}"
    engine = "approximate" if options.get("approximate") else source.engine
    signature = f"{source.signature}{restricted}|engine:{engine}|logic:{plan.logic}|softset:{__version__}"
    return SearchResult(plan.query, plan.logic.name, signature, hits, plan.notes, plan.unknown, plan=plan)


def _searched(source: VectorSource, excluded: frozenset[int], stop: int | None) -> int:
    """Return how many of the first `stop` items a search may return."""
    if stop is None or stop >= len(source):
        return len(source) - len(source.hidden) - len(excluded - source.hidden)
    return stop - sum(index < stop for index in source.hidden | excluded)


def _memberships(
    plan: Plan, texts: Sequence[str], vectors: Mapping[str, Resolved], signature: str, *, explain: bool
) -> MembershipResult:
    """Return the memberships of texts, given the vectors of those that have one; a zero vector has membership 0."""
    known = [text for text in dict.fromkeys(texts) if text in vectors]
    by_text: dict[str, ItemMembership] = {}
    if known:
        rows = np.stack([vectors[text].vector for text in known]).astype(np.float64)
        scores = np.asarray(plan.score([np.asarray(leaf.membership(rows)) for leaf in plan.sets]))
        scores = np.where(rows.any(axis=1), scores, 0.0)
        leaves = explain_leaves(rows, plan) if explain else [()] * len(known)
        for text, score, text_leaves in zip(known, scores.tolist(), leaves, strict=True):
            resolved_as = vectors[text].resolved_as
            shown = None if resolved_as == EXACT_MATCH else resolved_as
            by_text[text] = ItemMembership(text, score, shown, text_leaves)
    items = tuple(by_text.get(text, ItemMembership(text, None)) for text in texts)
    unknown = tuple(dict.fromkeys([*plan.unknown, *(text for text in texts if text not in vectors)]))
    return MembershipResult(plan.query, plan.logic.name, signature, items, plan.notes, unknown)

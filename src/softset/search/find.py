"""Queries over vectors: `find`, `membership`, `map` and `plan` for word vectors, collections, stores and Ray jobs.

`make_plans` resolves the examples of queries and compares their sets with the background; `rank` runs the plans over
the items; `build_result` reads ids, texts and metadata of the best.
"""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from softset import __version__
from softset.algebra import SoftSet
from softset.encoders.texts import check_texts, iter_items
from softset.errors import InputError
from softset.io.options import named_options
from softset.query.background import MembershipCalibration
from softset.query.expression import SetExpression
from softset.query.logic import Logic
from softset.query.parsed import ParsedQuery, Query, make_examples
from softset.query.plan import Plan, make_plans
from softset.query.questions import whole_question
from softset.query.resolution import QuerySource, Resolved, resolve_all, resolve_ids
from softset.runtime.threads import own_threads
from softset.search.build_results import (
    EXCLUDED_POOL,
    build_memberships,
    build_result,
    fit_calibration,
    most_reduced,
    searched_count,
    without_exclusions,
)
from softset.search.exact import Ranking, search
from softset.search.filtered import ItemFilter, SelectedItems
from softset.search.given_items import GivenItems
from softset.search.options import (
    FindOptions,
    MembersOptions,
    PlanOptions,
    check_find_options,
    logic_of,
    named_sets,
    parse_all,
)
from softset.search.paging import VariantTest, rank_pages
from softset.search.projection_2d import Projection2D, project
from softset.search.results import Item, MembershipResult, SearchResult
from softset.search.source import MANY_DIRECTIONS, VectorSource

if TYPE_CHECKING:
    from softset.search.approximate import ApproximateIndex


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

    def matches(self, condition: str) -> np.ndarray:
        """Return a boolean array (n,): which items match a filter."""
        raise InputError(f"the filter {condition[:60]!r} needs items with metadata, such as those of a collection")

    def filtered(self, condition: ItemFilter) -> "SelectedItems | SearchableSource":
        """Return the engine that searches the items that match a filter."""
        return SelectedItems.matching(self, condition)

    @cached_property
    def approximate_index(self) -> "ApproximateIndex":
        """The index of the approximate engine, built or loaded from the cache at the first use."""
        from softset.search.approximate import ApproximateIndex

        return ApproximateIndex(self)

    def given_items(self, resolved: Sequence[Resolved]) -> GivenItems:
        """Return texts that were resolved as items, which are scored like the items of this source."""
        return GivenItems(np.stack([row.vector for row in resolved]).astype(np.float64))

    def preprocessed(self, preprocessing: str | None, logic: Logic) -> "SearchableSource":
        """Return the source that is searched: word vectors after a preprocessing, other sources unchanged."""
        del logic
        if preprocessing not in (None, "none"):
            raise InputError(f"the preprocessing {preprocessing!r} is for word vectors: leave it out for other items")
        return self

    def variant_test(self, plan: Plan) -> VariantTest | None:
        """Return a function that tells which items are variants of a plan's examples; only words have variants."""
        del plan
        return None

    # Queries

    @named_options
    def set(
        self,
        *texts: str,
        id: str | Sequence[str] = (),  # noqa: A002  # the name of the attribute of hits
        vector: Any = None,
        weights: Sequence[float] | None = None,
    ) -> SetExpression:
        """Return the set of a few examples, as an expression that `&`, `|`, `-` and `~` combine.

        Args:
            texts: words, phrases or texts.
            id: the id of an item as a further example, or several ids; an unknown id is an error.
            vector: a vector (d,) or several vectors (k, d) as further examples.
            weights: the weight of each example, in the order texts, ids, vectors.

        >>> import softset
        >>> words = softset.load_words()
        >>> words.set("red", "blue", weights=[2, 1]) & "fruit"
        SetExpression('{red^2, blue} & {fruit}')
        >>> [hit.id for hit in words.find(words.set(vector=words["king"] - words["man"] + words["woman"]), top=2)]
        ['king', 'queen']
        """
        ids = list(id) if isinstance(id, Iterable) and not isinstance(id, str) else [id]
        examples = make_examples(texts, ids, vector, weights, dimensions=self.dimensions)
        resolve_ids(self, ids)
        return examples

    @named_options
    def find(self, query: Query, top: int = 10, **options: Unpack[FindOptions]) -> SearchResult:
        """Return the `top` items with the largest membership in a query; `FindOptions` describes the options.

        A query is a text, a set expression (see `set`), a `Subspace` or a `GradedSubspace`.

        >>> import softset
        >>> words = softset.load_words()
        >>> words.find("{red, blue, green} & {apple, peach, banana}", top=2)
        0.599  orange
        0.244  plum
        >>> [hit.id for hit in words.find(words.span(["red", "blue", "green"]), top=4)]
        ['red', 'green', 'blue', 'yellow']
        """
        return self.find_many([query], top, **options)[0]

    @named_options
    def search(
        self, question: str, top: int = 10, *, split: bool = True, **options: Unpack[FindOptions]
    ) -> SearchResult:
        """Return the items that answer a question in plain words; `FindOptions` describes the options.

        Phrases such as "but not", "except", "or" and "that are also" split it into sets, unless split=False.

        >>> import softset, tempfile
        >>> texts = ["A whale hunt at sea.", "A sea voyage with songs."]
        >>> books = softset.Collection.create(tempfile.mkdtemp() + "/c", texts, encoder="words")
        >>> books.search("stories about the sea but not songs").notes[0]
        'this question is read as {stories about the sea} - {songs}'
        """
        if not split:
            return self.find(whole_question(question), top, **options)
        options["plain"] = True
        return self.find(question, top, **options)

    @named_options
    def members(self, query: Query, min_score: float = 0.5, **options: Unpack[MembersOptions]) -> SearchResult:
        """Return all items whose membership in a query is at least `min_score`, best first.

        >>> import softset
        >>> softset.load_words().members("{red, blue, green} & {apple, peach, banana}", min_score=0.2)
        0.599  orange
        0.351  peach
        0.244  plum
        0.200  lime
        """
        return self.find(query, max(len(self), 1), min_score=min_score, include_examples=True, **options)

    @named_options
    def count(self, query: Query, min_score: float = 0.5, **options: Unpack[MembersOptions]) -> int:
        """Return the number of items that `members` returns.

        >>> import softset
        >>> softset.load_words().count("{red, blue, green} & {apple, peach, banana}", min_score=0.2)
        4
        """
        return len(self.members(query, min_score, **options))

    @named_options
    def find_many(
        self, queries: Query | Iterable[Query], top: int = 10, **options: Unpack[FindOptions]
    ) -> list[SearchResult]:
        """Return the result of `find` for each query, from one pass over the items.

        >>> import softset
        >>> [result[0].id for result in softset.load_words().find_many(["red & fruit", "king - man"])]
        ['peach', 'queen']
        """
        check_find_options(top, options)
        is_single = isinstance(queries, str | SetExpression | SoftSet)
        listed: Iterable[Any] = [queries] if is_single else iter_items(queries, "queries")
        parsed = parse_all(listed, options)
        if len({logic_of(query, options) for query in parsed}) > 1:  # their vectors are preprocessed differently
            return [result for query in parsed for result in self._find_parsed([query], top, options)]
        return self._find_parsed(parsed, top, options)

    def _find_parsed(self, queries: Sequence[ParsedQuery], top: int, options: FindOptions) -> list[SearchResult]:
        """Return the results of queries that have the same logic."""
        threads, stop = options.get("threads"), options.get("restrict_vocab")
        with own_threads(threads is not None or len(queries) >= MANY_DIRECTIONS, threads):
            source, plans = self._make_plans(queries, options)
            include_examples = options.get("include_examples", False)
            excluded = [frozenset[int]() if include_examples else plan.example_indices for plan in plans]
            keeps_variants = include_examples or options.get("variants", False)
            variants = [None if keeps_variants else source.variant_test(plan) for plan in plans]
            condition = options.get("filter")
            engine = source if condition is None else source.filtered(condition)

            def rank_plans(plans: Sequence[Plan], count: int) -> list[Ranking]:
                if options.get("approximate") and condition is None:
                    return source.approximate_index.search(plans, count, excluded=excluded)
                return engine.rank(plans, count, excluded=excluded, stop=stop)

            def rank(count: int) -> list[Ranking]:
                if not options.get("excluded"):
                    return rank_plans(plans, count)
                rankings = rank_plans([without_exclusions(plan) for plan in plans], EXCLUDED_POOL + count)
                pairs = zip(plans, rankings, strict=True)
                return [most_reduced(source, plan, ranking, count) for plan, ranking in pairs]

            offset, distinct = options.get("offset", 0), options.get("distinct")
            pages = rank_pages(rank, source, top, offset=offset, distinct=distinct, variants=variants) if plans else []
        return [
            build_result(source, plan, page, searched_count(engine, indices, stop), options)
            for plan, page, indices in zip(plans, pages, excluded, strict=True)
        ]

    @named_options
    def calibrate(
        self, query: Query, members: Sequence[str], non_members: Sequence[str], **options: Unpack[PlanOptions]
    ) -> MembershipCalibration:
        """Return a calibration, fitted on texts that belong to a query and texts that do not; `find` accepts it.

        Memberships then follow what you call a member. The order of the results does not change.

        >>> import softset
        >>> words = softset.load_words()
        >>> pets = words.set("dog", "cat", "hamster")
        >>> wider = words.calibrate(pets, ["rabbit", "parrot", "goldfish"], ["wolf"])
        >>> words.count(pets), words.count(pets, calibration=wider)
        (10, 79)
        """
        source, (plan,) = self._make_plans(parse_all([query], options), options)
        return fit_calibration(source, plan, members, non_members)

    @named_options
    def find_each(
        self, queries: Sequence[Query], top: int = 10, **options: Unpack[FindOptions]
    ) -> list[SearchResult | InputError]:
        """Return the result of each query like `find_many`, or the error of a query that is invalid.

        >>> import softset
        >>> softset.load_words().find_each(["king - man", "qwxz"], top=1)
        [0.920  queen, UnknownWordError("'qwxz' has no vector here")]
        """
        try:
            return [*self.find_many(queries, top, **options)]
        except InputError as error:
            if len(queries) == 1:
                return [error]
        errors: dict[int, InputError] = {}
        for index, query in enumerate(queries):
            try:
                self._make_plans(parse_all([query], options), options)
            except InputError as error:
                errors[index] = error
        if not errors:  # the engine refuses a query, for example a complement
            return [result for query in queries for result in self.find_each([query], top, **options)]
        valid = [query for index, query in enumerate(queries) if index not in errors]
        results = iter(self.find_each(valid, top, **options))
        return [errors[index] if index in errors else next(results) for index in range(len(queries))]

    @named_options
    def plan(self, query: Query, **options: Unpack[PlanOptions]) -> Plan:
        """Return the plan of a query without running it; `PlanOptions` describes the options.

        >>> import softset
        >>> print(softset.load_words().plan("red wine"))
        query     {red wine}
        logic     logistic
        set       {red wine}  ->  Centroid(ambient=300, mean=0.0..., reference=0.2...)
                    red wine: the weighted mean of red, wine
        combined  the log-odds in 1 set
        """
        return self._make_plans(parse_all([query], options), options)[1][0]

    def _make_plans(
        self, queries: Sequence[ParsedQuery], options: PlanOptions
    ) -> tuple["SearchableSource", list[Plan]]:
        """Return the source after its preprocessing, and the plans in it of queries that have the same logic."""
        logic = logic_of(queries[0], options) if queries else Logic()
        source = self.preprocessed(options.get("preprocessing"), logic)
        flags = {"skip_unknown": options.get("skip_unknown", False), "lexical": options.get("lexical", True)}
        sets, calibration = named_sets(options), options.get("calibration")
        return source, make_plans(queries, source, logic, sets=sets, calibration=calibration, **flags)

    @named_options
    def membership(
        self,
        query: Query,
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
        0.669  orange
        0.302  blood orange
        0.001  dog
        """
        texts = check_texts([texts] if isinstance(texts, str) else texts)
        with own_threads(threads is not None, threads):
            source, (plan,) = self._make_plans(parse_all([query], options), options)
            resolved = resolve_all(source, texts, skip_unknown=options.get("skip_unknown", False))
            signature = f"{source.signature}|logic:{plan.logic}|softset:{__version__}"
            return build_memberships(plan, texts, resolved, source, signature, explain=explain)

    @named_options
    def map(self, query: Query, top: int = 10, **options: Unpack[FindOptions]) -> Projection2D:
        """Return the sets of a query and its best items in two dimensions; `FindOptions` describes the options."""
        result = self.find(query, top, **options)
        source = self.preprocessed(options.get("preprocessing"), result.plan.logic)
        return project(result, source.take([hit.index for hit in result]))

    @named_options
    def recall(self, queries: Sequence[Query], top: int = 10, **options: Unpack[PlanOptions]) -> float:
        """Return the share of the exact hits that the approximate engine finds; `PlanOptions` describes the options."""
        exact, approximate = (self.find_many(queries, top, approximate=flag, **options) for flag in (False, True))
        pairs = [({hit.index for hit in a}, {hit.index for hit in b}) for a, b in zip(exact, approximate, strict=True)]
        return sum(len(a & b) for a, b in pairs) / max(sum(len(a) for a, _ in pairs), 1)

"""`find`: from queries to results, over anything whose items have vectors."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np

from softset import __version__
from softset.algebra.arrays import unit_rows
from softset.errors import InputError
from softset.query.centroid import Centroid
from softset.query.expression import leaves
from softset.query.logic import Logic
from softset.query.parser import parse
from softset.query.plan import CachedResolver, NamedSets, Plan, Resolved, examples_of, make_plan
from softset.runtime.threads import limited_to, own_threads
from softset.search.approximate import Approximate
from softset.search.coding import Coding
from softset.search.exact import Ranking, search
from softset.search.membership import MembershipResult, compute_memberships
from softset.search.products import FEW_COLUMNS, Along, Products, multiplied, products_of
from softset.search.projection_2d import Projection2D, project
from softset.search.results import Hit, Item, SearchResult, explain_leaves
from softset.search.thresholds import FEW, ends, filled, sampled

__all__ = ["SearchableSource"]

DEFAULT_LOGIC = Logic()
MIDDLES_AT_ONCE = 128  # whose borders are sought together: 16 MB of cosines with a sample


class SearchableSource(ABC):
    """Items that can be asked for by a query; `WordVectors` and `Collection` are such."""

    engine = "exact"  # what `ranked` is; signatures say it

    @property
    @abstractmethod
    def dimensions(self) -> int:
        """The length d of the vectors."""

    @property
    @abstractmethod
    def norms(self) -> np.ndarray:
        """The lengths (n,) of all vectors."""

    @property
    @abstractmethod
    def signature(self) -> str:
        """What results depend on."""

    @property
    @abstractmethod
    def checksum(self) -> str:
        """A SHA-256 of the stored vectors, or "" for vectors that are in no file."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def rows(self, start: int, stop: int) -> np.ndarray:
        """Return the vectors (stop - start, d) of consecutive items."""

    @abstractmethod
    def take(self, places: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return the vectors (k, d) of items at some places."""

    @abstractmethod
    def resolve(self, text: str) -> Resolved:
        """Return what stands for a text of a query, or raise UnknownWordError."""

    def resolve_many(self, texts: Iterable[str]) -> dict[str, Resolved]:
        """Return what stands for those of some texts that can be looked up together: here, for none."""
        del texts
        return {}

    @abstractmethod
    def can_resolve(self, text: str) -> bool:
        """Tell whether `resolve` would find something."""

    @abstractmethod
    def item(self, place: int) -> Item:
        """Return what is known of an item."""

    def items(self, places: Sequence[int]) -> list[Item]:
        """Return what is known of several items."""
        return [self.item(place) for place in places]

    @property
    def hidden(self) -> frozenset[int]:
        """The places that no search may return."""
        return frozenset()

    def projections(self, directions: np.ndarray, start: int, stop: int) -> np.ndarray:
        """Return the coordinates (k, n) of consecutive items, each scaled to length 1, along k directions (k, d)."""
        return self.along(directions).block(start, stop).coordinates()

    def along(self, directions: np.ndarray) -> Along:
        """Return what these coordinates are made of, block by block: what directions need is done once for all."""

        def products(start: int, stop: int) -> Products:
            return products_of(self.rows(start, stop), self.norms[start:stop], directions)

        return Along(directions, products)

    @cached_property
    def coding(self) -> Coding:
        """Codes of what `along` multiplies, for searches of many sets; there are none the first time.

        >>> import softset
        >>> softset.load_words().coding.codes() is None
        True
        """
        return Coding(self)

    def cosines(self, directions: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Return the cosines (k, m) of items at m places with unit vectors (k, d), in float64.

        They are NaN of an item without a direction.
        """
        rows = self.take(places).astype(np.float64)
        lengths = np.sqrt(np.vecdot(rows, rows))
        if not lengths.min(initial=1.0) > 1e-15:  # squares of what is left may vanish, those of others cannot
            rows = unit_rows(rows)
            lengths = np.where(rows.any(axis=1), 1.0, np.nan)
        found: np.ndarray = directions @ rows.T / lengths
        return found

    def rank(
        self, plans: Sequence[Plan], top: int, *, excluded: Sequence[frozenset[int]], stop: int | None = None
    ) -> list[Ranking]:
        """Return the best items of plans, without those at excluded places; of the first `stop` items, if given."""
        return search(self, plans, top, excluded=excluded, stop=stop)

    def preprocessed(self, preprocessing: str | None, logic: Logic) -> "SearchableSource":
        """Return what a search looks at: these items as they are, for nothing can be done to their vectors."""
        del logic  # whatever it is
        if preprocessing not in (None, "none"):
            raise InputError(f"the preprocessing {preprocessing!r} is for word vectors: items are searched as they are")
        return self

    def plan(self, query: str, **options: Any) -> Plan:
        """Return how a query would be answered, without answering it; `print` shows it. Options as in `find_many`."""
        items, plans = self._plans([query], **options)
        _end_sets(plans, items)
        return plans[0]

    def _plans(
        self,
        queries: Sequence[str],
        *,
        logic: str | Logic | None = None,
        preprocessing: str | None = None,
        sets: NamedSets | None = None,
        skip_unknown: bool = False,
        **parameters: float,
    ) -> "tuple[SearchableSource, list[Plan]]":
        """Return what is to be searched, and the plans of all queries; where their sets end has yet to be said."""
        wanted = _logic(logic, parameters)
        items = self.preprocessed(preprocessing, wanted)
        trees = [parse(query) for query in queries]
        texts = [one.text for tree in trees for leaf in leaves(tree) for one in examples_of(leaf, sets or {})]
        known = CachedResolver(items, items.resolve_many(dict.fromkeys(texts)))
        plans = [
            make_plan(query, tree, known, wanted, named=sets, skip_unknown=skip_unknown)
            for query, tree in zip(queries, trees, strict=True)
        ]
        return items, plans

    def thresholds(self, directions: np.ndarray) -> np.ndarray:
        """Return the cosines (k,) with directions (k, d) of the ceil(sqrt(n))-th nearest of n items.

        Of many items, a sample tells.
        """
        k = len(directions)
        if len(self) <= FEW:
            places = np.arange(len(self))
            block = self.along(directions).block
            cosines = filled(lambda a, b: block(a, b).coordinates(), k, len(self))
        else:
            units, places = self.sample
            product = partial(multiplied, directions=directions, by_item=True)
            # With few directions one product, which has threads of its own, is quicker than many.
            many = k >= FEW_COLUMNS
            cosines = filled(lambda a, b: product(units[a:b]), k, len(units)) if many else product(units)
        if self.hidden:
            cosines = cosines[:, ~np.isin(places, list(self.hidden))]
        return ends(cosines, len(self) - len(self.hidden))

    @cached_property
    def sample(self) -> tuple[np.ndarray, np.ndarray]:
        """Some of many items, scaled to length 1 (m, d), and their places (m,): what borders are estimated from.

        >>> import softset
        >>> softset.load_words().sample[0].shape
        (32768, 300)
        """
        return sampled(self)

    def find(self, query: str, top: int = 10, **options: Any) -> SearchResult:
        """Return the items that belong most to a query; the options are those of `find_many`."""
        return self.find_many([query], top, **options)[0]

    def find_many(
        self,
        queries: str | Sequence[str],
        top: int = 10,
        *,
        logic: str | Logic | None = None,
        preprocessing: str | None = None,
        sets: NamedSets | None = None,
        min_score: float = 0.0,
        include_examples: bool = False,
        skip_unknown: bool = False,
        explain: bool = False,
        approximate: bool = False,
        threads: int | None = None,
        restrict_vocab: int | None = None,
        **parameters: float,
    ) -> list[SearchResult]:
        """Return one result a query, all in one pass over the items.

        Args:
            queries: queries as docs/queries.md describes them, such as ``"{red, blue} & fruit"``.
            top: how many items each result has at most.
            logic: "logistic", or "lattice" (the paper's), "graded", "product", "minmax".
            preprocessing: of word vectors, as "none" or "centre"; what suits the logic unless given.
            sets: examples of the named sets that queries mention as @name.
            min_score: only items with at min_score this membership.
            include_examples: keep the query's own examples among the items.
            skip_unknown: leave out examples that have no vector, and list them, instead of raising.
            explain: add each set's share in every hit.
            approximate: look only at the neighbours of a set's middle, or of the examples where several sets are
                joined, by an index that is made at the first such call; complements are refused, for nearly everything
                belongs to them.
            threads: how many the search may use; all that the machine has unless given.
            restrict_vocab: search only the first so many items; examples are looked up among all.
            parameters: `alpha`, `aperture`, `floor` of the logic.
        """
        queries = [queries] if isinstance(queries, str) else queries
        if not all(isinstance(query, str) for query in queries):
            raise InputError("a query is a text such as '{red, blue} & fruit', but something else was given")
        for name, given in {"top": top, "threads": threads, "restrict_vocab": restrict_vocab}.items():
            if given is not None and (not isinstance(given, int) or given < 1):
                raise InputError(f"{name} must be a whole number from 1 on, but {given!r} was given")
        if approximate and restrict_vocab is not None:
            raise InputError("an approximate search cannot be restricted: search exactly, or all items")
        with own_threads(threads is not None or len(queries) >= FEW_COLUMNS, threads):
            items, plans = self._plans(
                queries,
                logic=logic,
                preprocessing=preprocessing,
                sets=sets,
                skip_unknown=skip_unknown,
                **parameters,
            )
            _end_sets(plans, items.approximate_index if approximate else items)
            excluded = [items.hidden if include_examples else items.hidden | plan.example_indices for plan in plans]
            if approximate:
                rankings = items.approximate_index.search(plans, top, excluded=excluded)
            else:
                rankings = items.rank(plans, top, excluded=excluded, stop=restrict_vocab)
        n = len(items) if restrict_vocab is None else min(restrict_vocab, len(items))
        limits = f"|restrict:{restrict_vocab}" if restrict_vocab is not None else ""
        where = f"{items.signature}{limits}|engine:{'approximate' if approximate else items.engine}"
        return [
            _result(items, where, plan, ranking, n - sum(place < n for place in out), min_score, explain)
            for plan, ranking, out in zip(plans, rankings, excluded, strict=True)
        ]

    def membership(
        self,
        query: str,
        texts: str | Sequence[str],
        *,
        explain: bool = False,
        skip_unknown: bool = False,
        threads: int | None = None,
        **options: Any,
    ) -> MembershipResult:
        """Return how much texts belong to a query, in their order, whether they are among the items or not.

        With `skip_unknown` the membership of a text without a vector is None.

        The options are those of `find_many` that make sets: logic, preprocessing, sets, alpha, aperture, floor.

        >>> import softset
        >>> softset.load_words().membership("{red, blue} & {apple, peach}", ["orange", "blood orange", "dog"])
        0.801  orange
        0.601  blood orange
        0.033  dog
        """
        asked = [texts] if isinstance(texts, str) else list(texts)
        if not all(isinstance(text, str) for text in asked):
            raise InputError("the texts whose membership is asked for must be a list of strings")
        with limited_to(threads):
            items, (plan,) = self._plans([query], skip_unknown=skip_unknown, **options)
            _end_sets([plan], items)
            found = items.resolve_many(dict.fromkeys(asked))
            for text in () if skip_unknown else asked:
                if text not in found:
                    found[text] = items.resolve(text)  # which says why not
        where = f"{items.signature}|logic:{plan.logic}|softset:{__version__}"
        return compute_memberships(plan, asked, found, where, explain=explain)

    def map(self, query: str, top: int = 10, **options: Any) -> Projection2D:
        """Return the sets of a query and its best items as points of a plane; the options are those of `find_many`."""
        result = self.find(query, top, **options)
        items = self.preprocessed(options.get("preprocessing"), result.plan.logic)
        return project(result, items.take([hit.index for hit in result]))

    @cached_property
    def approximate_index(self) -> Approximate:
        """The index of the approximate engine, made when it is first needed."""
        return Approximate(self)

    def recall(self, queries: Sequence[str], top: int = 10, **options: Any) -> float:
        """Return which share of the exact top items the approximate engine finds, over some queries."""
        exact, found = (self.find_many(queries, top, approximate=flag, **options) for flag in (False, True))
        pairs = [({hit.index for hit in a}, {hit.index for hit in b}) for a, b in zip(exact, found, strict=True)]
        return sum(len(a & b) for a, b in pairs) / max(sum(len(a) for a, _ in pairs), 1)


def _result(
    items: SearchableSource, where: str, plan: Plan, ranking: Ranking, n: int, min_score: float, explain: bool
) -> SearchResult:
    # What has no membership is no member.
    kept = np.count_nonzero(ranking.scores >= min_score if min_score > 0 else ranking.scores > 0)
    places, scores = ranking.indices[:kept].tolist(), ranking.scores[:kept].tolist()
    below = _percentiles(n, kept)
    shares = explain_leaves(items.take(places), plan) if explain and kept else [()] * kept
    entries = zip(items.items(places), scores, below, places, shares, strict=True)
    hits = tuple(
        Hit(item.id, score, percentile, index, leaves, item.text, item.metadata)
        for item, score, percentile, index, leaves in entries
    )
    signature = f"{where}|logic:{plan.logic}|softset:{__version__}"
    return SearchResult(plan.query, plan.logic.name, signature, hits, plan, plan.notes, plan.unknown)


@lru_cache(maxsize=16)
def _percentiles(n: int, kept: int) -> tuple[float, ...]:
    """Return the share, in percent, of n items that rank below each of the first ones; the same for many queries.

    >>> _percentiles(1000, 2)
    (99.9, 99.8)
    """
    return tuple(np.round(100 * np.arange(n - 1, n - 1 - kept, -1) / n, 4).tolist())


def _end_sets(plans: Sequence[Plan], engine: SearchableSource | Approximate) -> None:
    """Say where the sets of plans end: each engine finds out in its own way."""
    middles = [leaf.members for plan in plans for leaf in plan.leaves if isinstance(leaf.members, Centroid)]
    for at in range(0, len(middles), MIDDLES_AT_ONCE):
        some = middles[at : at + MIDDLES_AT_ONCE]
        borders = engine.thresholds(np.array([one.direction for one in some])).tolist()
        for one, border in zip(some, borders, strict=True):
            one.end_at(border)


def _logic(logic: str | Logic | None, parameters: dict[str, Any]) -> Logic:
    """Return a logic from its name and parameters; what is not given is as in `Logic`."""
    if logic is None and not parameters:
        return DEFAULT_LOGIC
    strange = sorted(set(parameters) - {"alpha", "aperture", "floor"})
    if strange:
        raise InputError(f"{strange[0]} is no option of find; a logic has alpha, aperture and floor")
    base = logic if isinstance(logic, Logic) else Logic(logic) if logic else Logic()
    idle = [name for name in parameters if name not in base.parameters]
    if idle and logic is None:  # several logics may well be tried with the same parameters, but not by accident
        others = " or ".join(name for name in Logic.NAMES if idle[0] in Logic(name).parameters)
        raise InputError(f"the logic {base.name} has no {idle[0]}: choose {others} (--logic), or leave it out")
    return replace(base, **parameters) if parameters else base

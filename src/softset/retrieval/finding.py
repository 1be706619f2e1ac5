"""`find`: from queries to results, over anything whose items have vectors."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from math import ceil, sqrt
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from softset import __version__
from softset.algebra.arrays import unit_rows
from softset.errors import InputError
from softset.retrieval.approximate import Approximate
from softset.retrieval.exact import Ranking, search
from softset.retrieval.logic import Logic
from softset.retrieval.parser import parse
from softset.retrieval.plan import NamedSets, Plan, Resolved, make_plan
from softset.retrieval.results import Entry, Hit, Result, explain

__all__ = ["Searchable"]

SAMPLE = 65_536  # items: the border of a set among millions is then a quantile over some 50 items


class Searchable(ABC):
    """Items that can be asked for by a query; `WordVectors` and `Collection` are such."""

    _sampled: tuple[Any, np.ndarray] | None = None

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
    def take(self, places: Sequence[int]) -> np.ndarray:
        """Return the vectors (k, d) of items at some places."""

    @abstractmethod
    def resolve(self, text: str) -> Resolved:
        """Return what stands for a text of a query, or raise UnknownWordError."""

    @abstractmethod
    def can_read(self, text: str) -> bool:
        """Tell whether `resolve` would find something."""

    @abstractmethod
    def item(self, place: int) -> Entry:
        """Return what is known of an item."""

    @property
    def hidden(self) -> frozenset[int]:
        """The places that no search may return."""
        return frozenset()

    def plan(
        self,
        query: str,
        *,
        logic: str | Logic | None = None,
        sets: NamedSets | None = None,
        skip_unknown: bool = False,
        **parameters: float,
    ) -> Plan:
        """Return how a query would be answered, without answering it; `print` shows it."""
        return make_plan(query, parse(query), self, _logic(logic, parameters), named=sets, skip_unknown=skip_unknown)

    def border(self, direction: np.ndarray) -> float:
        """Return the cosine with a direction (d,) of the ceil(sqrt(n))-th nearest of n items, by a sample of them."""
        n = len(self)
        sample = self._sample()
        rank = max(1, round(ceil(sqrt(n)) * len(sample) / n))
        cosines = np.clip(sample @ direction.astype(sample.dtype), 0.0, 1.0)
        return float(np.partition(cosines, -rank)[-rank])

    def _sample(self) -> np.ndarray:
        """Return unit vectors of at most SAMPLE items, evenly spread; kept until the items change."""
        key = (len(self), self.checksum, len(self.hidden))
        if self._sampled is None or self._sampled[0] != key:
            spread = np.linspace(0, len(self) - 1, min(len(self), SAMPLE)).astype(np.int64)
            rows = self.take(np.setdiff1d(spread, list(self.hidden)).tolist()).astype(np.float32)
            for start in range(0, len(rows), 4096):  # in place, and not all of it in float64 at once
                rows[start : start + 4096] = unit_rows(rows[start : start + 4096])
            self._sampled = key, rows
        return self._sampled[1]

    def find(self, query: str, top: int = 10, **options: Any) -> Result:
        """Return the items that belong most to a query; the options are those of `find_many`."""
        return self.find_many([query], top, **options)[0]

    def find_many(
        self,
        queries: str | Sequence[str],
        top: int = 10,
        *,
        logic: str | Logic | None = None,
        sets: NamedSets | None = None,
        least: float = 0.0,
        with_examples: bool = False,
        skip_unknown: bool = False,
        explained: bool = False,
        approximate: bool = False,
        threads: int | None = None,
        restrict: int | None = None,
        **parameters: float,
    ) -> list[Result]:
        """Return one result a query, all in one pass over the items.

        Args:
            queries: queries as docs/queries.md describes them, such as ``"{red, blue} & fruit"``.
            top: how many items each result has at most.
            logic: "lattice" (the paper's), "graded", "product", "minmax" or "logistic"; `alpha`, `aperture` and `floor`
                adjust it.
            sets: examples of the named sets that queries mention as @name.
            least: only items with at least this membership.
            with_examples: keep the query's own examples among the items.
            skip_unknown: leave out examples that have no vector, and list them, instead of raising.
            explained: add each set's share in every hit.
            approximate: look only at the neighbours of the examples, by an index that is made at the first such call;
                complements are refused, for nearly everything belongs to them.
            threads: how many the search may use; all that the machine has unless given.
            restrict: search only the first so many items; examples are looked up among all.
            parameters: `alpha`, `aperture`, `floor` of the logic.
        """
        queries = [queries] if isinstance(queries, str) else queries
        if not all(isinstance(query, str) for query in queries):
            raise InputError("a query is a text such as '{red, blue} & fruit', but something else was given")
        for name, given in {"top": top, "threads": threads, "restrict": restrict}.items():
            if given is not None and (not isinstance(given, int) or given < 1):
                raise InputError(f"{name} must be a whole number from 1 on, but {given!r} was given")
        if approximate and restrict is not None:
            raise InputError("an approximate search cannot be restricted: search exactly, or all items")
        wanted = _logic(logic, parameters)
        plans = [
            make_plan(query, parse(query), self, wanted, named=sets, skip_unknown=skip_unknown) for query in queries
        ]
        excluded = [self.hidden if with_examples else self.hidden | plan.places for plan in plans]
        with threadpool_limits(threads):
            if approximate:
                rankings = self.approximation.search(plans, top, excluded=excluded)
            else:
                rankings = search(self, plans, top, excluded=excluded, stop=restrict)
        n = len(self) if restrict is None else min(restrict, len(self))
        limits = f"|restrict:{restrict}" if restrict is not None else ""
        where = f"{self.signature}{limits}|engine:{'approximate' if approximate else 'exact'}"
        return [
            self._result(where, plan, ranking, n - sum(place < n for place in out), least, explained)
            for plan, ranking, out in zip(plans, rankings, excluded, strict=True)
        ]

    @cached_property
    def approximation(self) -> Approximate:
        """The index of the approximate engine, made when it is first needed."""
        return Approximate(self)

    def recall(self, queries: Sequence[str], top: int = 10, **options: Any) -> float:
        """Return which share of the exact top items the approximate engine finds, over some queries."""
        exact, found = (self.find_many(queries, top, approximate=flag, **options) for flag in (False, True))
        pairs = [({hit.place for hit in a}, {hit.place for hit in b}) for a, b in zip(exact, found, strict=True)]
        return sum(len(a & b) for a, b in pairs) / max(sum(len(a) for a, _ in pairs), 1)

    def _result(self, where: str, plan: Plan, ranking: Ranking, n: int, least: float, explained: bool) -> Result:
        hits = []
        for rank, (place, score) in enumerate(zip(ranking.places.tolist(), ranking.scores.tolist(), strict=True), 1):
            if not score >= least or not score:  # what has no membership is no member
                break
            name, text, metadata = self.item(place)
            shares = explain(self.rows(place, place + 1)[0], plan) if explained else ()
            hits.append(Hit(name, score, round(100 * (n - rank) / n, 4), place, shares, text, metadata))
        signature = f"{where}|logic:{plan.logic}|softset:{__version__}"
        return Result(plan.query, plan.logic.name, signature, tuple(hits), plan, plan.notes, plan.unknown)


def _logic(logic: str | Logic | None, parameters: dict[str, Any]) -> Logic:
    """Return a logic from its name and parameters; what is not given is as in `Logic`."""
    strange = sorted(set(parameters) - {"alpha", "aperture", "floor"})
    if strange:
        raise InputError(f"{strange[0]} is no option of find; a logic has alpha, aperture and floor")
    base = logic if isinstance(logic, Logic) else Logic(logic) if logic else Logic()
    return replace(base, **parameters)

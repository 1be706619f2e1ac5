"""`find`: from queries to results, over anything whose items have vectors."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from softset import __version__
from softset.errors import InputError
from softset.retrieval.approximate import Approximate
from softset.retrieval.exact import Ranking, search
from softset.retrieval.logic import Logic
from softset.retrieval.parser import parse
from softset.retrieval.plan import NamedSets, Plan, Resolved, make_plan
from softset.retrieval.results import Hit, Result, explain

__all__ = ["Searchable"]


class Searchable(ABC):
    """Items that can be asked for by a query; `WordVectors` and `Collection` are such."""

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
    def item(self, place: int) -> tuple[str, dict[str, Any] | None]:
        """Return an item's name and its metadata."""

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

    def find(self, query: str, top: int = 10, **options: Any) -> Result:
        """Return the items that belong most to a query; the options are those of `find_many`."""
        return self.find_many([query], top, **options)[0]

    def find_many(
        self,
        queries: Sequence[str],
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
        **parameters: float,
    ) -> list[Result]:
        """Return one result a query, all in one pass over the items.

        Args:
            queries: queries as docs/queries.md describes them, such as ``"{red, blue} & fruit"``.
            top: how many items each result has at most.
            logic: "lattice" (the paper's), "graded", "product" or "minmax"; `alpha`, `aperture` and `floor` adjust it.
            sets: examples of the named sets that queries mention as @name.
            least: only items with at least this membership.
            with_examples: keep the query's own examples among the items.
            skip_unknown: leave out examples that have no vector, and list them, instead of raising.
            explained: add each set's share in every hit.
            approximate: look only at the neighbours of the examples, by an index that is made at the first such call;
                complements are refused, for nearly everything belongs to them.
            threads: how many the search may use; all that the machine has unless given.
            parameters: `alpha`, `aperture`, `floor` of the logic.
        """
        if top < 1:
            raise InputError(f"at least 1 item must be asked for, but top is {top}")
        if threads is not None and threads < 1:
            raise InputError(f"a search needs at least 1 thread, but {threads} were given")
        wanted = _logic(logic, parameters)
        plans = [
            make_plan(query, parse(query), self, wanted, named=sets, skip_unknown=skip_unknown) for query in queries
        ]
        excluded = [self.hidden if with_examples else self.hidden | plan.places for plan in plans]
        with threadpool_limits(threads):
            engine = self.approximation.search if approximate else partial(search, self)
            rankings = engine(plans, top, excluded=excluded)
        where = f"{self.signature}|engine:{'approximate' if approximate else 'exact'}"
        return [
            self._result(where, plan, ranking, len(self) - len(out), least, explained)
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
            if score < least:
                break
            name, metadata = self.item(place)
            shares = explain(self.rows(place, place + 1)[0], plan.leaves) if explained else ()
            hits.append(Hit(name, score, round(100 * (n - rank) / n, 4), place, shares, metadata))
        signature = f"{where}|logic:{plan.logic}|softset:{__version__}"
        return Result(plan.query, plan.logic.name, signature, tuple(hits), plan, plan.notes, plan.unknown)


def _logic(logic: str | Logic | None, parameters: dict[str, float]) -> Logic:
    """Return a logic from its name and parameters; what is not given is as in `Logic`."""
    strange = sorted(set(parameters) - {"alpha", "aperture", "floor"})
    if strange:
        raise InputError(f"{strange[0]} is no option of find; a logic has alpha, aperture and floor")
    if isinstance(logic, Logic):
        return logic
    return Logic(**({"name": logic} if logic else {}), **parameters)  # type: ignore[arg-type]

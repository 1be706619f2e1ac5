"""Search results: hits with their memberships and, on request, the memberships in each set of the query."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import floor
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from softset.algebra.arrays import unit_rows
from softset.errors import InputError
from softset.io.text import html_table, import_pandas, printable
from softset.query.background import mean_direction, value_per_item
from softset.query.centroid import Centroid
from softset.query.expression import SetExpression, positive_leaves
from softset.query.field_types import plain_value
from softset.query.plan import Leaf, Plan
from softset.search.exact import exact_scores, set_values
from softset.search.source import VectorSource

if TYPE_CHECKING:
    import pandas as pd

Row = TypeVar("Row")

EXAMPLES_PER_LEAF = 3  # shown for each set of an explained hit


@dataclass(frozen=True)
class Item:
    """An item of a source: its id and, for the items of a collection, its text and metadata.

    >>> Item("1", "red book", {"year": 1999}).text
    'red book'
    """

    id: str
    text: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class LeafMembership:
    """The membership of an item in one set of the query, and the cosines with the most similar examples.

    `passage` is the part of the text that is most like the set, if the text has several.

    >>> LeafMembership("{red}", 0.5, (("red", 0.5),)).to_dict()
    {'leaf': '{red}', 'membership': 0.5, 'negated': False, 'examples': {'red': 0.5}}
    """

    leaf: str
    membership: float
    examples: tuple[tuple[str, float], ...]
    negated: bool = False
    passage: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the membership as plain values for JSON."""
        values = {"leaf": self.leaf, "membership": self.membership, "negated": self.negated}
        passage = {"passage": self.passage} if self.passage else {}
        return {**values, "examples": dict(self.examples), **passage}


@dataclass(frozen=True, slots=True)
class Hit:
    """An item that a search found.

    `percentile` is the percentage of the searched items that rank below it. In explained results of a query with BUT
    NOT, `without_exclusions` is the membership in the query without BUT NOT. If the text has several vectors,
    `passages` are the parts of the text that are most like the sets of the query, without those that BUT NOT removes.
    """

    id: str
    membership: float
    percentile: float
    index: int
    leaves: tuple[LeafMembership, ...] = ()
    text: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)
    without_exclusions: float | None = None
    passages: tuple[str, ...] = ()

    def to_dict(self, *, percentile: bool = False) -> dict[str, Any]:
        """Return the hit as plain values for JSON, the percentile only on request; empty fields are left out."""
        leaves = [leaf.to_dict() for leaf in self.leaves]
        optional = {"text": self.text, "metadata": plain_value(self.metadata), "passages": list(self.passages)}
        optional["leaves"] = leaves
        required = {"id": self.id, "membership": self.membership}
        shown = {"percentile": self.percentile} if percentile else {}
        if self.without_exclusions is not None:
            shown["without_exclusions"] = self.without_exclusions
        return {**required, **shown, **{name: value for name, value in optional.items() if value}}


@dataclass(frozen=True)
class QueryResult(Sequence[Row]):
    """The rows that a query returned, with everything that they depend on."""

    query: str
    logic: str
    signature: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        return replace(self, rows=self.rows[index]) if isinstance(index, slice) else self.rows[index]

    def _to_dict(self, rows: dict[str, Any], **optional: Any) -> dict[str, Any]:
        fields = {"query": self.query, "logic": self.logic, "signature": self.signature}
        optional |= {"notes": list(self.notes), "unknown": list(self.unknown)}
        return fields | rows | {name: value for name, value in optional.items() if value}


@dataclass(frozen=True, repr=False)
class SearchResult(QueryResult[Hit]):
    """The hits of one query, best first, with the plan that found them.

    >>> import softset
    >>> result = softset.load_words().find("{red, blue} & {apple, peach}", top=1)
    >>> result.expression
    SetExpression('{red, blue} & {apple, peach}')
    >>> print(result.explain())
    0.669  orange
             0.869 in {red, blue}: red 0.67, blue 0.67
             0.264 in {apple, peach}: peach 0.60, apple 0.39
    """

    plan: Plan = field(kw_only=True, compare=False)  # its arrays have no single truth value
    source: VectorSource | None = field(default=None, kw_only=True, compare=False)

    @property
    def expression(self) -> SetExpression:
        """The query as a set expression."""
        return self.plan.tree

    def explain(self) -> "SearchResult":
        """Return the same hits, each with its membership in every set of the query and the nearest examples."""
        if self.source is None or not self.signature.startswith(self.source.signature):
            problem = "was pickled" if self.source is None else "is older than the last change of the items"
            raise InputError(f"a result that {problem} cannot be explained: find again with explain=True")
        return replace(self, rows=explain_hits(self.rows, self.source, self.plan, leaves=True))

    def to_pandas(self) -> "pd.DataFrame":
        """Return a DataFrame with one row for each hit: id, membership, text and the fields of the metadata."""
        columns = dict.fromkeys(name for hit in self for name in hit.metadata)
        records = [
            {"id": hit.id, "membership": hit.membership, "text": hit.text}
            | {name: hit.metadata.get(name) for name in columns}
            for hit in self
        ]
        return import_pandas().DataFrame(records, columns=["id", "membership", "text", *columns])

    def _repr_html_(self) -> str:
        texts = [shown_text(hit)[:200] for hit in self]
        return _html_table(self, {"text": texts})

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "source": None}

    def to_dict(self, *, percentile: bool = False) -> dict[str, Any]:
        """Return the result as plain values for JSON, percentiles only on request; empty notes are left out."""
        hits = [hit.to_dict(percentile=percentile) for hit in self]
        return self._to_dict({"results": hits}, resolved_as=self.plan.resolved_as)

    def to_json(self, *, percentile: bool = False) -> str:
        """Return the result as one line of JSON, with percentiles only on request."""
        return json.dumps(self.to_dict(percentile=percentile), ensure_ascii=False, allow_nan=False)

    def to_text(self, *, percentile: bool = False) -> str:
        """Return a table with one line for each hit, with percentiles only on request."""
        width = max((len(printable(hit.id)) for hit in self), default=0)
        return "\n".join(line for hit in self for line in _hit_lines(hit, width, percentile=percentile))

    __str__ = __repr__ = to_text


@dataclass(frozen=True)
class ItemMembership:
    """The membership of one text; None if it has no vector. `resolved_as` says how it was found if not exactly.

    >>> ItemMembership("red", 0.5).to_dict()
    {'id': 'red', 'membership': 0.5}
    """

    id: str
    membership: float | None
    resolved_as: str | None = None
    leaves: tuple[LeafMembership, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the membership as plain values for JSON; empty fields are left out."""
        optional = {"resolved_as": self.resolved_as, "leaves": [leaf.to_dict() for leaf in self.leaves]}
        required = {"id": self.id, "membership": self.membership}
        return {**required, **{name: value for name, value in optional.items() if value}}


@dataclass(frozen=True, repr=False)
class MembershipResult(QueryResult[ItemMembership]):
    """The memberships of texts in one query, in the order of the texts."""

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values for JSON; empty notes are left out."""
        return self._to_dict({"memberships": [item.to_dict() for item in self]})

    def to_json(self) -> str:
        """Return the result as one line of JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    def to_pandas(self) -> "pd.DataFrame":
        """Return a DataFrame with one row for each text: id and membership."""
        return import_pandas().DataFrame([{"id": item.id, "membership": item.membership} for item in self])

    def _repr_html_(self) -> str:
        return _html_table(self, {})

    def __str__(self) -> str:
        """Return the memberships as a table."""
        lines = []
        for item in self:
            membership = "    -" if item.membership is None else f"{item.membership:.3f}"
            lines += [f"{membership}  {printable(item.id)}", *leaf_lines(item.leaves)]
        return "\n".join(lines)

    __repr__ = __str__


def _hit_lines(hit: Hit, width: int, *, percentile: bool) -> Iterator[str]:
    text = printable(shown_text(hit))
    shortened = text if len(text) <= 60 else text[:57] + "..."
    # The best of many items is above 99.99 % of them, not above 100 %.
    share = f"  {floor(100 * hit.percentile) / 100:6.2f} %" if percentile else ""
    without = "" if hit.without_exclusions is None else f"{hit.without_exclusions:.3f} -> "
    yield f"{without}{hit.membership:.3f}  {printable(hit.id):{width}}{share}  {shortened}".rstrip()
    yield from leaf_lines(hit.leaves)


def _html_table(result: SearchResult | MembershipResult, optional: dict[str, list[str]]) -> str:
    """Return a table for notebooks, without the optional columns that are empty; an explained result shows its sets."""
    memberships = ["" if row.membership is None else f"{row.membership:.3f}" for row in result]
    optional = optional | {"sets": ["; ".join(map(str.strip, leaf_lines(row.leaves))) for row in result]}
    columns = {"membership": memberships, "id": [row.id for row in result]}
    columns |= {name: cells for name, cells in optional.items() if any(cells)}
    return html_table(list(columns), zip(*columns.values(), strict=True), caption=result.query)


def leaf_lines(leaves: Iterable[LeafMembership]) -> Iterator[str]:
    """Yield one indented line of text for each set."""
    for leaf in leaves:
        examples = ", ".join(f"{text} {cosine:.2f}" for text, cosine in leaf.examples)
        yield f"         {'negated: ' if leaf.negated else ''}{leaf.membership:.3f} in {leaf.leaf}: {examples}"
        if leaf.passage:
            yield f"           {printable(' '.join(leaf.passage.split()))}"


def shown_text(hit: Hit) -> str:
    """Return the passages of a hit, or else its text, in one line."""
    return " ".join((" ... ".join(hit.passages) or hit.text).split())


def add_passages(hits: tuple[Hit, ...], source: VectorSource, plan: Plan) -> tuple[Hit, ...]:
    """Return hits with the passages of their texts that are most like the sets that are not negated."""
    positive = set(positive_leaves(plan.tree))
    centroids = [leaf.members for leaf in plan.leaves if leaf.tree in positive and isinstance(leaf.members, Centroid)]
    directions = [centroid.direction for centroid in centroids]
    passages = source.passages(np.array([hit.index for hit in hits]), directions) if hits and directions else []
    if not any(map(any, passages)):
        return hits
    distinct = (tuple(dict.fromkeys(filter(None, row))) for row in passages)
    return tuple(replace(hit, passages=row) for hit, row in zip(hits, distinct, strict=True))


def explain_hits(hits: Sequence[Hit], source: VectorSource, plan: Plan, *, leaves: bool) -> tuple[Hit, ...]:
    """Return hits with their memberships without BUT NOT and, on request, in each set."""
    if not hits:
        return ()
    indices = np.array([hit.index for hit in hits])
    of_hits = explain_leaves(source, indices, plan) if leaves else [hit.leaves for hit in hits]
    kept = plan.without_exclusions
    without = [None] * len(hits) if kept is None else kept.membership(exact_scores(source, kept, indices)).tolist()
    columns = zip(hits, of_hits, without, strict=True)
    return tuple(replace(hit, leaves=parts, without_exclusions=value) for hit, parts, value in columns)


def explain_leaves(source: VectorSource, indices: np.ndarray, plan: Plan) -> list[tuple[LeafMembership, ...]]:
    """Return the membership of each item in each set, and the examples with the largest cosines."""
    positive = set(positive_leaves(plan.tree))
    columns = [
        _leaf_memberships(source, indices, leaf, values, negated=leaf.tree not in positive)
        for leaf, values in zip(plan.leaves, _memberships_in_leaves(source, indices, plan), strict=True)
    ]
    return list(zip(*columns, strict=True))


def _memberships_in_leaves(source: VectorSource, indices: np.ndarray, plan: Plan) -> list[np.ndarray]:
    if plan.combined is None:
        values = set_values(source, plan, indices)[: len(plan.leaves)]
        pairs = zip(plan.leaves, values, strict=True)
        return [leaf.members.membership_of(odds) for leaf, odds in pairs if isinstance(leaf.members, Centroid)]
    rows, owners = source.all_vectors(indices)
    wide = rows.astype(np.float64)
    return [value_per_item(np.asarray(leaf.members.membership(wide)), len(indices), owners) for leaf in plan.leaves]


def _leaf_memberships(
    source: VectorSource, indices: np.ndarray, leaf: Leaf, memberships: np.ndarray, *, negated: bool
) -> list[LeafMembership]:
    rows, texts = unit_rows(leaf.vectors), [example.text for example in leaf.examples]
    cosines = np.nan_to_num(source.cosines(rows, indices)).T
    nearest = np.argsort(-cosines, axis=1, kind="stable")[:, :EXAMPLES_PER_LEAF]
    values = np.take_along_axis(cosines, nearest, axis=1).round(6).astype(np.float64)
    members = leaf.members
    direction = members.direction if isinstance(members, Centroid) else mean_direction(rows, leaf.weights)
    passages = source.passages(indices, [direction])
    columns = zip(
        memberships.tolist(), nearest.tolist(), values.tolist(), passages or [[""]] * len(memberships), strict=True
    )
    return [
        LeafMembership(
            str(leaf.tree),
            membership,
            tuple((texts[i], value) for i, value in zip(positions, shown, strict=True)),
            negated,
            passage,
        )
        for membership, positions, shown, [passage] in columns
    ]

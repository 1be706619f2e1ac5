"""Queries as set expressions: named sets are expanded, and Python values become sets."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from softset.algebra import SoftSet
from softset.errors import InputError, ShapeError
from softset.query.expression import Example, Examples, SetExpression, as_expression
from softset.query.named_sets import Sets
from softset.query.parser import parse, suggestion

MAX_WEIGHT = 1e9  # as in query texts
Query = str | SetExpression | SoftSet


@dataclass(frozen=True)
class ParsedQuery:
    """A query as text and as an expression, with notes for the user."""

    text: str
    tree: SetExpression
    notes: tuple[str, ...] = ()


def parse_query(query: Query, sets: Sets) -> ParsedQuery:
    """Return a query text, a set expression or a set of the algebra as a parsed query.

    >>> parse_query("cats and dogs", Sets()).notes
    ('this is read as {cats and dogs}; to combine sets, write {cats} & {dogs}',)
    """
    if not isinstance(query, str):
        tree = as_expression(query)
        return ParsedQuery(str(tree), sets.expand(tree))
    tree = parse(query)
    meant = suggestion(query, tree)
    notes = (f"this is read as {tree}; to combine sets, write {meant}",) if meant else ()
    return ParsedQuery(query, sets.expand(tree), notes)


def make_examples(
    texts: Sequence[str], ids: Sequence[str], vectors: Any, weights: Sequence[float] | None, *, dimensions: int
) -> Examples:
    """Return the set of texts, ids and vectors (d,) or (k, d); the weights are in this order.

    >>> print(make_examples(["red", "blue"], ["d7"], None, [2, 1, 1], dimensions=3))
    {red^2, blue, id:d7}
    """
    wrong = [text for text in (*texts, *ids) if not (isinstance(text, str) and text.strip())]
    if wrong:
        raise InputError(f"an example must be a text that is not empty, but {wrong[0]!r} was given")
    rows = [] if vectors is None else _read_vectors(vectors, dimensions)
    examples = [Example(text) for text in texts] + [Example(item_id, kind="id") for item_id in ids]
    examples += map(Example.of_vector, rows)
    if not examples:
        raise InputError("a set needs at least one example: give texts, an id or a vector")
    values = np.ones(len(examples)) if weights is None else np.asarray(weights)
    is_valid = values.shape == (len(examples),) and values.dtype.kind in "iuf"
    if not (is_valid and np.all((values > 0) & (values < MAX_WEIGHT))):
        wanted = f"{len(examples)} numbers above 0, one for each example"
        raise InputError(f"weights must be {wanted}, but {weights!r} was given")
    return Examples(tuple(replace(each, weight=value) for each, value in zip(examples, values.tolist(), strict=True)))


def _read_vectors(vectors: Any, dimensions: int) -> list[np.ndarray]:
    rows = np.atleast_2d(np.array(vectors, dtype=np.float64))  # a copy: expressions are immutable
    if rows.ndim != 2 or rows.shape[1] != dimensions or not np.isfinite(rows).all():
        wanted = f"finite numbers of shape ({dimensions},) or (k, {dimensions})"
        raise ShapeError(f"a vector must have {wanted}, but an array of shape {np.shape(vectors)} was given")
    rows.setflags(write=False)
    return list(rows)

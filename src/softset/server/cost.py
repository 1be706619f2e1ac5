"""Estimated computing times of requests, which must fit into the timeout.

A request that would take too long is refused before it starts, because a part of its work cannot be interrupted. The
constants were measured on one core at 2.5 GHz, with 20 to 4,000 tokens in a text. Estimates are about 1/2 to 4 times
the measured times.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from softset.errors import QueryError
from softset.query.expression import Examples, leaves
from softset.query.logic import Logic
from softset.query.parser import parse
from softset.search.paging import MAX_COMPARED
from softset.search.source import VectorSource

# Nanoseconds. A text of t tokens in d dimensions has a basis of min(t, d) vectors, which takes t min(t, d)^2 steps.
PAIR, BASIS_OVERHEAD = 20_000, 100_000
BASIS_STEP = {"softset": 0.4, "subspace": 0.2, "johnson": 0.2, "grassmann": 3.0}
TOKEN_PAIR = {"dynamax": 100.0, "wmd": 200.0, "wrd": 200.0}  # for other metrics: one product of d numbers
PRODUCT = 0.1
COMBINATION_STEP = {"graded": 4.0, "lattice": 0.5}  # two sets of r directions are combined in r^3 steps
TRUTH_VALUE = 1_000  # for one set in one row of the truth table
MAX_TRUTH_SETS = 12


def scoring_seconds(metric: str, rows: np.ndarray, columns: np.ndarray, dimensions: int) -> float:
    """Return the estimated time to score pairs of texts, given their numbers of tokens as arrays that broadcast."""
    steps = sum(tokens * np.minimum(tokens, dimensions) ** 2 for tokens in (rows, columns))
    product = TOKEN_PAIR.get(metric, PRODUCT * dimensions)
    nanoseconds = PAIR + BASIS_STEP.get(metric, 0) * (BASIS_OVERHEAD + steps) + product * rows * columns
    return float(nanoseconds.sum() * 1e-9)


def search_seconds(
    queries: Sequence[str], sets: Mapping[str, Sequence[str]], logic: str | None, source: VectorSource
) -> float:
    """Return the estimated time to plan queries and to search for them; queries with a syntax error take none."""
    nanoseconds, logic = 0.0, logic or Logic.name
    for query in queries:
        try:
            parts = list(leaves(parse(query)))
        except QueryError:
            continue
        sizes = [len(part.items if isinstance(part, Examples) else sets.get(part.name, ())) for part in parts]
        distinct, directions = len(set(parts)), min(sum(sizes), source.dimensions)
        projected = len(parts) if logic == "logistic" else directions
        nanoseconds += 2 * PRODUCT * len(source) * source.dimensions * projected
        nanoseconds += COMBINATION_STEP.get(logic, 0) * len(parts) * directions**3
        nanoseconds += TRUTH_VALUE * len(parts) * 2**distinct if distinct <= MAX_TRUTH_SETS else 0
    return nanoseconds * 1e-9


def distinct_seconds(queries: int, count: int, dimensions: int) -> float:
    """Return the estimated time to leave out near duplicates until each query has `count` results."""
    return 2e-9 * PRODUCT * queries * min(count, MAX_COMPARED) * MAX_COMPARED * dimensions

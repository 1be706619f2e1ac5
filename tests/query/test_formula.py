"""Memberships agree with the formulas of the documentation, written a second time in `tests.query.reference`."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softset import WordVectors
from softset.errors import InputError
from softset.query.background import MIDPOINT, SIZE, SLOPE
from softset.query.centroid import GAIN, ZERO
from tests.query.reference import Reference, score_vectors, to_text

N, D = 300, 12
RANDOM = np.random.default_rng(5)
# Groups of similar vectors of all lengths, and two zero vectors.
CENTRES = RANDOM.normal(size=(10, D))
VECTORS = (CENTRES[np.arange(N) % 10] + RANDOM.normal(size=(N, D))) * RANDOM.uniform(0.1, 9, size=(N, 1))
VECTORS = VECTORS.astype(np.float32)
VECTORS[[50, 51]] = 0
WORDS = WordVectors.of([f"w{i}" for i in range(N)], VECTORS)
REFERENCE = Reference(VECTORS)

A, B, C = (1, 11, 21), (2, 12), (41, 31, 42, 22, 101)  # C shares groups with A and B
QUERIES: list[Any] = [
    (7,),
    A,
    ("&", A, B),
    ("|", A, B),
    *(("-", A, B, strict) for strict in (0, 0.2, 0.5, 0.8, 1)),
    *(("-", A, C, strict) for strict in (0, 0.2, 0.5, 0.8, 1)),
    *(("-", 7, B, strict) for strict in (0.3, 0.5, 1)),
    ("-", A, 7, 0.5),
    ("-", tuple(range(0, 120, 3)), tuple(range(1, 120, 3)), 0.5),  # more examples than are looked at
    ("-", ("|", A, 5), B, 0.6),
    ("-", ("-", A, B, 0.5), C, 0.7),
    ("-", A, ("|", B, C), 0.5),
    ("-", A, ("&", B, C), 0.5),
    ("-", A, ("-", C, B, 0.5), 0.9),
    ("-", ("-", 3, (5, 6), 0.5), (23, 33), 0.5),
    ("-", ("-", 3, ("-", 23, A, 0.5), 0.5), B, 0.8),  # A is not a set that B is excluded from
    ("-", ("|", A, A), B, 0.5),
    ("-", ("&", ("|", A, 4), A), B, 0.5),
    ("&", ("-", ("|", A, B), 7, 0.5), ("|", C, ("-", 5, 6, 1))),
]


@pytest.mark.parametrize("negated", [False, True])
@pytest.mark.parametrize("tree", QUERIES, ids=to_text)
def test_memberships_follow_the_formula(tree: Any, negated: bool) -> None:
    expected = REFERENCE.memberships(tree, negated=negated)
    query = f"~({to_text(tree)})" if negated else to_text(tree)
    found = WORDS.members(query, min_score=0, preprocessing="none")
    memberships = {hit.index: hit.membership for hit in found}
    assert [memberships.get(index, 0.0) for index in range(N)] == pytest.approx(expected.tolist(), abs=1e-9)
    scores = REFERENCE.scores(tree, negated=negated)[[hit.index for hit in found]]
    assert (np.diff(scores) < 1e-9).all() and "logic:logistic|" in found.signature
    names = [f"w{index}" for index in range(N)]
    alone = [item.membership for item in WORDS.membership(query, names, preprocessing="none")]
    assert alone == pytest.approx(expected.tolist(), abs=1e-9)


def test_constants_of_the_reference() -> None:
    assert (GAIN, ZERO, MIDPOINT, SLOPE, SIZE) == (2, 0.5, 2, 4, 8192)


def test_weights_of_examples_move_the_centroid() -> None:
    weighted, repeated = WORDS.plan("{w1^3, w2}", preprocessing="none"), WORDS.plan("{w1, w2}", preprocessing="none")
    units = VECTORS[[1, 2]] / np.linalg.norm(VECTORS[[1, 2]], axis=1, keepdims=True)
    expected = 3 * units[0] + units[1]
    assert weighted.leaves[0].members.direction == pytest.approx(expected / np.linalg.norm(expected))
    assert repeated.leaves[0].members.direction == pytest.approx(units.sum(axis=0) / np.linalg.norm(units.sum(axis=0)))


def test_a_background_is_a_sample_of_many_items() -> None:
    rows = np.random.default_rng(1).normal(size=(3 * SIZE, 6))
    rows[: 2 * SIZE, 0] += 3  # a sample of the first items would differ from all
    words = WordVectors.of([f"w{i}" for i in range(len(rows))], rows)
    assert words.background.units.shape == (SIZE, 6)
    cosines = words.background.units[:, 0]
    everything = rows[:, 0] / np.linalg.norm(rows, axis=1)
    assert cosines.mean() == pytest.approx(everything.mean(), abs=0.01)


trees = st.recursive(
    st.integers(0, 49) | st.lists(st.integers(52, 90), min_size=2, max_size=4, unique=True).map(tuple),
    lambda inner: (
        st.tuples(st.sampled_from("&|"), inner, inner)
        | st.tuples(st.just("-"), inner, inner, st.sampled_from([0, 0.1, 0.25, 0.5, 0.75, 1]))
    ),
    max_leaves=6,
)


@given(tree=trees)
def test_random_queries_follow_the_formula(tree: Any) -> None:
    refused = WORDS.find_each([to_text(tree)], 1, preprocessing="none")[0]
    if isinstance(refused, InputError):
        assert "both sides" in str(refused) or "a contradiction" in str(refused)
        return
    plan = WORDS.plan(to_text(tree), preprocessing="none")
    found = plan.membership(score_vectors(plan, VECTORS))
    assert found == pytest.approx(REFERENCE.memberships(tree), abs=1e-7)

"""What an explanation says is what the metric did: memberships by their weights are the scores."""

import numpy as np
import pytest
from hypothesis import given

from softset import Scorer, TokenSets
from tests.similarity import literal
from tests.similarity.cases import FILLED, MEMBERSHIP, SOFTSET, KnownEncoder, Pair, ToyEncoder, pairs

PAIR = "the red red king walks", "a king of the park and the queen"


@pytest.mark.parametrize("name", [*SOFTSET, *MEMBERSHIP])
def test_memberships_times_weights_are_precision_and_recall(name: str) -> None:
    why = Scorer(KnownEncoder(), metric=name).explain(*PAIR)
    view = why.views[0]
    scores = Scorer(KnownEncoder(), metric=name).score([PAIR[0]], [PAIR[1]])
    assert (view.precision, view.recall, view.score) == pytest.approx(
        (scores.precision[0], scores.recall[0], scores.score[0]), abs=1e-9
    )
    assert view.candidate_membership @ view.candidate_weights == pytest.approx(view.precision, abs=1e-6)
    assert view.reference_membership @ view.reference_weights == pytest.approx(view.recall, abs=1e-6)
    assert view.candidate_weights.sum() == pytest.approx(1) and view.reference_weights.sum() == pytest.approx(1)


@given(FILLED, FILLED)
def test_memberships_of_softset_are_the_literal_ones(candidate: str, reference: str) -> None:
    encoder = KnownEncoder()
    view = Scorer(encoder).explain(candidate, reference).views[0]
    A, B = encoder.encode([candidate])[0], encoder.encode([reference])[0]
    found = np.concatenate([view.candidate_membership, view.reference_membership])
    assert found == pytest.approx(literal.relative_memberships(A, B, 1.0), abs=1e-5)
    assert view.candidate_membership @ view.candidate_weights == pytest.approx(view.precision, abs=1e-9)
    assert view.reference_membership @ view.reference_weights == pytest.approx(view.recall, abs=1e-9)
    assert view.score == pytest.approx((view.precision + view.recall) / 2, abs=1e-12)


def test_the_less_a_token_belongs_the_more_it_counts() -> None:
    view = Scorer(ToyEncoder()).explain(*PAIR).views[0]
    order = np.argsort(view.reference_membership)
    assert (np.diff(view.reference_weights[order]) < 0).all()
    k = len(order)
    assert view.reference_weights[order] == pytest.approx((2 * np.arange(k)[::-1] + 1) / k**2)


@given(pairs(dtypes=("float64",)))
def test_links_are_the_parts_of_a_membership_and_sum_to_1(pair: Pair) -> None:
    A, B = (rows / np.abs(rows).max() for rows in pair)
    for ridge in (0.5, 1.0):
        view = Scorer(None, metric=f"softset(weights=none, ridge={ridge})").explain(A, B).views[0]
        for rows, others, links in ((A, B, view.candidate_links), (B, A, view.reference_links)):
            U, V = literal.units(rows), literal.units(others)
            C = literal.graded(others, ridge)
            coefficients = np.linalg.solve(V @ V.T + ridge * np.eye(len(V)), V @ U.T).T
            parts = coefficients * (U @ V.T)
            assert links.shape == (len(A), len(B)) if rows is A else links.shape == (len(B), len(A))
            assert links.sum(axis=1) == pytest.approx(np.ones(len(rows)), abs=1e-9)
            assert links * np.einsum("id,de,ie->i", U, C, U)[:, None] == pytest.approx(parts, abs=1e-9)


def test_links_of_what_shares_nothing_are_zero() -> None:
    view = Scorer(None).explain(np.eye(4)[:2], np.eye(4)[2:]).views[0]
    assert view.candidate_links.tolist() == [[0, 0], [0, 0]] and view.precision == view.recall == 0
    empty = Scorer(None).explain(np.eye(4)[:2], np.zeros((0, 4))).views[0]
    assert empty.candidate_links.shape == (2, 0) and empty.score == 0


def test_the_view_is_named_by_what_was_done() -> None:
    assert [Scorer(one).explain(*PAIR).views[0].metric for one in (ToyEncoder(), KnownEncoder())] == [
        "softset(weights=none)",
        "softset",
    ]
    sets = TokenSets.from_arrays([np.eye(3)])
    assert Scorer(None).explain(sets, sets).views[0].metric == "softset(weights=none)"

"""The logic "logistic": centroids, thresholds and the probabilities that follow."""

from math import ceil, sqrt

import numpy as np
import pytest

from softset import load_words
from softset.errors import InputError
from softset.query.thresholds import mean_direction, thresholds_of
from softset.search.source import MAX_UNSAMPLED
from softset.search.words import WordVectors
from softset.vectors.storage import ROWS_READ_BACK, write_vectors

RANDOM = np.random.default_rng(5)
WORDS = [f"w{i}" for i in range(300)]
VECTORS = RANDOM.normal(size=(300, 12)) * RANDOM.uniform(0.1, 9, size=(300, 1))


def literal(examples: list[int]) -> np.ndarray:
    """Compute the memberships of all words by the formula."""
    units = VECTORS / np.linalg.norm(VECTORS, axis=1, keepdims=True)
    q = units[examples].sum(axis=0)
    m = np.clip(units @ q / np.linalg.norm(q), 0, 1)
    b = np.sort(m)[-ceil(sqrt(len(m)))]
    return 1 / (1 + np.exp(2 - 2 * m / b))


@pytest.fixture(scope="module")
def words() -> WordVectors:
    return WordVectors.of(WORDS, VECTORS)


@pytest.mark.parametrize(
    ("query", "combined"),
    [
        ("{w1, w2, w3}", lambda a, _: a),
        ("{w1, w2, w3} & {w4, w5}", lambda a, b: a * b),
        ("{w1, w2, w3} | {w4, w5}", np.maximum),
        ("{w1, w2, w3} - {w4, w5}", lambda a, b: a * (1 - b)),
        ("~{w1, w2, w3} & {w4, w5}", lambda a, b: (1 - a) * b),
    ],
)
def test_memberships_follow_the_formula(words, query, combined) -> None:
    expected = combined(literal([1, 2, 3]), literal([4, 5]))
    found = words.find(query, top=20, preprocessing="none", include_examples=True)
    order = np.argsort(-expected, kind="stable")[:20]
    assert [hit.index for hit in found] == order.tolist()
    assert [hit.membership for hit in found] == pytest.approx(expected[order].tolist(), abs=1e-6)
    assert "logic:logistic|" in found.signature


def test_the_rank_of_a_sample_is_rounded() -> None:
    cosines = np.array([[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]])
    assert thresholds_of(cosines, 50).tolist() == [0.9]  # 8 of 50 are expected members, 1.6 of 10
    assert thresholds_of(cosines, 60).tolist() == [1.0]  # 8 of 60, 1.33 of 10


def test_direction_counts_and_scale_does_not(words) -> None:
    opposite = WordVectors.of(["a", "b", "c", "d"], [[1, 0], [-1, 0], [0.5, 0.1], [0, 3]])
    found = {hit.id: hit.membership for hit in opposite.find("a", logic="logistic", include_examples=True)}
    assert found["a"] > found["c"] == pytest.approx(0.5)  # two of four items are expected members, and c is the second
    assert found["b"] == found["d"] == pytest.approx(1 / (1 + np.exp(2)))
    larger = WordVectors.of(WORDS, VECTORS * 7)
    for query in ("w7 & {w8, w9}", "w7 - w8"):
        ours, theirs = (one.find(query, logic="logistic") for one in (words, larger))
        assert [hit.id for hit in ours] == [hit.id for hit in theirs]


def test_weights_of_examples_move_the_centroid() -> None:
    rows = np.eye(2)
    assert mean_direction(rows, np.array([3.0, 1.0])) == pytest.approx([3 / sqrt(10), 1 / sqrt(10)])


def test_examples_that_cancel_out_are_refused() -> None:
    words = WordVectors.of(["a", "b", "c"], [[1, 0], [-1, 0], [0, 1]])
    with pytest.raises(InputError, match=r"the examples of \{a, b\} cancel out"):
        words.find("{a, b}")
    assert len(words.find("{a, b}", logic="lattice")) == 0


def test_threshold_depends_on_the_number_of_items(words) -> None:
    q = np.eye(12)[:1]
    assert words.thresholds(q) == WordVectors.of(WORDS, VECTORS).thresholds(q) != words.restrict(40).thresholds(q)


def test_threshold_of_many_items_is_estimated_from_a_sample() -> None:
    n = 2 * MAX_UNSAMPLED
    vectors = RANDOM.normal(size=(n, 4)).astype(np.float32)
    words = WordVectors.of([str(i) for i in range(n)], vectors)
    q = np.array([[1.0, 0, 0, 0]])
    exact = np.sort(vectors[:, 0] / np.linalg.norm(vectors, axis=1))[-ceil(sqrt(n))]
    assert words.thresholds(q) == pytest.approx(exact, abs=0.01)


def test_difference_removes_a_sense_of_a_word() -> None:
    found = [hit.id for hit in load_words().find("bass - {guitar, drums}", top=3, logic="logistic")]
    assert {"trout", "catfish"} <= set(found)


@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e30])
def test_coordinates_of_whitened_words_match_their_vectors(scale: float) -> None:
    rows = RANDOM.normal(size=(400, 6)) * RANDOM.uniform(0.5, 2, size=(400, 1))
    rows[7], rows[3] = 0, rows[3] * scale
    words = WordVectors.of([f"w{i}" for i in range(400)], rows).preprocess("whiten")
    directions = RANDOM.normal(size=(40, 6))
    lengths = np.linalg.norm(words.matrix, axis=1, keepdims=True)
    units = words.matrix / np.where(lengths > 0, lengths, 1)
    for k in (1, 3, 40):
        found, _ = words.projector(directions[:k])(0, 400)
        assert found == pytest.approx(directions[:k] @ units.T, abs=1e-5) and not found[:, 7].any()


@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e30])
@pytest.mark.parametrize("whitened", [True, False])
def test_cosines_of_items_match_their_vectors(scale: float, whitened: bool) -> None:
    rows = RANDOM.normal(size=(400, 6)) * RANDOM.uniform(0.5, 2, size=(400, 1))
    rows[7], rows[3], rows[5] = 0, rows[3] * scale, rows[6]
    words = WordVectors.of([f"w{i}" for i in range(400)], rows)
    words = words.preprocess("whiten") if whitened else words
    indices, Q = np.array([3, 5, 6, 7, 100]), np.linalg.qr(RANDOM.normal(size=(6, 6)))[0]
    found = words.cosines(Q, indices)
    taken = words.take(indices).astype(np.float64)
    lengths = np.linalg.norm(taken, axis=1)
    assert np.isnan(found[:, 3]).all() and not lengths[3]
    there = [0, 1, 2, 4]
    assert found[:, there] == pytest.approx(Q @ (taken[there] / lengths[there, None]).T, abs=1e-6)
    assert found[:, 1] == pytest.approx(found[:, 2], abs=1e-15)


@pytest.mark.parametrize("seed", range(20))
def test_equal_vectors_have_equal_norms_after_whitening(tmp_path, seed: int) -> None:
    """In float32 a block of one row, the last one here, would be rounded differently."""
    rows = np.random.default_rng(seed).normal(size=(ROWS_READ_BACK + 1, 100)).astype(np.float32)
    rows[-1] = rows[5]
    write_vectors(tmp_path, [([str(i) for i in range(len(rows))], rows)], {"name": "equal"}, whiten=True)
    lengths = WordVectors.open(tmp_path).preprocess("whiten").norms
    assert lengths[-1] == lengths[5]


def test_sample_is_representative_of_words_in_the_order_of_frequency() -> None:
    """The first words are similar to each other: a sample of long runs would overrate them."""
    n, d = 2 * MAX_UNSAMPLED, 8
    vectors = RANDOM.standard_normal((n, d)).astype(np.float32)
    vectors[:2_000, 0] += 6
    words = WordVectors.of([str(i) for i in range(n)], vectors)
    cosines = vectors[:, 0] / np.linalg.norm(vectors, axis=1)
    above = int((cosines > words.thresholds(np.eye(d)[:1])[0]).sum())
    assert 0.5 * np.sqrt(n) < above < 2 * np.sqrt(n)


def test_plans_hold_their_thresholds_and_are_immutable() -> None:
    words = WordVectors.of(WORDS, VECTORS)
    plan = words.plan("{w1, w2} & w7", preprocessing="none")
    centroids = [leaf.members for leaf in plan.leaves]
    expected = words.thresholds(np.array([centroid.direction for centroid in centroids]))
    assert [centroid.threshold for centroid in centroids] == pytest.approx(expected.tolist())
    for value, name in ((plan, "leaves"), (plan.leaves[0], "members"), (centroids[0], "threshold")):
        with pytest.raises(AttributeError):
            setattr(value, name, None)


def test_thresholds_of_all_queries_are_computed_in_one_batch(words: WordVectors, monkeypatch) -> None:
    batches = []
    compute = WordVectors.thresholds
    monkeypatch.setattr(WordVectors, "thresholds", lambda self, rows: batches.append(len(rows)) or compute(self, rows))
    words.find_many(["w1 & w2", "{w3, w4}", "w1 - w5"], preprocessing="none")
    assert batches == [4]  # w1 occurs twice and is computed once

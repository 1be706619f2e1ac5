"""Ranks and what they are worth, against counts by hand."""

import numpy as np
import pytest

from softset.evaluation.sets.measures import measured, median, ndcg, ranks, recall


def test_ranks_leave_out_the_query_and_put_unknown_words_last() -> None:
    scores = np.array([[0.1, 0.9, 0.5, 0.7, 0.3, 0.8]])
    known = np.array([True, True, True, True, True, False])
    # Without word 1 the order is 3, 2, 4, 0; word 5 has no vector and is the last of five candidates.
    assert ranks(scores, known, [(1,)], [(0, 2, 3, 4, 5)])[0].tolist() == [4, 2, 1, 3, 5]


def test_equal_scores_share_their_ranks() -> None:
    scores = np.zeros((1, 5))
    assert ranks(scores, np.ones(5, dtype=bool), [(0,)], [(1, 4)])[0].tolist() == [2.5, 2.5]


@pytest.mark.parametrize("seed", range(5))
def test_ranks_are_those_of_a_sorted_list(seed) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.permutation(40).reshape(1, 40).astype(np.float32)
    shown, targets = (3, 8), (0, 5, 39)
    order = [at for at in np.argsort(-scores[0]) if at not in shown]
    expected = [order.index(at) + 1 for at in targets]
    assert ranks(scores, np.ones(40, dtype=bool), [shown], [targets])[0].tolist() == expected


def test_recall_and_ndcg_by_hand() -> None:
    found = np.array([1.0, 2.0, 11.0, 5000.0])
    assert recall(found, 10) == 0.5 and recall(found, 11) == 0.75
    gain = 1 / np.log2(2) + 1 / np.log2(3) + 1 / np.log2(12) + 1 / np.log2(5001)
    ideal = 1 / np.log2(2) + 1 / np.log2(3) + 1 / np.log2(4) + 1 / np.log2(5)
    assert ndcg(found) == pytest.approx(gain / ideal)
    values = measured([found, np.array([1.0])])
    assert values["R@10"].tolist() == [0.5, 1] and values["R@1k"].tolist() == [0.75, 1] and values["nDCG"][1] == 1


def test_the_median_is_of_all_targets_and_its_interval_of_queries() -> None:
    found = [np.array([1.0, 2.0]), np.array([10.0, 20.0, 30.0])]
    centre, low, high = median(found, samples=400, seed=1, confidence=0.95)
    assert (centre, low, high) == (10, 1, 20)  # both draws may be of the one query, or of the other
    again = median(found, samples=400, seed=1, confidence=0.95)
    assert again == (centre, low, high)
    one = median([np.array([7.0])] * 5, samples=50, seed=1, confidence=0.9)
    assert one == (7, 7, 7)

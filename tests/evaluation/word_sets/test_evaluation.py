"""The word set evaluation on tiny data: ranks, measures, rows and resumption."""

import numpy as np
import pytest

from softset.evaluation.word_sets import evaluation as word_set_evaluation
from softset.evaluation.word_sets.evaluation import RANDOM, WordSetEvaluation, median_rank, ndcg, target_ranks
from softset.evaluation.word_sets.methods import BASELINE, all_methods, choose_methods

METRICS = {
    "Set": ["R@10", "R@100", "R@1k", "MAP", "median", "nDCG"],
    "Difference": ["MAP", "A outside B", "leak", "difference"],
}


def evaluated(words, concepts, methods, **options):
    evaluation = WordSetEvaluation(words, concepts, samples=50, **options)
    return evaluation, evaluation.rows(methods)


def test_every_method_runs(words, concepts) -> None:
    reported = []
    evaluation = WordSetEvaluation(words, concepts, samples=200)
    rows = evaluation.rows(all_methods(), lambda *numbers: reported.append(numbers))
    assert list(dict.fromkeys(row.method for row in rows)) == [RANDOM, *(method.name for method in all_methods())]
    assert reported == [(count + 1, len(all_methods())) for count in range(len(all_methods()))]
    for row in rows:
        assert np.isfinite(row.value) and row.task == "sets"
        assert row.low <= row.value + 1e-12 and row.value <= row.high + 1e-12
        if row.metric in ("R@10", "R@100", "nDCG", "leak", "A outside B"):
            assert 0 <= row.value <= 1
    default = {row.method for row in rows if row.default}
    assert len(default) == 1


def test_rows_are_ordered_by_task_and_metric(words, concepts) -> None:
    _, rows = evaluated(words, concepts, choose_methods(["none/mean/product"]))
    own = [(row.dataset, row.metric) for row in rows if row.method == "none/mean/product"]
    expected = [(name, metric) for name in ("Set", "Union", "Intersect") for metric in METRICS["Set"]]
    expected += [("Difference", metric) for metric in METRICS["Difference"]]
    assert own == expected


def test_mean_is_better_than_a_random_ranking(words, concepts) -> None:
    _, rows = evaluated(words, concepts, choose_methods(["none/mean/product"]))
    value = {(row.method, row.dataset, row.metric): row for row in rows}
    assert value["none/mean/product", "Set", "nDCG"].value > value[RANDOM, "Set", "nDCG"].value + 0.1
    assert value["none/mean/product", "Set", "R@10"].p is not None
    assert value["none/mean/product", "Set", "median"].p is None


def test_baseline_has_no_p_values(words, concepts) -> None:
    evaluation, rows = evaluated(words, concepts, [BASELINE])
    own = [row for row in rows if row.method == BASELINE.name]
    assert own and all(row.p is None for row in own)
    assert set(evaluation.measured) == {BASELINE.name, RANDOM}
    ranks = np.concatenate(evaluation.measured[BASELINE.name].ranks["Set"])
    recall = next(row.value for row in own if (row.dataset, row.metric) == ("Set", "R@10"))
    assert len(ranks) == 6 * 15 and (ranks <= 10).mean() == pytest.approx(recall)


def test_seed_determines_the_rows(words, concepts) -> None:
    methods = choose_methods(["none/crisp/*"])
    first, again, other = (evaluated(words, concepts, methods, seed=seed)[1] for seed in (1, 1, 2))
    assert first == again != other


def test_title_and_limit(words, concepts) -> None:
    _, rows = evaluated(words, concepts, [BASELINE], title="topics", limit=3)
    assert {row.method for row in rows} == {f"topics: {RANDOM}", f"topics: {BASELINE.name}"}
    assert {row.n for row in rows if row.dataset == "Set"} == {3}


def test_leaks_are_counted_up_to_the_cutoff(monkeypatch, words, concepts) -> None:
    monkeypatch.setattr(word_set_evaluation, "CUTOFFS", {"R@100": 8})
    evaluation, rows = evaluated(words, concepts, choose_methods(["none/mean/ignore B"]))
    value = {row.metric: row.value for row in rows if row.method == "none/mean/ignore B"}
    values = evaluation.measured["none/mean/ignore B"].values
    assert value["A outside B"] == pytest.approx(values["Difference", "A outside B"].mean())
    assert value["difference"] == pytest.approx(value["A outside B"] - value["leak"])
    assert 0 < value["leak"] < 1


def test_unknown_words_rank_last_and_query_words_are_not_ranked() -> None:
    scores = np.array([[0.1, 0.9, 0.5, 0.7, 0.3, 0.8]])
    known = np.array([True, True, True, True, True, False])
    # Without word 1 the order is 3, 2, 4, 0; word 5 has no vector and is the last of five candidates.
    assert target_ranks(scores, known, [(1,)], [(0, 2, 3, 4, 5)])[0].tolist() == [4, 2, 1, 3, 5]


def test_equal_scores_share_their_mean_rank() -> None:
    scores = np.zeros((1, 5))
    assert target_ranks(scores, np.ones(5, dtype=bool), [(0,)], [(1, 4)])[0].tolist() == [2.5, 2.5]


@pytest.mark.parametrize("seed", range(5))
def test_ranks_equal_positions_in_a_sorted_list(seed) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.permutation(40).reshape(1, 40).astype(np.float32)
    shown, targets = (3, 8), (0, 5, 39)
    order = [word for word in np.argsort(-scores[0]) if word not in shown]
    expected = [order.index(word) + 1 for word in targets]
    assert target_ranks(scores, np.ones(40, dtype=bool), [shown], [targets])[0].tolist() == expected


def test_ndcg_equals_its_definition() -> None:
    ranks = np.array([1.0, 2.0, 11.0, 5000.0])
    gain = 1 / np.log2(2) + 1 / np.log2(3) + 1 / np.log2(12) + 1 / np.log2(5001)
    ideal = 1 / np.log2(2) + 1 / np.log2(3) + 1 / np.log2(4) + 1 / np.log2(5)
    assert ndcg(ranks) == pytest.approx(gain / ideal)


@pytest.mark.parametrize("seed", range(5))
def test_draws_and_value_use_the_same_median(monkeypatch, seed) -> None:
    rng = np.random.default_rng(seed)
    ranks = [np.sort(rng.integers(1, 50, size=rng.integers(1, 5))).astype(float) for _ in range(6)]
    statistics = []
    monkeypatch.setattr(
        word_set_evaluation, "estimates", lambda statistic, *_, **__: statistics.append(statistic) or [0]
    )
    median_rank(ranks, samples=1, seed=1)
    counts = rng.multinomial(6, [1 / 6] * 6, size=20).T.astype(float)
    expected = [
        np.median(np.repeat(np.concatenate(ranks), np.repeat(draw, list(map(len, ranks))).astype(int)))
        for draw in counts.T
    ]
    assert statistics[0](counts)[0].tolist() == expected


def test_median_rank_is_resampled_over_queries() -> None:
    ranks = [np.array([1.0, 2.0]), np.array([10.0, 20.0, 30.0])]
    result = median_rank(ranks, samples=400, seed=1)
    assert result[:3] == (10, 1.5, 20)  # both draws may be the first query, or the second
    assert median_rank(ranks, samples=400, seed=1) == result
    assert median_rank([np.array([7.0])] * 5, samples=50, seed=1)[:3] == (7, 7, 7)

"""The whole evaluation on tiny data: every method runs, numbers are those of the parts, a seed decides."""

import numpy as np
import pytest

from softset.evaluation.sets.methods import BASELINE, all_methods, chosen
from softset.evaluation.sets.running import RANDOM, Evaluation
from softset.io.checkpoint import PartFolder

METRICS = {
    "Set": ["R@10", "R@100", "R@1k", "median", "nDCG"],
    "Difference": ["A outside B", "leak", "difference"],
    "all": ["seconds"],
}


def evaluated(words, concepts, methods, **options):
    evaluation = Evaluation(words, concepts, samples=50, **options)
    return evaluation, evaluation.rows(methods, None)


def without_time(rows):
    return [{**row.to_dict(), "seconds": None} for row in rows if row.metric != "seconds"]


def test_every_method_runs(words, concepts) -> None:
    told = []
    evaluation = Evaluation(words, concepts, samples=200)
    rows = evaluation.rows(all_methods(), None, lambda *numbers: told.append(numbers))
    assert [row.method for row in rows if row.metric == "seconds"] == [RANDOM, *(one.name for one in all_methods())]
    assert told == [(at + 1, len(all_methods())) for at in range(len(all_methods()))]
    for row in rows:
        assert np.isfinite(row.value) and row.task == "sets"
        if row.metric != "seconds":
            assert row.low <= row.value + 1e-12 and row.value <= row.high + 1e-12 and row.seconds is not None
        if row.metric in ("R@10", "R@100", "nDCG", "leak", "A outside B"):
            assert 0 <= row.value <= 1
    default = {row.method for row in rows if row.default}
    assert len(default) == 1


def test_rows_come_by_dataset_and_metric(words, concepts) -> None:
    _, rows = evaluated(words, concepts, chosen(["none/mean/product"]))
    own = [(row.dataset, row.metric) for row in rows if row.method == "none/mean/product"]
    expected = [(name, metric) for name in ("Set", "Union", "Intersect") for metric in METRICS["Set"]]
    expected += [(name, metric) for name in ("Difference", "all") for metric in METRICS[name]]
    assert own == expected


def test_topics_are_found_and_chance_finds_few(words, concepts) -> None:
    _, rows = evaluated(words, concepts, chosen(["none/mean/product"]))
    value = {(row.method, row.dataset, row.metric): row for row in rows}
    assert value["none/mean/product", "Set", "nDCG"].value > value[RANDOM, "Set", "nDCG"].value + 0.1
    assert value["none/mean/product", "Set", "R@10"].p is not None
    assert value["none/mean/product", "Set", "median"].p is None


def test_the_baseline_is_tested_against_nothing(words, concepts) -> None:
    evaluation, rows = evaluated(words, concepts, [BASELINE])
    own = [row for row in rows if row.method == BASELINE.name]
    assert own and all(row.p is None for row in own)
    assert set(evaluation.ranks("Set")) == {BASELINE.name, RANDOM}
    found = evaluation.ranks("Set")[BASELINE.name]
    recall = next(row.value for row in own if (row.dataset, row.metric) == ("Set", "R@10"))
    assert len(found) == 6 * 15 and (found <= 10).mean() == pytest.approx(recall)


def test_a_seed_decides(words, concepts) -> None:
    methods = chosen(["none/crisp/*"])
    first, again, other = (evaluated(words, concepts, methods, seed=seed)[1] for seed in (1, 1, 2))
    assert without_time(first) == without_time(again) != without_time(other)


def test_a_title_and_a_limit(words, concepts) -> None:
    _, rows = evaluated(words, concepts, [BASELINE], title="topics", limit=3)
    assert {row.method for row in rows} == {f"topics: {RANDOM}", f"topics: {BASELINE.name}"}
    assert {row.n for row in rows if row.dataset == "Set"} == {3}


def test_parts_are_kept_by_preprocessing(tmp_path, words, concepts) -> None:
    parts, methods = PartFolder(tmp_path), chosen(["*/mean/product"])
    first = Evaluation(words, concepts, samples=10).rows(methods, parts)
    resumed = Evaluation(words, concepts, samples=10)
    assert resumed.rows(methods, parts) == first and not resumed.found


def test_leaks_are_counted_among_the_first_hundred(monkeypatch, words, concepts) -> None:
    from softset.evaluation.sets import running

    monkeypatch.setattr(running, "CUTS", {"R@100": 8})
    evaluation, rows = evaluated(words, concepts, chosen(["none/mean/ignore B"]))
    value = {row.metric: row.value for row in rows if row.method == "none/mean/ignore B"}
    found = evaluation.found["none/mean/ignore B"].values
    assert value["A outside B"] == pytest.approx(found["Difference", "A outside B"].mean())
    assert value["difference"] == pytest.approx(value["A outside B"] - value["leak"])
    assert 0 < value["leak"] < 1

"""Results can be pickled, so that other processes can return them."""

import pickle
from typing import Any

import numpy as np
import pytest

from softset.cli.output import Terminated
from softset.evaluation.compare import compare_scores
from softset.evaluation.metric_evaluation import ScoringMethod
from softset.evaluation.significance import Estimate
from softset.evaluation.tables import ResultRow, ResultTable
from softset.evaluation.word_sets.data import Concepts, SetTask
from softset.jobs.inputs import BlockSpan
from softset.jobs.run import BlockOutcome, JobReport

ROW = ResultRow("sts", "STS12", "average", "spearman", 0.5, 100)
VALUES = [
    ROW,
    ResultTable("title", (ROW,), "average", {"limit": 3}),
    Estimate(0.5, 0.4, 0.6, 0.03),
    compare_scores({"a": {"F1": [0.1, 0.2]}, "b": {"F1": [0.3, 0.4]}}, samples=9, swaps=9),
    ScoringMethod.parse("subspace(weights=l2)+chance P"),
    Concepts(("a", "b"), ((0, 1),), {"test": range(1)}),
    SetTask("Set", (0,), (), ((1,),)),
    BlockSpan("/a", "a", 0, 0, 1, 0),
    BlockOutcome("key", 1, True, [("a", "missing")]),
    JobReport(1, 1, 0, (), 0, "signature"),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_pickled_value_is_equal(value: Any) -> None:
    if isinstance(value, ResultTable):
        assert value.value("average", "STS12", "spearman") == 0.5  # its cache is pickled too
    assert pickle.loads(pickle.dumps(value)) == value


def test_arrays_of_results_are_pickled() -> None:
    from softset.evaluation.sts import SentencePairs

    pairs = pickle.loads(pickle.dumps(SentencePairs("STS12", np.array([4.5]), ["a"], ["b"], ["c"])))
    assert pairs.gold.tolist() == [4.5] and pairs.parts[0].tolist() == [0]
    assert isinstance(pickle.loads(pickle.dumps(Terminated("now"))), KeyboardInterrupt)

"""Results and settings can be pickled and copied, as worker processes need it."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from softset import Calibration, GradedSubspace, Idf, Scorer, Subspace, metric
from softset.integrations.bert_score import BERTScore, BERTScorer
from softset.similarity.inputs import read_input
from softset.similarity.metrics.pairs import Pairs
from tests.similarity.cases import EVERY, LEFT, RIGHT, KnownEncoder

SCORER = Scorer(KnownEncoder(), metric="subspace")
SETS = SCORER.encode(LEFT), SCORER.encode(RIGHT)
VALUES: dict[str, Any] = {
    "Scores": SCORER.score(LEFT, RIGHT),
    "ScoreRow": SCORER.score(LEFT, RIGHT)[0],
    "ScoreMatrix": SCORER.matrix(LEFT, RIGHT),
    "Explanation": SCORER.explain(LEFT[0], RIGHT[1]),
    "ScoringPlan": SCORER.resolve(LEFT, RIGHT),
    "ScoringInput": read_input(LEFT, RIGHT),
    "PRF": metric("subspace").compute(Pairs.of(*SETS)),
    "Idf": Idf.fit(RIGHT, model=KnownEncoder()),
    "Calibration": Calibration.fit(LEFT, model=KnownEncoder()),
    "Subspace": ~Subspace.span(np.eye(4)[:2]),
    "GradedSubspace": GradedSubspace.of(np.eye(4)[:2], floor=0.25),
    "Scorer": Scorer(KnownEncoder(), metric="subspace"),  # a loaded encoder is not part of a pickle
    "BERTScorer": BERTScorer("words", lang="en"),
    "BERTScore": BERTScore("words"),
    **{name: metric(name) for name in EVERY},
}


def content(value: Any) -> Any:
    """Return what a value holds, as plain objects that can be compared."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [content(item) for item in value]
    if isinstance(value, dict):
        return {key: content(item) for key, item in value.items()}
    if type(value).__module__.startswith(("softset", "tests")) and hasattr(value, "__dict__"):
        return type(value).__name__, content(vars(value))
    return value


@pytest.mark.parametrize("name", VALUES)
def test_copies_are_equal(name: str) -> None:
    value = VALUES[name]
    for duplicate in (pickle.loads(pickle.dumps(value)), copy.deepcopy(value), copy.copy(value)):
        assert type(duplicate) is type(value) and content(duplicate) == content(value)


def test_copied_scorers_give_the_same_scores() -> None:
    expected = VALUES["Scores"]
    for duplicate in (pickle.loads(pickle.dumps(SCORER)), copy.deepcopy(SCORER)):
        assert duplicate.score(LEFT, RIGHT).score.tolist() == expected.score.tolist()
    with pytest.raises(AttributeError, match="is not F1"):
        _ = pickle.loads(pickle.dumps(Scorer(KnownEncoder()).score(LEFT, RIGHT))).f1

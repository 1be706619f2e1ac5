"""The chance level beside a score: the closed form that rescaling counts from, or what was measured."""

import csv

import numpy as np
import pytest

from softset import Scorer
from softset.io.assets import bundled_file
from softset.similarity.explain.level import MEASURED

PAIR = ("Royalty rules.", "The king and the queen.")


def test_the_closed_form_is_what_rescaling_counts_from() -> None:
    scorer = Scorer("minilm", metric="subspace(weights=l2)", layer=4)
    view = scorer.explain(*PAIR).views[0]
    level, counted = view.chance, next(iter(scorer.with_options(rescale="chance").score([PAIR[0]], [PAIR[1]])))
    assert level.how == "closed form"
    for name in ("precision", "recall", "score"):
        plain, chance = getattr(view, name), getattr(level, name)
        assert getattr(counted, name) == pytest.approx((plain - chance) / (1 - chance), abs=1e-6)


@pytest.mark.parametrize("metric", ["softset", "bertscore"])
def test_measured_levels_are_those_of_unrelated_sentences(metric: str) -> None:
    """On other sentences than those they were measured on, by ones that share no topic: the mean is near the level."""
    texts = [
        "He plays the violin.",
        "The bridge was closed.",
        "Bread is made of flour.",
        "Her flight left at noon.",
    ] * 2
    others = texts[1:4] + texts[:1] + texts[2:4] + texts[:2]
    scorer = Scorer("minilm", metric=metric)
    level = scorer.explain(texts[0], others[0]).views[0].chance
    assert level.how.startswith("measured on 4,000 pairs")
    assert scorer.score(texts, others).score.mean() == pytest.approx(level.score, abs=0.1)


def test_no_level_where_none_is_known() -> None:
    for scorer in (
        Scorer("words"),
        Scorer("minilm", unit="word"),
        Scorer("minilm", special_tokens=True),
        Scorer("minilm", metric="bertscore(weights=l2)"),
        Scorer("minilm", metric="subspace", rescale="chance"),  # its numbers count from there already
    ):
        assert scorer.explain(*PAIR).views[0].chance is None
    vectors = np.eye(3)
    assert Scorer(None, metric="subspace").explain(vectors[:2], vectors[1:]).views[0].chance is None


def test_it_is_in_the_json() -> None:
    shown = Scorer("minilm").explain(*PAIR, metrics=["softset", "bertscore(weights=idf)"]).to_dict()["metrics"]
    assert sorted(shown[0]["chance"]) == ["how", "precision", "recall", "score"] and shown[1]["chance"] is None


def test_every_layer_has_its_rows() -> None:
    with bundled_file(MEASURED).open() as file:
        rows = [(row["METRIC"], row["LAYER"]) for row in csv.DictReader(file)]
    assert sorted(rows) == sorted((name, str(layer)) for name in ("bertscore", "softset") for layer in range(7))

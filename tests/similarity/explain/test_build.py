"""Explanations agree with the scores, and show the score of unrelated text."""

import csv

import numpy as np
import pytest
from hypothesis import given

from softset import Scorer, TokenSets
from softset.io.assets import bundled_file
from softset.similarity.explain.build import CHANCE_LEVELS
from softset.similarity.explain.plot import as_png
from tests.similarity import literal
from tests.similarity.cases import FILLED, MEMBERSHIP, SOFTSET, KnownEncoder, Pair, ToyEncoder, pairs

PAIR = "the red red king walks", "a king of the park and the queen"
ROYALTY = ("Royalty rules.", "The king and the queen.")


@pytest.mark.parametrize("name", [*SOFTSET, *MEMBERSHIP])
def test_weighted_memberships_are_precision_and_recall(name: str) -> None:
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
def test_softset_memberships_match_the_literal_algorithm(candidate: str, reference: str) -> None:
    encoder = KnownEncoder()
    view = Scorer(encoder).explain(candidate, reference).views[0]
    A, B = encoder.encode([candidate])[0], encoder.encode([reference])[0]
    memberships = np.concatenate([view.candidate_membership, view.reference_membership])
    assert memberships == pytest.approx(literal.relative_memberships(A, B, 1.0), abs=1e-5)
    assert view.candidate_membership @ view.candidate_weights == pytest.approx(view.precision, abs=1e-9)
    assert view.reference_membership @ view.reference_weights == pytest.approx(view.recall, abs=1e-9)
    assert view.score == pytest.approx((view.precision + view.recall) / 2, abs=1e-12)


def test_tokens_with_low_membership_weigh_more() -> None:
    view = Scorer(ToyEncoder()).explain(*PAIR).views[0]
    order = np.argsort(view.reference_membership)
    assert (np.diff(view.reference_weights[order]) < 0).all()
    k = len(order)
    assert view.reference_weights[order] == pytest.approx((2 * np.arange(k)[::-1] + 1) / k**2)


@given(pairs(dtypes=("float64",)))
def test_links_are_parts_of_the_membership_and_sum_to_1(pair: Pair) -> None:
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


def test_links_of_orthogonal_texts_are_zero() -> None:
    view = Scorer(None).explain(np.eye(4)[:2], np.eye(4)[2:]).views[0]
    assert view.candidate_links.tolist() == [[0, 0], [0, 0]] and view.precision == view.recall == 0
    empty = Scorer(None).explain(np.eye(4)[:2], np.zeros((0, 4))).views[0]
    assert empty.candidate_links.shape == (2, 0) and empty.score == 0


def test_view_is_named_by_the_resolved_metric() -> None:
    assert [Scorer(encoder).explain(*PAIR).views[0].metric for encoder in (ToyEncoder(), KnownEncoder())] == [
        "softset(weights=none)",
        "softset",
    ]
    sets = TokenSets.from_arrays([np.eye(3)])
    assert Scorer(None).explain(sets, sets).views[0].metric == "softset(weights=none)"


def test_rescaling_uses_the_closed_form_chance_level() -> None:
    scorer = Scorer("minilm", metric="subspace(weights=l2)", layer=4)
    view = scorer.explain(*ROYALTY).views[0]
    level, counted = view.chance, scorer.with_options(rescale="chance").score([ROYALTY[0]], [ROYALTY[1]])[0]
    assert level.how == "closed form"
    rescaled = (counted.precision, counted.recall, counted.score)
    for number, plain, chance in zip(rescaled, (view.precision, view.recall, view.score), level[:3], strict=True):
        assert number == pytest.approx((plain - chance) / (1 - chance), abs=1e-6)


@pytest.mark.parametrize("metric", ["softset", "bertscore"])
def test_measured_chance_levels_match_unrelated_sentences(metric: str) -> None:
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


def test_chance_level_is_none_where_unknown() -> None:
    for scorer in (
        Scorer("words"),
        Scorer("minilm", unit="word"),
        Scorer("minilm", special_tokens=True),
        Scorer("minilm", metric="bertscore(weights=l2)"),
        Scorer("minilm", metric="subspace", rescale="chance"),  # its numbers count from there already
    ):
        assert scorer.explain(*ROYALTY).views[0].chance is None
    vectors = np.eye(3)
    assert Scorer(None, metric="subspace").explain(vectors[:2], vectors[1:]).views[0].chance is None


def test_chance_level_is_in_the_json() -> None:
    shown = Scorer("minilm").explain(*ROYALTY, metrics=["softset", "bertscore(weights=idf)"]).to_dict()["metrics"]
    assert sorted(shown[0]["chance"]) == ["how", "precision", "recall", "score"] and shown[1]["chance"] is None


def test_every_layer_has_a_measured_chance_level() -> None:
    with bundled_file(CHANCE_LEVELS).open() as file:
        rows = [(row["METRIC"], row["LAYER"]) for row in csv.DictReader(file)]
    assert sorted(rows) == sorted((name, str(layer)) for name in ("bertscore", "softset") for layer in range(7))


@pytest.mark.parametrize(
    ("name", "label"), [("subspace", "F"), ("bertscore", "F"), ("softset", "score"), ("johnson", "score")]
)
def test_only_an_f1_is_called_f(name: str, label: str, monkeypatch: pytest.MonkeyPatch) -> None:
    why = Scorer(KnownEncoder(), metric=name).explain(*PAIR)
    view = why.views[0]
    assert f"  {label} {view.score:.3f}" in why.to_text()
    page = why.to_html()
    assert f"<dt>{label}</dt>" in page and ("<dt>F</dt>" in page) == (label == "F")
    facts = why.to_dict()["metrics"][0]
    assert facts["score_label"] == label and facts["score"] == view.score and "f1" not in facts
    axes = pytest.importorskip("matplotlib.axes")
    titles: list[str] = []
    monkeypatch.setattr(axes.Axes, "set_title", lambda _, title, **__: titles.append(title))
    as_png(why)
    assert f"  {label} {view.score:.3f}" in titles[0]

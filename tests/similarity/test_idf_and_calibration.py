"""Idf weights, calibrations and chance levels: fitting, saving, loading and rejecting."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tools.moments import second_moment

from softset import Calibration, Idf, Scorer, TokenSets, load_encoder, metric
from softset.errors import FileError, InputError
from softset.similarity.metrics.bertscore import BertScore, SubspaceBertScore
from softset.similarity.metrics.pairs import Pairs
from softset.similarity.metrics.softset import SoftsetScore
from softset.similarity.rescaling import chance_levels
from tests.similarity import literal
from tests.similarity.cases import EVERY, FILLED, TRANSPORT, IsotropicEncoder, KnownEncoder, ToyEncoder, sets_of

TEXTS = ["a red book", "the king walks in the park", "queen of the park", "a book and a king", "red red red"]

# Idf


@given(st.lists(FILLED, min_size=1, max_size=6))
def test_idf_is_the_formula_of_bert_score(texts: list[str]) -> None:
    idf = Idf.fit(texts, model=ToyEncoder())
    for word in {*" ".join(texts).split(), "unseen"}:
        df = sum(word in text.split() for text in texts)
        assert idf[word] == pytest.approx(np.log((len(texts) + 1) / (df + 1)))
        assert idf.weights([word])[0] == idf[word]
        assert idf[word] >= 0


@pytest.mark.parametrize("name", [name for name in EVERY if metric(name).needs_idf])
@pytest.mark.parametrize("references", [["a king"], ["a king", "a king"], ["king", "king king"]])
def test_idf_never_makes_nan(name: str, references: list[str]) -> None:
    """With one reference, or a token in all of them, every weight is 0: then tokens count equally."""
    scores = Scorer(ToyEncoder(), metric=name).score(references, references)
    assert np.abs(scores.score - metric(name).MAX_SCORE).max() < 1e-6 or "aperture" in name
    other = Scorer(ToyEncoder(), metric=name).score(["a queen"] * len(references), references)
    assert np.isfinite(other.precision).all() and np.isfinite(other.score).all()


def test_weights_of_zero_count_equally() -> None:
    plain = Scorer(ToyEncoder(), metric="subspace")
    idf = Idf.fit(["a red king of the park"], model=ToyEncoder())
    weighted = Scorer(ToyEncoder(), metric="subspace(weights=idf)", idf=idf)
    assert weighted.score(["a red king"], ["the park"]).score == pytest.approx(
        plain.score(["a red king"], ["the park"]).score
    )
    assert plain.score(["a red king"], ["a red king"]).score[0] == pytest.approx(1, abs=1e-6)


def test_idf_is_fitted_on_the_references() -> None:
    references = TEXTS
    own = Scorer(ToyEncoder(), metric="subspace(weights=idf)").score(TEXTS[::-1], references)
    given_ones = Scorer(ToyEncoder(), metric="subspace(weights=idf)", idf=Idf.fit(references, model=ToyEncoder()))
    result = given_ones.score(TEXTS[::-1], references)
    assert np.array_equal(own.score, result.score) and own.signature == result.signature
    plain = Scorer(ToyEncoder(), metric="subspace").score(TEXTS[::-1], references)
    assert np.abs(own.score - plain.score).max() > 1e-3  # the weights do something


def test_idf_survives_saving(tmp_path: Path) -> None:
    idf = Idf.fit(TEXTS, model=ToyEncoder())
    idf.save(tmp_path / "idf.json")
    again = Idf.load(tmp_path / "idf.json")
    assert again.checksum == idf.checksum and again.encoder == idf.encoder and again.documents == 5
    assert [again[word] for word in "a king unseen".split()] == [idf[word] for word in "a king unseen".split()]
    assert repr(again) == repr(idf)
    assert Idf.fit(TEXTS[1:], model=ToyEncoder()).checksum != idf.checksum


def test_the_order_of_texts_does_not_change_the_weights() -> None:
    assert Idf.fit(TEXTS, model=ToyEncoder()).checksum == Idf.fit(TEXTS[::-1], model=ToyEncoder()).checksum


def test_idf_of_another_encoder_is_rejected() -> None:
    idf = Idf.fit(TEXTS, model=ToyEncoder(name="other"))
    scorer = Scorer(ToyEncoder(), metric="tfidf", idf=idf)
    for act in (lambda: scorer.score(["a"], ["b"]), lambda: scorer.matrix(["a"], ["b"])):
        with pytest.raises(InputError, match="idf weights were fitted with other, but the texts are encoded with toy"):
            act()


def test_idf_of_another_layer_of_the_same_model_fits() -> None:
    idf = Idf.fit(["a red book", "a pen"], model="minilm", layer=1)
    scorer = Scorer("minilm", layer=2, metric="tfidf", idf=idf)
    assert scorer.score(["a pen"], ["a pen"]).score[0] == pytest.approx(1)
    words = Scorer("minilm", layer=1, unit="word", metric="tfidf", idf=idf)
    with pytest.raises(InputError, match="fit them with the same model"):
        words.score(["a pen"], ["a pen"])


GOOD_IDF = '{"softset": "Idf", "encoder": "own", "documents": 4, "counts": {"a": 3}}'
GOOD_CALIBRATION = (
    '{"softset": "Calibration", "precision": 0.4, "recall": 0.4, "score": 0.4, "pairs": 10, '
    '"signature": "metric:subspace"}'
)


@pytest.mark.parametrize(
    ("kind", "content", "sentence"),
    [
        (Idf, GOOD_IDF[:30], "is not a complete JSON file"),
        (Idf, "[1]", "is not a JSON object"),
        (Idf, GOOD_CALIBRATION, "is not a softset Idf"),
        (Idf, GOOD_IDF.replace("4", "NaN"), "does not hold valid idf weights"),
        (Idf, GOOD_IDF.replace("4", "true"), "does not hold valid idf weights"),
        (Idf, GOOD_IDF.replace("3", "5"), "does not hold valid idf weights"),
        (Idf, GOOD_IDF.replace("3", "0"), "does not hold valid idf weights"),
        (Idf, GOOD_IDF.replace('{"a": 3}', '["a"]'), "does not hold valid idf weights"),
        (Idf, GOOD_IDF.replace('"own"', "null"), "does not hold valid idf weights"),
        (Calibration, GOOD_IDF, "is not a softset Calibration"),
        (Calibration, GOOD_CALIBRATION.replace("0.4", "NaN"), "does not hold a valid calibration"),
        (Calibration, GOOD_CALIBRATION.replace("0.4", "1.0"), "does not hold a valid calibration"),
        (Calibration, GOOD_CALIBRATION.replace("0.4", '"0.4"'), "does not hold a valid calibration"),
        (Calibration, GOOD_CALIBRATION.replace("10", "-3"), "does not hold a valid calibration"),
        (Calibration, GOOD_CALIBRATION.replace('"metric:subspace"', "7"), "does not hold a valid calibration"),
    ],
)
def test_damaged_files_are_rejected(kind: Any, content: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "file.json").write_text(content)
    with pytest.raises(FileError, match=sentence) as caught:
        kind.load(tmp_path / "file.json")
    assert "file.json" in str(caught.value) and "\n" not in str(caught.value)


def test_undamaged_files_are_accepted(tmp_path: Path) -> None:
    for kind, content in ((Idf, GOOD_IDF), (Calibration, GOOD_CALIBRATION)):
        (tmp_path / "file.json").write_text(content)
        kind.load(tmp_path / "file.json")


# Calibration


def test_calibration_is_the_mean_of_unrelated_pairs() -> None:
    calibration = Calibration.fit(TEXTS, model=ToyEncoder(), rounds=9)
    M = Scorer(ToyEncoder()).matrix(TEXTS)
    apart = ~np.eye(5, dtype=bool)
    assert calibration.pairs == 20
    assert calibration.levels == pytest.approx(
        [M.precision[apart].mean(), M.recall[apart].mean(), M.score[apart].mean()], abs=1e-5
    )


def test_texts_are_not_paired_with_themselves() -> None:
    calibration = Calibration.fit(["king"] * 30 + ["queen"], model=ToyEncoder(), rounds=50)
    assert calibration.pairs == 2 and calibration.score < 0.9
    assert Calibration.fit(TEXTS, model=ToyEncoder(), rounds=2).pairs == 10


def test_seed_chooses_the_pairs() -> None:
    texts = [f"king {n} park {n * n}" for n in range(30)]
    a, b, c = (Calibration.fit(texts, model=ToyEncoder(d=48), rounds=1, seed=seed) for seed in (0, 0, 1))
    assert a == b != c


@pytest.mark.parametrize(
    "name", [name for name in EVERY if name not in TRANSPORT and not metric(name).needs_idf and "aperture" not in name]
)
def test_rescaled_identical_texts_score_one(name: str) -> None:
    encoder = KnownEncoder()
    calibration = Calibration.fit(TEXTS, model=encoder, metric=name)
    scorer = Scorer(encoder, metric=name, rescale=calibration)
    scores = scorer.score(TEXTS, TEXTS)
    for values in (scores.precision, scores.recall, scores.score):
        assert np.abs(values - 1).max() < 1e-5
    assert np.abs(np.diag(scorer.matrix(TEXTS).score) - 1).max() < 1e-4
    assert "rescale" in scores.signature


def test_rescaled_unrelated_texts_score_zero_on_average() -> None:
    encoder = ToyEncoder()
    scorer = Scorer(encoder, rescale=Calibration.fit(TEXTS, model=encoder, rounds=9))
    M = scorer.matrix(TEXTS)
    assert M.score[~np.eye(5, dtype=bool)].mean() == pytest.approx(0, abs=1e-5)


@pytest.mark.parametrize("name", ["softset", "subspace", "johnson", "bertscore", "johnson-symbolic"])
def test_calibration_survives_saving(name: str, tmp_path: Path) -> None:
    calibration = Calibration.fit(["a king of the park", "a king of the book"], model=ToyEncoder(), metric=name)
    calibration.save(tmp_path / "mine.json")
    assert Calibration.load(tmp_path / "mine.json") == calibration


def test_calibration_of_another_metric_or_model_is_rejected() -> None:
    calibration = Calibration.fit(TEXTS, model=ToyEncoder())
    for scorer in (
        Scorer(ToyEncoder(), metric="bertscore", rescale=calibration),
        Scorer(ToyEncoder(), metric="subspace(weights=l2)", rescale=calibration),
        Scorer(ToyEncoder(name="other"), rescale=calibration),
        Scorer(ToyEncoder(d=13), rescale=calibration),
    ):
        fitted = r"this calibration was fitted with metric:softset\(weights=none\)\|.*fit it with the same"
        with pytest.raises(InputError, match=fitted):
            scorer.score(["a"], ["b"])
        with pytest.raises(InputError, match="this calibration was fitted with"):
            scorer.matrix(["a"], ["b"])


def test_rescaling_does_not_change_empty_texts() -> None:
    """What has no word, or no direction, is counted by rule and not from chance: in lists and in matrices alike."""
    A = TokenSets.from_arrays([np.eye(3)[:2], np.zeros((0, 3)), np.zeros((1, 3))])
    rescale = Calibration(0.4, 0.4, 0.4, 10, "metric:softset(weights=none)|encoder:own")
    scorer = Scorer(None, rescale=rescale)
    M = scorer.matrix(A).score
    pairs = np.array([[scorer.score(A[[i]], A[[j]]).score[0] for j in range(3)] for i in range(3)])
    assert pairs == pytest.approx(np.array([[1, 0, 0], [0, 1, 1], [0, 1, 1]]))
    assert M == pytest.approx(pairs)


# Chance


def test_closed_form_equals_the_mean_over_vectors() -> None:
    """With S the second moment of some vectors, tr(P S) is exactly the mean of their squared memberships."""
    rng = np.random.default_rng(0)
    V = rng.standard_normal((400, 10)) * np.linspace(0.2, 2, 10) + 0.5
    S = second_moment([sets_of(V)])
    for rows in (
        rng.standard_normal((3, 10)),
        rng.standard_normal((1, 10)),
        np.repeat(rng.standard_normal((2, 10)), 3, 0),
    ):
        pairs = Pairs.of(sets_of(rows), sets_of(np.eye(10)[:4]))
        levels = chance_levels(SubspaceBertScore(), pairs, S).of_sets
        for side, members in enumerate((rows, np.eye(10)[:4])):
            Q = literal.subspace(members, 1e-7)
            squares = [literal.soft_membership(v, Q) ** 2 for v in V]
            assert levels[side] == pytest.approx(np.sqrt(np.mean(squares)), abs=1e-9)


def test_chance_of_graded_sets() -> None:
    from softset import GradedSubspace

    rng = np.random.default_rng(1)
    V, rows = rng.standard_normal((300, 8)), rng.standard_normal((4, 8))
    S = second_moment([sets_of(V)])
    levels = chance_levels(SubspaceBertScore(aperture=1.5), Pairs.of(sets_of(rows), sets_of(rows)), S).of_sets
    members = GradedSubspace.of(rows, aperture=1.5).membership(literal.units(V))
    assert levels[0] == pytest.approx(np.sqrt((members**2).mean()), abs=1e-6)


def test_rescaling_by_chance() -> None:
    encoder = IsotropicEncoder(d=12)
    raw = Scorer(encoder, metric="subspace").score(TEXTS, TEXTS[::-1])
    scorer = Scorer(encoder, metric="subspace", rescale="chance")
    result = scorer.score(TEXTS, TEXTS[::-1])
    ranks = np.array([np.linalg.matrix_rank(rows, tol=1e-4) for rows in encoder.encode(TEXTS)])
    of_A, of_B = np.sqrt(ranks / 12), np.sqrt(ranks[::-1] / 12)
    for value, x, c in (
        (result.precision, raw.precision, of_B),
        (result.recall, raw.recall, of_A),
        (result.score, raw.score, 2 * of_A * of_B / (of_A + of_B)),
    ):
        assert value == pytest.approx((x - c) / (1 - c), abs=1e-5)
    same = scorer.score(TEXTS, TEXTS)
    assert np.abs(same.score - 1).max() < 1e-5
    assert np.abs(np.diag(scorer.matrix(TEXTS, TEXTS[::-1]).score) - result.score).max() < 1e-4
    assert scorer.score([""], ["a"]).score.tolist() == [0]


def test_rescaling_by_chance_with_the_bundled_models() -> None:
    for model, options in (("words", {}), ("minilm", {"layer": 1})):
        scorer = Scorer(model, metric="subspace", rescale="chance", **options)
        scores = scorer.score(["A boy walks in this park.", "royalty"], ["A boy walks in this park.", "A pen is red."])
        assert scores.score[0] == pytest.approx(1, abs=1e-5) and scores.score[1] < 0.6
        S = load_encoder(model, **options).second_moment
        assert np.trace(S) == pytest.approx(1, abs=1e-4)
        assert not scores.saturated.any()


def test_saturation_by_chance_level_or_rank() -> None:
    rows = [np.eye(8)[:k] for k in (1, 4, 5, 8)]
    pairs = Pairs.of(sets_of(*rows), sets_of(*[np.eye(8)[:1]] * 4))
    lopsided = np.diag([0.97, *[0.03 / 7] * 7])  # one direction has nearly all of every vector
    for kind in (SubspaceBertScore(), SoftsetScore(), SoftsetScore(weights="none", ridge=3)):
        assert chance_levels(kind, pairs, None).saturated.tolist() == [False, False, True, True]
        assert chance_levels(kind, pairs, np.eye(8) / 8).saturated.tolist() == [False, False, True, True]
        assert chance_levels(kind, pairs, lopsided).saturated.all()
    assert not chance_levels(BertScore(), pairs, lopsided).saturated.any()


def test_chance_level_of_one_does_not_rescale() -> None:
    encoder = IsotropicEncoder(d=3)
    scorer = Scorer(encoder, metric="subspace", rescale="chance")
    scores = scorer.score(["a king of the park"], ["red"])
    assert np.isfinite([scores.precision[0], scores.recall[0], scores.score[0]]).all()
    plain = Scorer(encoder, metric="subspace").score(["a king of the park"], ["red"])
    assert scores.recall[0] == plain.recall[0] and scores.saturated[0]
    same = scorer.score(["a king of the park"], ["a king of the park"])
    assert same.score[0] == pytest.approx(1, abs=1e-6) and same.saturated[0]


@pytest.mark.parametrize(
    ("metric_name", "rescale", "sentence"),
    [
        (
            "bertscore",
            "chance",
            r"the chance level of bertscore has no closed form: use metric subspace, or measure the level with "
            r"softset.Calibration.fit\(texts, metric=\.\.\.\), on the command line with softset fit calibration",
        ),
        ("softset", "chance", "the chance level of softset has no closed form: use metric subspace, or measure"),
        ("johnson", "chance", "the chance level of johnson has no closed form"),
        ("subspace", "baseline", "rescale is 'baseline', but \"chance\", a softset.Calibration or None was expected"),
        ("subspace", True, "rescale is True, but"),
    ],
)
def test_invalid_rescaling_is_rejected_at_once(metric_name: str, rescale: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        Scorer(ToyEncoder(), metric=metric_name, rescale=rescale)


def test_chance_requires_a_second_moment() -> None:
    for scorer, sides in (
        (Scorer(ToyEncoder(), metric="subspace", rescale="chance"), (["a"], ["b"])),
        (Scorer(None, metric="subspace", rescale="chance"), ([np.eye(3)], [np.eye(3)])),
        (Scorer(IsotropicEncoder(), metric="subspace", rescale="chance"), ([np.eye(3)], [np.eye(3)])),
    ):
        with pytest.raises(InputError, match="the chance level needs the second moment of the encoder"):
            scorer.score(*sides)

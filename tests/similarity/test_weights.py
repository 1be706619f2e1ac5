"""Token weights by norm and by rarity."""

from pathlib import Path

import numpy as np
import pytest

from softset import Scorer, TokenSets, load_encoder
from softset.similarity.metrics.pairs import Pairs
from softset.similarity.metrics.weights import token_weights
from softset.vectors.vocabulary import Vocabulary
from tests.similarity import literal
from tests.similarity.cases import sets_of

VECTORS = np.random.default_rng(3).normal(size=(4, 6)) * [[9], [1], [4], [2]]
WORDS = Vocabulary.of(["red", "blue", "book", "pen"], VECTORS)
CENTRED = WORDS.preprocess("centre")
TEXTS = ["red book", "blue pen red", "a red-blue book"]


@pytest.mark.parametrize("changed", [CENTRED, WORDS.normalised(), CENTRED.normalised()])
@pytest.mark.parametrize("kind", ["l2", "l1"])
def test_norm_weights_ignore_preprocessing(changed, kind, tmp_path: Path) -> None:
    plain, sets = load_encoder(WORDS).encode(TEXTS), load_encoder(changed).encode(TEXTS)
    assert not np.allclose(plain.vectors, sets.vectors)
    expected = token_weights(Pairs.of(plain, plain), kind)
    assert expected.std() > 1
    sets.save(tmp_path / "sets")
    opened = TokenSets.open(tmp_path / "sets")
    for same in (sets, opened, sets.take([0, 1, 2]), sets[:1] + sets[1:]):
        assert token_weights(Pairs.of(same, same), kind) == pytest.approx(expected)
    scores = Scorer(load_encoder(changed), metric=f"subspace(weights={kind})").score(TEXTS[:1], TEXTS[1:2])
    other = Scorer(load_encoder(changed), metric="subspace").score(TEXTS[:1], TEXTS[1:2])
    assert abs(scores.score - other.score) > 1e-3


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rarity_matches_the_formula(dtype: str) -> None:
    """With S the mean of v v', u' S u is the mean squared cosine of u with all v: how usual its direction is."""
    rng = np.random.default_rng(0)
    V = literal.units(rng.standard_normal((500, 6)) * [3, 1, 1, 1, 0.3, 0.1] + [1, 0, 0, 0, 0, 0])
    rows = (rng.standard_normal((9, 6)) * 2.0 ** rng.integers(-9, 9, (9, 1))).astype(dtype)
    result = token_weights(Pairs.of(sets_of(rows), sets_of(np.eye(6, dtype=dtype)), moment=V.T @ V / len(V)), "rare")
    assert result.dtype == np.float64 and result.shape == (15,)
    for u, weight in zip(np.vstack([literal.units(rows), np.eye(6)]), result, strict=True):
        assert weight == pytest.approx(np.sqrt(1 / np.mean([(u @ v) ** 2 for v in V])), rel=1e-5)
    assert result[-1] > 3 * result[-6]


def test_rarity_is_bounded() -> None:
    """Nor does rounding below 0 make it NaN."""
    for last in (0.0, -1e-18):
        S = np.diag([1.0, last])
        assert (
            token_weights(Pairs.of(sets_of(np.eye(2)), sets_of(np.eye(2)), moment=S), "rare").tolist() == [1, 1e6] * 2
        )


@pytest.mark.parametrize("model", ["words", "minilm"])
def test_rarity_of_the_bundled_models(model: str) -> None:
    encoder = load_encoder(model)
    sets = encoder.encode(["The king, a violin and the cathedral.", "royalty"])
    S = encoder.second_moment
    result = token_weights(Pairs.of(sets, sets, moment=S), "rare")
    rows = np.vstack([rows_of_text for index in range(2) for rows_of_text in (sets[index], sets[index])])
    assert result == pytest.approx(literal.rarity(rows, S.astype(np.float64)), rel=1e-5)
    if model == "words":
        by_word = dict(zip(sets.tokens_of(0), result.tolist(), strict=False))
        assert by_word["violin"] > by_word["cathedral"] > by_word["king"] > by_word["a"] > by_word["the"]

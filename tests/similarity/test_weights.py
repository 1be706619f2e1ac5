"""Weights by length are those of the vectors as the model made them, whatever was done to these since."""

from pathlib import Path

import numpy as np
import pytest

from softset import Scorer, TokenSets, load_encoder
from softset.embed.vocabulary import Vocabulary
from softset.similarity.pairs import Pairs
from softset.similarity.weights import weigh

VECTORS = np.random.default_rng(3).normal(size=(4, 6)) * [[9], [1], [4], [2]]
WORDS = Vocabulary.of(["red", "blue", "book", "pen"], VECTORS)
CENTRED = WORDS.preprocess("centre")
TEXTS = ["red book", "blue pen red", "a red-blue book"]


@pytest.mark.parametrize("changed", [CENTRED, WORDS.normalised(), CENTRED.normalised()])
@pytest.mark.parametrize("kind", ["l2", "l1"])
def test_centring_and_scaling_do_not_change_them(changed, kind, tmp_path: Path) -> None:
    plain, sets = load_encoder(WORDS).encode(TEXTS), load_encoder(changed).encode(TEXTS)
    assert not np.allclose(plain.vectors, sets.vectors)
    wanted = weigh(Pairs.of(plain, plain), kind)
    assert wanted.std() > 1
    sets.save(tmp_path / "sets")
    opened = TokenSets.open(tmp_path / "sets")
    for one in (sets, opened, sets.take([0, 1, 2]), sets[:1] + sets[1:]):
        assert weigh(Pairs.of(one, one), kind) == pytest.approx(wanted)
    scores = Scorer(load_encoder(changed), metric=f"subspace(weights={kind})").score(TEXTS[:1], TEXTS[1:2])
    other = Scorer(load_encoder(changed)).score(TEXTS[:1], TEXTS[1:2])
    assert abs(scores.f1 - other.f1) > 1e-3


def test_vectors_as_the_model_made_them_need_no_note() -> None:
    assert load_encoder(WORDS).encode(TEXTS).lengths is None

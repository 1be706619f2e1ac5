"""Systems scored in blocks get the same scores as from a Scorer."""

import numpy as np
import pytest

from softset.errors import InputError, ShapeError
from softset.evaluation import systems
from softset.evaluation.systems import score_systems
from softset.similarity.scorer import Scorer

TEXTS = {"a": ["red", "a blue pen", ""], "b": ["book", "a green pen", "rain"]}
REFERENCES = [["red book", "blue pens", "rain falls"], ["a book", "pens", "it rains"]]


@pytest.fixture(scope="module")
def scorer() -> Scorer:
    return Scorer("words")


@pytest.mark.parametrize("block", [1, 2, 512])
@pytest.mark.parametrize("part", ["score", "precision", "recall"])
@pytest.mark.parametrize("count", [1, 2])
def test_block_size_does_not_change_scores(monkeypatch, scorer, block, part, count) -> None:
    monkeypatch.setattr(systems, "SEGMENTS_PER_BLOCK", block)
    scorers = [scorer, scorer.with_options(metric="tfidf")]
    reported: list[tuple[int, int]] = []
    scores, signatures = score_systems(
        scorers, TEXTS, REFERENCES[:count], part=part, progress=lambda *numbers: reported.append(numbers)
    )
    assert reported[-1] == (3, 3) and sorted(reported) == reported and len(reported) >= -(-3 // block)
    lists = [list(texts) for texts in zip(*REFERENCES[:count], strict=True)]
    for metric_scorer in scorers:
        name = f"{metric_scorer.metric} {part}"
        for system, texts in TEXTS.items():
            expected = metric_scorer.score(texts, lists if count > 1 else REFERENCES[0])
            assert np.allclose(scores[system][name], getattr(expected, part), atol=1e-6)
            assert signatures[name] == expected.signature


def test_rescaling_is_kept_when_idf_is_added(scorer) -> None:
    rescaled = Scorer("words", metric="subspace(weights=idf)", rescale="chance")
    scores, signatures = score_systems([rescaled], TEXTS, REFERENCES[:1])
    name = "subspace(weights=idf) score"
    assert np.allclose(scores["b"][name], rescaled.score(TEXTS["b"], REFERENCES[0]).score, atol=1e-6)
    assert "rescale:chance" in signatures[name]


def test_inconsistent_input_raises_one_sentence(scorer) -> None:
    with pytest.raises(InputError, match="no scorers were given"):
        score_systems([], TEXTS, REFERENCES)
    with pytest.raises(InputError, match="no references were given"):
        score_systems([scorer], TEXTS, [])
    with pytest.raises(ShapeError, match="references and systems have 2, 3, 3 texts: give the same number for all"):
        score_systems([scorer], TEXTS, [["x", "y"]])
    with pytest.raises(ShapeError, match="have 0 texts"):
        score_systems([scorer], {}, [[]])

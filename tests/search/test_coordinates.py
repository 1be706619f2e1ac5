"""Cosines of items with directions, in blocks and one by one, also of whitened words."""

import numpy as np
import pytest

from softset.search.words import WordVectors
from softset.vectors.storage import ROWS_READ_BACK, write_vectors

RANDOM = np.random.default_rng(5)


@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e30])
def test_coordinates_of_whitened_words_match_their_vectors(scale: float) -> None:
    rows = RANDOM.normal(size=(400, 6)) * RANDOM.uniform(0.5, 2, size=(400, 1))
    rows[7], rows[3] = 0, rows[3] * scale
    words = WordVectors.of([f"w{i}" for i in range(400)], rows).preprocess("whiten")
    directions = RANDOM.normal(size=(40, 6))
    lengths = np.linalg.norm(words.matrix, axis=1, keepdims=True)
    units = words.matrix / np.where(lengths > 0, lengths, 1)
    for k in (1, 3, 40):
        found, _, _ = words.projector(directions[:k])(0, 400)
        assert found == pytest.approx(directions[:k] @ units.T, abs=1e-5) and not found[:, 7].any()


@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e30])
@pytest.mark.parametrize("whitened", [True, False])
def test_cosines_of_items_match_their_vectors(scale: float, whitened: bool) -> None:
    rows = RANDOM.normal(size=(400, 6)) * RANDOM.uniform(0.5, 2, size=(400, 1))
    rows[7], rows[3], rows[5] = 0, rows[3] * scale, rows[6]
    words = WordVectors.of([f"w{i}" for i in range(400)], rows)
    words = words.preprocess("whiten") if whitened else words
    indices, Q = np.array([3, 5, 6, 7, 100]), np.linalg.qr(RANDOM.normal(size=(6, 6)))[0]
    found = words.cosines(Q, indices)
    taken = words.take(indices).astype(np.float64)
    lengths = np.linalg.norm(taken, axis=1)
    assert np.isnan(found[:, 3]).all() and not lengths[3]
    there = [0, 1, 2, 4]
    assert found[:, there] == pytest.approx(Q @ (taken[there] / lengths[there, None]).T, abs=1e-6)
    assert found[:, 1] == pytest.approx(found[:, 2], abs=1e-15)


@pytest.mark.parametrize("seed", range(20))
def test_equal_vectors_have_equal_norms_after_whitening(tmp_path, seed: int) -> None:
    """In float32 a block of one row, the last one here, would be rounded differently."""
    rows = np.random.default_rng(seed).normal(size=(ROWS_READ_BACK + 1, 100)).astype(np.float32)
    rows[-1] = rows[5]
    write_vectors(tmp_path, [([str(i) for i in range(len(rows))], rows)], {"name": "equal"}, whiten=True)
    lengths = WordVectors.open(tmp_path).preprocess("whiten").norms
    assert lengths[-1] == lengths[5]

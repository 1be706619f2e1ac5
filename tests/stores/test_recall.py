"""Recall of stores on 200,000 real vectors, compared with an exact search."""

import os
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from benchmarks.cases.stores import MIN_RECALL, fill_store, measure_recall

from softset import WordVectors, load_words
from softset.vectors.registry import import_vectors

GLOVE_6B = os.environ.get("SOFTSET_GLOVE_6B")
pytestmark = [
    pytest.mark.large,
    pytest.mark.skipif(not GLOVE_6B, reason="SOFTSET_GLOVE_6B does not name a file"),
    pytest.mark.filterwarnings("ignore"),  # of the engines
]
N = 200_000


@pytest.fixture(scope="module")
def vectors(tmp_path_factory) -> WordVectors:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("SOFTSET_CACHE", str(tmp_path_factory.mktemp("cache")))
        import_vectors(str(GLOVE_6B), "glove")
        words = load_words("glove")
        return WordVectors.of(list(words.words[:N]), np.array(words.matrix[:N]))


@pytest.mark.parametrize(("kind", "module"), [("milvus", "pymilvus"), ("lance", "lancedb")])
def test_recall_at_100(kind: str, module: str, vectors: WordVectors, tmp_path: Path) -> None:
    if find_spec(module) is None:
        pytest.skip(f"needs the extra {kind}")
    stored, _ = fill_store(kind, vectors, tmp_path)
    indexed = {"milvus": "*.hnsw.idx", "lance": "_indices/*"}[kind]
    assert list(tmp_path.rglob(indexed)), "the search would look at everything"
    recalls = {name: recall for name, recall, _ in measure_recall(stored, vectors, 10)}
    assert set(recalls) == {"unions", "intersections", "differences"}
    assert min(recalls.values()) >= MIN_RECALL, recalls

"""Import of a large vocabulary: 341,479 GloVe vectors, converted by tools/convert_wink.py."""

import json
import os
import sys
import time
from pathlib import Path

import pytest
from benchmarks.measurement import run_process

from softset import load_words

GLOVE_6B = os.environ.get("SOFTSET_GLOVE_6B")
pytestmark = [pytest.mark.large, pytest.mark.skipif(not GLOVE_6B, reason="SOFTSET_GLOVE_6B does not name a file")]

IMPORT = """
import json, sys
from softset.vectors.registry import import_vectors
print(json.dumps(import_vectors(sys.argv[1], "large")["words"]))
"""


def test_import_open_and_find(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOFTSET_CACHE", str(tmp_path))
    result = run_process([sys.executable, "-c", IMPORT, str(GLOVE_6B)])
    assert json.loads(result.output) == 341_479 and result.peak_memory < 300
    load_words("large")
    start = time.perf_counter()
    words = load_words("large")
    assert time.perf_counter() - start < 0.05
    assert words.dimensions == 100
    assert "orange" in [hit.id for hit in words.find("{red, blue, green} & {apple, peach, banana}", top=5)]

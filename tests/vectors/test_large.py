"""The larger vocabulary that the docs recommend: 341,479 GloVe vectors out of an npm package."""

import json
import os
import sys
import time
from pathlib import Path

import pytest
from benchmarks.measuring import process

from softset import load_words

WINK = os.environ.get("SOFTSET_WINK")
pytestmark = [pytest.mark.large, pytest.mark.skipif(not WINK, reason="SOFTSET_WINK does not name the npm package")]

IMPORT = """
import json, sys, time
import softset.vectors.registry as library
start = time.perf_counter()
facts = library.import_vectors(sys.argv[1], "large")
print(json.dumps({"words": facts["words"], "seconds": time.perf_counter() - start}))
"""


def test_import_open_find(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOFTSET_CACHE", str(tmp_path))
    done = process([sys.executable, "-c", IMPORT, str(WINK)])  # by a small one: a child's peak begins with its parent's
    measured = json.loads(done.said)
    print(measured, done.peak)  # noqa: T201 (shown with pytest -s)
    assert measured["words"] == 341_479 and done.peak < 300
    load_words("large")
    start = time.perf_counter()
    words = load_words("large")
    assert time.perf_counter() - start < 0.05
    assert words.dimensions == 100
    found = [hit.id for hit in words.find("{red, blue, green} & {apple, peach, banana}", top=5)]
    assert "orange" in found

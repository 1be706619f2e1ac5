"""The larger vocabulary that the docs recommend: 341,479 GloVe vectors out of an npm package."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from softset import load_words

WINK = os.environ.get("SOFTSET_WINK")
pytestmark = [pytest.mark.large, pytest.mark.skipif(not WINK, reason="SOFTSET_WINK does not name the npm package")]

IMPORT = """
import json, resource, sys, time
import numpy, softset.embed.library as library
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.perf_counter()
facts = library.import_vectors(sys.argv[1], "large")
seconds = time.perf_counter() - start
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"words": facts["words"], "seconds": seconds, "peak_mb": after / 1024, "before_mb": before / 1024}))
"""


def test_import_open_find(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOFTSET_CACHE", str(tmp_path))
    done = subprocess.run([sys.executable, "-c", IMPORT, str(WINK)], capture_output=True, text=True, check=True)
    measured = json.loads(done.stdout)
    print(measured)  # noqa: T201 (shown with pytest -s)
    assert measured["words"] == 341_479 and measured["peak_mb"] < 1000
    load_words("large")
    start = time.perf_counter()
    words = load_words("large")
    assert time.perf_counter() - start < 0.05
    assert words.dimensions == 100
    found = [hit.item for hit in words.find("{red, blue, green} & {apple, peach, banana}", top=5)]
    assert "orange" in found

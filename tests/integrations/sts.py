"""Sentence pairs of STS-B for tests that need many pairs."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLACES = (ROOT.parent / "shared" / "data", Path(os.environ.get("SOFTSET_DATA", "/nowhere")))


def pairs(count: int) -> tuple[list[str], list[str]]:
    """Return the first pairs of STS-B dev; the test is skipped where the file is not."""
    for place in PLACES:
        for path in (place / "sts" / "raw" / "STSB-dev.tsv", place / "STSB-dev.tsv"):
            if path.is_file():
                lines = path.read_text(encoding="utf-8").splitlines()[1 : count + 1]
                rows = [line.split("\t") for line in lines]
                return [row[1] for row in rows], [row[2] for row in rows]
    pytest.skip("STSB-dev.tsv is not here: set SOFTSET_DATA to its folder")

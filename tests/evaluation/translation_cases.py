"""Folders of judged translations: a small artificial one, and the real data if available."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLACES = (ROOT.parent / "shared" / "data", Path(os.environ.get("SOFTSET_DATA", "/nowhere")))

HEADER = "sid\tbetter\tworse\traw_better\traw_worse"
REFERENCES = ["A red book.", "The king and the queen.", "We are here.", "A pen."]
TRANSLATIONS = {
    "good": ["A red book.", "The king and his queen.", "We are here.", "A pen"],
    "fair": ["The book is red.", "the king", "We are here.", ""],
    "poor": ["A blue car!", "royal people", "Where is it?", "A feather."],
}
# Segment 3 has no judgement, and system fair is empty on segment 4.
JUDGEMENTS = [
    (1, "good", "fair", 90, 60),
    (1, "good", "poor", 90, 10),
    (1, "fair", "poor", 60, 10),
    (2, "good", "poor", 80.5, 20),
    (4, "poor", "good", 70, 30),
    (4, "good", "fair", 30, 0),
]


def write_pair(folder: Path, name: str = "cs-en", judgements=JUDGEMENTS, header: str = HEADER) -> Path:
    """Write one language pair to a folder of data, and return its path."""
    pair = folder / "wmt18" / name
    (pair / "hyp").mkdir(parents=True, exist_ok=True)
    (pair / "ref.txt").write_text("".join(f"{line}\n" for line in REFERENCES))
    for system, lines in TRANSLATIONS.items():
        (pair / "hyp" / f"{system}.txt").write_text("".join(f"{line}\n" for line in lines))
    rows = ["\t".join(map(str, judgement)) for judgement in judgements]
    (pair / "darr.tsv").write_text("\n".join([header, *rows]) + "\n")
    return pair


def real_data() -> Path:
    """Return the folder with the real judgements; the test is skipped where there is none."""
    for place in PLACES:
        if (place / "wmt18" / "cs-en" / "darr.tsv").is_file():
            return place
    pytest.skip("wmt18 is missing: set SOFTSET_DATA to the folder that contains it")

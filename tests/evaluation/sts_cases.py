"""Small folders of sentence pairs, whose scores follow how many words the sentences share."""

import random
from pathlib import Path

from tests.integrations.sts import PLACES

WORDS = (
    "red book king river music garden doctor train winter bread horse school paper window summer "
    "ocean letter market bridge soldier"
).split()
FILES = ["STS12", "STS13", "STS14", "STS15", "STS16", "STSB-train", "STSB-dev", "STSB-test", "SICK-train"]
FILES += ["SICK-trial", "SICK-test"]

PARTS = dict.fromkeys(FILES[:5], ("headlines", "images", "OnWN", "MSRvid", "belief"))  # sub-datasets of the years

Pair = tuple[str, str, str]  # score, and both sentences


def pairs(name: str, count: int = 24) -> list[Pair]:
    """Return pairs that share 0 to 5 words; their score is that number, moved by up to a half."""
    rng = random.Random(name)
    rows = []
    for _ in range(count):
        common = rng.randrange(6)
        chosen = rng.sample(WORDS, 10)
        first, second = chosen[:5], chosen[:common] + chosen[5 : 10 - common]
        rows.append((f"{common + rng.uniform(-0.5, 0.5):.2f}", " ".join(first), " ".join(second)))
    return rows


def parts_of(name: str) -> list[tuple[str, Pair]]:
    """Return the pairs of a dataset with the sub-dataset of each."""
    parts = PARTS.get(name, (name,))
    return [(part, pair) for part in parts for pair in pairs(f"{name}/{part}", 24 if name not in PARTS else 8)]


def plain_folder(folder: Path) -> Path:
    """Write sts/raw and sts/tokenised, the second in capitals so that it is seen which was read."""
    for form in ("raw", "tokenised"):
        place = folder / "sts" / form
        place.mkdir(parents=True)
        for name in FILES:
            lines = ["score\tsentence1\tsentence2\tsource"]
            for part, (score, first, second) in parts_of(name):
                spelled = (first, second) if form == "raw" else (first.upper(), second.upper())
                lines.append("\t".join([score, *spelled, part]))
            (place / f"{name}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def real_folder() -> Path | None:
    """Return the folder of the real data, or None if it is missing."""
    return next((place for place in PLACES if (place / "sts" / "raw" / "STSB-dev.tsv").is_file()), None)

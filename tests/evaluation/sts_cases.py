"""Small folders of sentence pairs in both layouts, whose scores follow how many words the sentences share."""

import random
from pathlib import Path

from softset.encoders.base import TextEncoder
from softset.evaluation.sts import SENTEVAL_PARTS as PARTS
from softset.evaluation.sts import SICK_COLUMNS
from tests.integrations.sts import PLACES

WORDS = (
    "red book king river music garden doctor train winter bread horse school paper window summer "
    "ocean letter market bridge soldier"
).split()
FILES = ["STS12", "STS13", "STS14", "STS15", "STS16", "STSB-train", "STSB-dev", "STSB-test", "SICK-train"]
FILES += ["SICK-trial", "SICK-test"]

# Options that `eval sts` refuses, with a part of the sentence that says why.
BAD_OPTIONS = [
    (("--data", "nowhere"), "nowhere is not a folder"),
    (("--dataset", "STS11"), "there is no dataset 'STS11'"),
    (("--metric", "cosine"), "there is no metric 'cosine'"),
    (("--metric", "average+chance"), "has no closed form"),
    (("--metric", "bertscore+chance"), "has no closed form"),
    (("--limit", "0"), "0 is not in the range"),
]

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


def senteval_folder(folder: Path) -> Path:
    """Write the same pairs in SentEval's layout; each file of a year also has a pair without a score."""
    tasks = folder / "downstream"
    for name, parts in PARTS.items():
        year = tasks / "STS" / f"{name}-en-test"
        year.mkdir(parents=True)
        for part in parts:
            rows = [pair for source, pair in parts_of(name) if source == part]
            texts = [f"{first}\t{second}\tmore" for _, first, second in rows]
            (year / f"STS.input.{part}.txt").write_text("\n".join(["no\tscore", *texts]) + "\n", encoding="utf-8")
            (year / f"STS.gs.{part}.txt").write_text("\n".join(["", *(score for score, *_ in rows)]) + "\n")
    (tasks / "STS" / "STSBenchmark").mkdir()
    (tasks / "SICK").mkdir()
    for split, file in (("train", "train"), ("trial", "trial"), ("test", "test_annotated")):
        rows = pairs(f"SICK-{split}/SICK-{split}")
        lines = [f"{number}\t{first}\t{second}\t{score}\tNEUTRAL" for number, (score, first, second) in enumerate(rows)]
        (tasks / "SICK" / f"SICK_{file}.txt").write_text("\n".join(["\t".join(SICK_COLUMNS), *lines]) + "\n")
    for split in ("train", "dev", "test"):
        rows = pairs(f"STSB-{split}/STSB-{split}")
        lines = [f"main\tMSRvid\t2012\t{number}\t{row[0]}\t{row[1]}\t{row[2]}\tmore" for number, row in enumerate(rows)]
        (tasks / "STS" / "STSBenchmark" / f"sts-{split}.csv").write_text("\n".join(lines) + "\n")
    return folder


class CountingEncoder(TextEncoder):
    """An encoder that remembers the texts it has encoded."""

    signature, dimensions = "", 0  # set for each encoder

    def __init__(self, encoder) -> None:
        self.encoder, self.seen = encoder, []
        self.signature, self.dimensions = encoder.signature, encoder.dimensions

    def _encode(self, texts, progress):
        self.seen.extend(texts)
        return self.encoder.encode(texts, progress=progress)


def real_folder() -> Path | None:
    """Return the folder of the real data, or None if it is missing."""
    return next((place for place in PLACES if (place / "sts" / "raw" / "STSB-dev.tsv").is_file()), None)

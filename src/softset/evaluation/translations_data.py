"""WMT18 judgements of translations into English: wmt18/PAIR/ref.txt, hyp/SYSTEM.txt and darr.tsv."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from softset.errors import FileError, InputError
from softset.evaluation.data import DataFolder, finite_number

FOLDER = "wmt18"
COLUMNS = ("sid", "better", "worse", "raw_better", "raw_worse")

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LanguagePair:
    """The judgements of a language pair, with the texts that are judged.

    Attributes:
        name: Such as cs-en.
        references: The reference of each of s segments.
        translations: The m judged translations, ordered by segment.
        owner: The segment of each translation (m,), ascending.
        segment: The segment of each judgement (n,).
        better: The preferred translation of each judgement (n,).
        worse: The other translation of each judgement (n,).
    """

    name: str
    references: list[str]
    translations: list[str]
    owner: Integers
    segment: Integers
    better: Integers
    worse: Integers

    def __len__(self) -> int:
        return len(self.segment)


def choose_pairs(data: DataFolder, names: Iterable[str]) -> list[str]:
    """Return the language pairs with these names; "all" means every pair in the folder."""
    known = sorted(path.parent.name for path in (data.path / FOLDER).glob("*/darr.tsv"))
    if not known:
        raise FileError(f"{data.path / FOLDER} has no language pairs: it needs folders such as cs-en with a darr.tsv")
    chosen = list(dict.fromkeys(names))
    for name in chosen:
        if name not in (*known, "all"):
            raise InputError(f"there is no language pair {name[:60]!r}: use {', '.join(known)} or all")
    return known if "all" in chosen else chosen


def read_pair(data: DataFolder, name: str, limit: int | None = None) -> LanguagePair:
    """Return the judgements of one language pair; `limit` counts segments that have judgements."""
    folder = f"{FOLDER}/{name}"
    references = data.lines(f"{folder}/ref.txt")
    rows = data.table(f"{folder}/darr.tsv", COLUMNS, [int, str, str, finite_number, finite_number])
    hypotheses = data.path / folder / "hyp"
    systems = sorted(path.name.removesuffix(".txt") for path in hypotheses.glob("*.txt"))
    if not systems:
        raise FileError(f"{hypotheses} is missing or empty: it needs a SYSTEM.txt with one line per segment")
    for line, (sid, better, worse, high, low) in enumerate(rows, 2):
        if not 1 <= sid <= len(references) or better == worse or not {better, worse} <= {*systems} or not high > low:
            raise FileError(
                f"{data.path / folder / 'darr.tsv'} has no valid judgement in line {line}: it needs a segment from 1 "
                f"to {len(references)}, two systems of {', '.join(systems)}, and a higher score for the first"
            )
    segments = sorted({row[0] for row in rows})[:limit]
    rows = [row for row in rows if row[0] <= segments[-1]]
    judged = sorted({(row[0], system) for row in rows for system in row[1:3]})
    texts = {system: data.lines(f"{folder}/hyp/{system}.txt") for system in sorted({system for _, system in judged})}
    for system, lines in texts.items():
        if len(lines) != len(references):
            counts = f"{len(lines):,} lines, but ref.txt has {len(references):,}"
            raise FileError(f"{hypotheses / system}.txt has {counts}: both need one line per segment")
    segment_index = {sid: index for index, sid in enumerate(segments)}
    translation_index = {key: index for index, key in enumerate(judged)}
    return LanguagePair(
        name,
        [references[sid - 1] for sid in segments],
        [texts[system][sid - 1] for sid, system in judged],
        np.array([segment_index[sid] for sid, _ in judged]),
        np.array([segment_index[row[0]] for row in rows]),
        np.array([translation_index[row[0], row[1]] for row in rows]),
        np.array([translation_index[row[0], row[2]] for row in rows]),
    )

"""WMT18's judgements of translations into English, from a folder: wmt18/PAIR/ref.txt, hyp/SYSTEM.txt and darr.tsv."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from softset.errors import FileError, InputError
from softset.evaluation.data import Data, numbers

__all__ = ["LanguagePair", "chosen_pairs", "read_pair"]

FOLDER = "wmt18"
HEADER = ("sid", "better", "worse", "raw_better", "raw_worse")

Places = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LanguagePair:
    """The judgements of a language pair, and the texts that they are about: no others are kept.

    Attributes:
        name: such as cs-en.
        references: the reference of each of s segments.
        translations: each of m translations that is judged, segment by segment.
        owner: (m,) the segment of each translation; it rises.
        segment: (n,) the segment of each judgement.
        better: (n,) the translation that people found better.
        worse: (n,) the other one.
    """

    name: str
    references: list[str]
    translations: list[str]
    owner: Places
    segment: Places
    better: Places
    worse: Places

    def __len__(self) -> int:
        return len(self.segment)

    @property
    def counts(self) -> Places:
        """How many judgements each segment has, (s,)."""
        return np.bincount(self.segment, minlength=len(self.references))


def chosen_pairs(data: Data, names: Iterable[str]) -> list[str]:
    """Return the language pairs of these names, each once; "all" are all there are.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Path(folder, "wmt18", "cs-en").mkdir(parents=True)
    ...     chosen_pairs(Data(folder), ["cs-en"]), chosen_pairs(Data(folder), ["all"])
    (['cs-en'], ['cs-en'])
    """
    known, wanted = data.folders(FOLDER), list(dict.fromkeys(names))
    if not known:
        raise FileError(f"{data.folder / FOLDER} has no language pairs: folders such as cs-en were wanted")
    for name in wanted:
        if name not in (*known, "all"):
            raise InputError(f"there is no language pair {name[:60]!r}: use {', '.join(known)} or all")
    return known if "all" in wanted else wanted


def read_pair(data: Data, name: str, limit: int | None = None) -> LanguagePair:
    """Return the judgements of one language pair; with a limit, those of the first so many segments that have some.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pair = Path(folder, "wmt18", "cs-en")
    ...     (pair / "hyp").mkdir(parents=True)
    ...     for name, text in (("ref.txt", "A pen."), ("hyp/new.txt", "a pen"), ("hyp/old.txt", "the feather")):
    ...         _ = (pair / name).write_text(f"{text}\\n")
    ...     _ = (pair / "darr.tsv").write_text("\\t".join(HEADER) + "\\n1\\tnew\\told\\t90\\t40\\n")
    ...     found = read_pair(Data(folder), "cs-en")
    >>> found.translations, found.better, found.worse
    (['a pen', 'the feather'], array([0]), array([1]))
    """
    folder = f"{FOLDER}/{name}"
    references = data.lines(f"{folder}/ref.txt")
    rows = data.table(f"{folder}/darr.tsv", HEADER, [int, str, str, numbers, numbers])
    systems = _systems(data, folder)
    for line, row in enumerate(rows, 2):
        _check(row, f"{data.folder / folder / 'darr.tsv'} has, in line {line},", len(references), systems)
    sids = sorted({row[0] for row in rows})[:limit]
    rows = [row for row in rows if row[0] <= sids[-1]]
    texts = _texts(data, folder, sorted({one for row in rows for one in row[1:3]}), len(references))
    return _assembled(name, references, texts, rows, sids)


def _systems(data: Data, folder: str) -> list[str]:
    """Return the names of the systems whose translations are there."""
    path = data.folder / folder / "hyp"
    found = sorted(one.name.removesuffix(".txt") for one in path.glob("*.txt"))
    if not found:
        raise FileError(f"{path} is missing or empty: SYSTEM.txt with a line a segment was wanted there")
    return found


def _check(row: Sequence[Any], where: str, segments: int, systems: Sequence[str]) -> None:
    """Refuse a judgement of what is not there, or of nothing."""
    sid, better, worse, high, low = row
    if not 1 <= sid <= segments:
        raise FileError(f"{where} segment {sid}, but ref.txt has segments 1 to {segments}")
    for system in (better, worse):
        if system not in systems:
            raise FileError(f"{where} the system {system[:60]!r}, but hyp has {', '.join(systems)}")
    if better == worse:
        raise FileError(f"{where} {better} better than itself: two systems were wanted")
    if not high > low:
        raise FileError(f"{where} raw_better {high:g}, but more than its raw_worse {low:g} was wanted")


def _texts(data: Data, folder: str, systems: Iterable[str], segments: int) -> dict[str, list[str]]:
    """Return the translations of systems, a line a segment."""
    texts = {}
    for system in systems:
        name = f"{folder}/hyp/{system}.txt"
        texts[system] = data.lines(name)
        if len(texts[system]) != segments:
            raise FileError(
                f"{data.folder / name} has {len(texts[system]):,} lines, but ref.txt has {segments:,}: as many were "
                "wanted"
            )
    return texts


def _assembled(
    name: str,
    references: Sequence[str],
    texts: dict[str, list[str]],
    rows: Sequence[Sequence[Any]],
    sids: Sequence[int],
) -> LanguagePair:
    """Number the segments and the translations that are judged, and keep their texts alone."""
    place = {sid: at for at, sid in enumerate(sids)}
    judged = sorted({(row[0], system) for row in rows for system in row[1:3]})
    at = {one: number for number, one in enumerate(judged)}
    return LanguagePair(
        name,
        [references[sid - 1] for sid in sids],
        [texts[system][sid - 1] for sid, system in judged],
        np.array([place[sid] for sid, _ in judged]),
        np.array([place[row[0]] for row in rows]),
        np.array([at[row[0], row[1]] for row in rows]),
        np.array([at[row[0], row[2]] for row in rows]),
    )

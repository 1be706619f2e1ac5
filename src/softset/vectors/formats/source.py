"""What every reader gives: words and rows, block by block, every row checked by the same rules."""

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from softset.errors import FileError, SoftsetError
from softset.vectors.growing import GrowingWords

__all__ = ["Block", "RowCheck", "Source", "block_rows", "check_dimensions", "shown", "streamed"]

MAX_DIMENSIONS = 65_536
MAX_WORD_BYTES = 1_000
MAX_LINE_BYTES = 2_000_000
MAX_ROWS = 50_000_000
MAX_CONTENT_BYTES = 64 << 30
MAX_RATIO = 1_000
RATIO_FREE_BYTES = 1 << 30
BLOCK_ROWS = 4_096
BLOCK_NUMBERS = 1 << 16  # as Python floats on their way to an array these are 2 MB

Block = tuple[list[str], np.ndarray]


@dataclass(frozen=True)
class Source:
    """A stream of words and vectors, read block by block."""

    format: str
    dimensions: int
    rows: int | None
    blocks: Iterator[Block]
    skipped: Counter[str] = field(default_factory=Counter)


class RowCheck:
    """The checks that every row of one file passes, or fails with a sentence that says where."""

    error: type[SoftsetError] = FileError
    advice = "; mend the file, or leave such rows out with skip_bad (--skip-bad)"

    def __init__(self, name: str, *, skip_bad: bool, unit: str = "row", words_name: str | None = None) -> None:
        self.name = name
        self.skip_bad = skip_bad
        self.skipped: Counter[str] = Counter()
        self.vectors_at = f"{name}, {unit}"
        self._words_unit = "line" if words_name else unit
        self._words_at = f"{words_name or name}, {self._words_unit}"
        self._places = array("q")
        self._seen = GrowingWords()

    def passed(self, places: Sequence[int], words: Sequence[bytes], vectors: np.ndarray) -> Block:
        """Return the good ones of (b, d) rows as float32 with their words; a bad one is an error, or is skipped."""
        self._check_limits(places, words)
        with np.errstate(over="ignore", invalid="ignore"):
            rows = np.array(vectors, dtype=np.float32)
        texts = _decoded(words)
        whole = texts is not None and all(map(bytes.strip, words)) and bool(np.isfinite(rows).all())
        if texts is None or not whole or not self._seen.extend(texts):
            return self._sifted(places, words, rows)
        self._places.extend(places)
        return texts, rows

    def refuse(self, reason: str, sentence: str) -> None:
        """Raise the error of a row that is bad in itself, or count it."""
        if not self.skip_bad:
            raise self.error(sentence + self.advice)
        self.skipped[reason] += 1

    def _check_limits(self, places: Sequence[int], words: Sequence[bytes]) -> None:
        if len(self._places) + len(words) > MAX_ROWS:
            raise self.error(f"{self.name} has more than {MAX_ROWS:,} rows, the most that can be read")
        for place, word in zip(places, words, strict=True):
            if len(word) > MAX_WORD_BYTES:
                raise self.error(
                    f"{self._words_at} {place} has a word of {len(word):,} bytes, but a word has at most "
                    f"{MAX_WORD_BYTES:,}; is this a file of words and vectors?"
                )

    def _sifted(self, places: Sequence[int], words: Sequence[bytes], rows: np.ndarray) -> Block:
        """Go row by row, so that the first bad one is named."""
        kept = []
        readable = [word.decode() for word in words if _decoded([word])]
        first_at = {word: self._places[at] for word, at in self._seen.known(readable).items()}
        fresh: list[str] = []
        for i, (place, word) in enumerate(zip(places, words, strict=True)):
            fault = self._fault(place, word, rows[i], first_at)
            if fault:
                self.refuse(*fault)
                continue
            fresh.append(word.decode())
            first_at[fresh[-1]] = place
            kept.append(i)
            self._places.append(place)
        self._seen.append(fresh)
        return fresh, rows[kept]

    def _fault(self, place: int, word: bytes, row: np.ndarray, first_at: Mapping[str, int]) -> tuple[str, str] | None:
        """Return the reason and the sentence for a bad row, or nothing."""
        texts = _decoded([word])
        if texts is None:
            return "not UTF-8", f"{self._words_at} {place} has a word that is not UTF-8, {shown(word)}"
        if not word.strip():
            return "empty word", f"{self._words_at} {place} has an empty word"
        finite = np.isfinite(row)
        if not finite.all():
            column = int(np.argmin(finite))
            return "not finite", (
                f"{self.vectors_at} {place} has {row[column]} as number {column + 1} of the word {shown(word)}, "
                "but every number must be finite and fit float32"
            )
        if texts[0] in first_at:
            first = f"{self._words_unit} {first_at[texts[0]]}"
            return "duplicate word", f"{self._words_at} {place} repeats the word {shown(word)} of {first}"
        return None


def streamed(kind: str, dimensions: int, rows: int | None, blocks: Iterator[Block], check: RowCheck) -> Source:
    """Return the source of the blocks that have any rows left."""
    return Source(kind, dimensions, rows, filter(lambda block: block[0], blocks), check.skipped)


def block_rows(dimensions: int) -> int:
    """Return how many rows make a block."""
    return max(1, min(BLOCK_ROWS, BLOCK_NUMBERS // dimensions))


def check_dimensions(name: str, dimensions: int) -> None:
    """Refuse a number of dimensions that no word vector has."""
    if not 1 <= dimensions <= MAX_DIMENSIONS:
        raise FileError(
            f"{name} has vectors of {dimensions:,} dimensions, but 1 to {MAX_DIMENSIONS:,} can be read; "
            "is this a file of words and vectors?"
        )


def shown(word: bytes) -> str:
    """Return a word from a file as an error may show it: short, and on one line."""
    return repr(word[:40].decode(errors="backslashreplace"))


def _decoded(words: Sequence[bytes]) -> list[str] | None:
    try:
        return [word.decode() for word in words]
    except UnicodeDecodeError:
        return None

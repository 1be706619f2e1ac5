"""The stream of words and vectors that every reader returns, and the checks that every row must pass."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from softset.errors import FileError

MAX_DIMENSIONS = 65_536
MAX_WORD_BYTES = 1_000
MAX_ROWS = 50_000_000
BLOCK_ROWS = 4_096
BLOCK_NUMBERS = 1 << 16  # 2 MB as Python floats, before they are converted to an array

Block = tuple[list[str], np.ndarray]
Fault = tuple[str, str]  # the reason in `VectorStream.skipped`, and the error message


@dataclass(frozen=True)
class VectorStream:
    """Words and vectors that are read block by block.

    Attributes:
        format: the name of the file format.
        dimensions: the number of dimensions d.
        rows: the number of rows, or None if the file does not state it.
        blocks: pairs of b words and a float32 array (b, d).
        skipped: the number of skipped rows by reason; complete after all blocks were read.
    """

    format: str
    dimensions: int
    rows: int | None
    blocks: Iterator[Block]
    skipped: Counter[str]


class RowChecker:
    """Checks the rows of one file: distinct, non-empty UTF-8 words, and finite numbers.

    Messages use `name`, the file of the vectors, `words_name`, the file of the words if it is another one, and `unit`,
    which is "row", "line" or "token". With `skip_bad`, invalid rows are counted and raise no error.
    """

    def __init__(self, name: str, *, skip_bad: bool, unit: str = "row", words_name: str | None = None) -> None:
        self.skipped: Counter[str] = Counter()
        self._name = name
        self._skip_bad = skip_bad
        self._row_label = f"{name}, {unit}"
        self._word_unit = "line" if words_name else unit
        self._word_label = f"{words_name or name}, {self._word_unit}"
        self._seen: dict[str, int] = {}  # the line or row number of each word

    def stream(self, kind: str, dimensions: int, rows: int | None, blocks: Iterator[Block]) -> VectorStream:
        """Return the stream of all blocks that are not empty; reject impossible numbers of rows and dimensions."""
        if not 1 <= dimensions <= MAX_DIMENSIONS:
            raise FileError(
                f"{self._name} has vectors of {dimensions:,} dimensions, but 1 to {MAX_DIMENSIONS:,} are supported; "
                "is this a file of words and vectors?"
            )
        if rows is not None and not 1 <= rows <= MAX_ROWS:
            raise FileError(f"the header of {self._name} says {rows:,} rows, but 1 to {MAX_ROWS:,} are supported")
        return VectorStream(kind, dimensions, rows, filter(lambda block: block[0], blocks), self.skipped)

    def check(
        self, numbers: Sequence[int], words: Sequence[bytes], vectors: np.ndarray, faults: Sequence[Fault | None] = ()
    ) -> Block:
        """Return the valid rows (b, d) of a block as float32 with their words.

        `numbers` are their line or row numbers; `faults` holds what the parser found, by position in the block.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            rows = np.array(vectors, dtype=np.float32)
        finite = np.atleast_1d(np.isfinite(rows).all(axis=1))
        texts: list[str] = []
        positions: list[int] = []
        for position, (number, word) in enumerate(zip(numbers, words, strict=True)):
            fault = faults[position] if faults else None
            fault = fault or self._find_fault(number, word, finite=bool(finite[position]))
            if fault is None:
                texts.append(word.decode())
                positions.append(position)
                self._seen[texts[-1]] = number
            elif self._skip_bad:
                self.skipped[fault[0]] += 1
            else:
                raise FileError(f"{fault[1]}: correct the file, or skip such rows with skip_bad (--skip-bad)")
        if len(self._seen) > MAX_ROWS:
            raise FileError(f"{self._name} has more than {MAX_ROWS:,} rows, the largest number that can be read")
        return texts, rows if len(positions) == len(rows) else rows[positions]

    def _find_fault(self, number: int, word: bytes, *, finite: bool) -> Fault | None:
        label = f"{self._word_label} {number}"
        if len(word) > MAX_WORD_BYTES:
            raise FileError(f"{label} has a word of more than {MAX_WORD_BYTES:,} bytes: is this a file of vectors?")
        try:
            text = word.decode()
        except UnicodeDecodeError:
            return "not UTF-8", f"{label} has a word that is not UTF-8, {quoted(word)}"
        if not word.strip():
            return "empty word", f"{label} has an empty word"
        if not finite:
            message = f"{self._row_label} {number} has a number that is not finite in float32, for the word"
            return "not finite", f"{message} {quoted(word)}"
        if text in self._seen:
            return "duplicate word", f"{label} repeats the word {quoted(word)} of {self._word_unit} {self._seen[text]}"
        return None


def rows_per_block(dimensions: int) -> int:
    """Return the number of rows that readers put into a block."""
    return max(1, min(BLOCK_ROWS, BLOCK_NUMBERS // dimensions))


def quoted(word: bytes) -> str:
    """Return a word for an error message: in quotes, shortened, on one line."""
    return repr(word[:40].decode(errors="backslashreplace"))

"""Rows whose numbers are written out, collected until they make a block and then parsed at once."""

import numpy as np

from softset.vectors.formats.source import Block, RowCheck, block_rows, shown

__all__ = ["FieldRows", "is_number"]

FIELD_COUNT = "wrong number of fields"
NO_NUMBER = "not a number"
BLOCK_BYTES = 8 << 20  # of words: those of a file that is none of vectors may be as long as its lines


class FieldRows:
    """Rows of `width` fields, of which the first `dimensions` are the vector."""

    def __init__(self, check: RowCheck, dimensions: int, width: int) -> None:
        self._check = check
        self._dimensions = dimensions
        self._width = width
        self._size = block_rows(width)
        self._clear()

    def __len__(self) -> int:
        return len(self._words)

    @property
    def full(self) -> bool:
        """Whether it is time for a block."""
        return len(self._words) >= self._size or self._bytes >= BLOCK_BYTES

    def add(self, place: int, word: bytes, fields: list[bytes]) -> None:
        """Take a row of `width` fields."""
        self._places.append(place)
        self._words.append(word)
        self._bytes += len(word)
        self._fields += fields

    def refuse(self, place: int, sentence: str, *, reason: str = FIELD_COUNT) -> None:
        """Raise the error of a row that cannot be taken, after those of the rows before it, or count it."""
        if not self._check.skip_bad:
            self.block()
        self._check.refuse(reason, f"{self._check.vectors_at} {place} {sentence}")

    def block(self) -> Block:
        """Return the good rows taken since the last block."""
        try:
            numbers = _numbers(self._fields)
        except ValueError:
            block = self._sifted()
        else:
            rows = np.array(numbers, dtype=np.float64).reshape(-1, self._width)[:, : self._dimensions]
            block = self._check.passed(self._places, self._words, rows)
        self._clear()
        return block

    def _clear(self) -> None:
        self._bytes = 0
        self._places: list[int] = []
        self._words: list[bytes] = []
        self._fields: list[bytes] = []

    def _sifted(self) -> Block:
        """Go row by row, so that the first bad one is named."""
        words: list[str] = []
        rows = [np.zeros((0, self._dimensions), dtype=np.float32)]
        for i, (place, word) in enumerate(zip(self._places, self._words, strict=True)):
            fields = self._fields[i * self._width : (i + 1) * self._width]
            bad = next((field for field in fields if not is_number(field)), None)
            if bad is not None:
                where = f"{self._check.vectors_at} {place} has {shown(bad)}"
                self._check.refuse(NO_NUMBER, f"{where} among the numbers of the word {shown(word)}")
                continue
            vector = np.array([_numbers(fields)[: self._dimensions]])
            text, row = self._check.passed([place], [word], vector)
            words += text
            rows.append(row)
        return words, np.concatenate(rows)


def is_number(field: bytes) -> bool:
    """Tell whether a field is a number, which NaN and infinity are for now."""
    try:
        _numbers([field])
    except ValueError:
        return False
    return True


def _numbers(fields: list[bytes]) -> list[float]:
    # float() is as fast as numpy's parser and stricter, but takes the 1_000 of Python's own syntax.
    if b"_" in b" ".join(fields):
        raise ValueError("an underscore")
    return list(map(float, fields))

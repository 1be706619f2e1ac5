"""Text files with a word and its numbers on each line: GloVe, and word2vec and fastText .vec with a header "n d"."""

import re
from collections.abc import Iterator
from itertools import chain, islice

import numpy as np

from softset.errors import FileError
from softset.vectors.formats.checks import (
    MAX_ROWS,
    Block,
    Fault,
    RowChecker,
    VectorStream,
    check_dimensions,
    quoted,
    rows_per_block,
)
from softset.vectors.formats.streams import FileStream

__all__ = ["parse_header", "read_text"]

Line = tuple[int, bytes]
HEADER = re.compile(rb"[ \t]*([0-9]{1,18})[ \t]+([0-9]{1,18})\s*")
LINES_AHEAD = 16  # lines that are inspected to find the number of dimensions
BATCH_BYTES = 8 << 20


def read_text(stream: FileStream, *, skip_bad: bool) -> VectorStream:
    """Read lines of a word, which may contain spaces, and its d numbers."""
    lines = ((number, line) for number, line in stream.lines() if line.strip())
    first = next(lines, None)
    if first is None:
        raise FileError(f"{stream.name} is empty, but lines with a word and its numbers were expected")
    checker = RowChecker(stream.name, skip_bad=skip_bad, unit="line")
    header = parse_header(stream.name, first[1])
    if header:
        rows, dimensions = header
        parser = _LineParser(stream.name, dimensions, f"the header says {dimensions}")
        return checker.stream("text", dimensions, rows, _blocks(stream, lines, rows, parser, checker))
    ahead = [first, *islice(lines, LINES_AHEAD)]
    dimensions, number = _count_dimensions(stream.name, ahead)
    parser = _LineParser(stream.name, dimensions, f"line {number} has {dimensions}")
    return checker.stream("text", dimensions, None, _blocks(stream, chain(ahead, lines), None, parser, checker))


def parse_header(name: str, line: bytes) -> tuple[int, int] | None:
    """Return the numbers of rows and dimensions from a header line, or None if the line is not a header."""
    match = HEADER.fullmatch(line)
    if not match:
        return None
    rows, dimensions = int(match[1]), int(match[2])
    check_dimensions(name, dimensions)
    if not 1 <= rows <= MAX_ROWS:
        raise FileError(f"the header of {name} says {rows:,} rows, but 1 to {MAX_ROWS:,} are supported")
    return rows, dimensions


def _count_dimensions(name: str, lines: list[Line]) -> tuple[int, int]:
    """Return the number of dimensions and the line that shows it: the first with only numbers after the word."""
    number, line = next((line for line in lines if _numbers_after_first_field(line[1])), lines[0])
    dimensions = len(line.split()) - 1
    if not dimensions:
        raise FileError(f"{name}, line {number} is {quoted(line)}, but a word and its numbers were expected")
    check_dimensions(name, dimensions)
    return dimensions, number


def _numbers_after_first_field(text: bytes) -> int:
    """Return the number of fields after the first if all of them are numbers, else 0."""
    _, *fields = text.split() or [b""]
    try:
        return len(_parse_numbers(fields))
    except ValueError:
        return 0


def _parse_numbers(fields: list[bytes]) -> list[float]:
    # float() is as fast as NumPy's parser and stricter, but it accepts underscores, as in 1_000.
    if b"_" in b" ".join(fields):
        raise ValueError("underscore in a number")
    return list(map(float, fields))


def _blocks(
    stream: FileStream, lines: Iterator[Line], rows: int | None, parser: "_LineParser", checker: RowChecker
) -> Iterator[Block]:
    with stream:
        count = 0
        for batch in _batches(islice(lines, rows), rows_per_block(parser.dimensions)):
            count += len(batch)
            words, vectors, faults = parser.parse(batch)
            yield checker.check([number for number, _ in batch], words, vectors, faults)
        count += sum(1 for _ in lines)
        if rows is not None and count != rows:
            raise FileError(
                f"the header of {stream.name} says {rows:,} rows, but {count:,} follow; download the file again, or "
                "correct the header"
            )


def _batches(lines: Iterator[Line], size: int) -> Iterator[list[Line]]:
    """Yield lists of up to `size` lines; very long lines make shorter lists, to limit memory."""
    batch: list[Line] = []
    batch_bytes = 0
    for line in lines:
        batch.append(line)
        batch_bytes += len(line[1])
        if len(batch) >= size or batch_bytes >= BATCH_BYTES:
            yield batch
            batch, batch_bytes = [], 0
    if batch:
        yield batch


class _LineParser:
    """Splits lines into words and numbers.

    Args:
        name: the file, for messages.
        dimensions: the number of numbers on each line.
        expected: the end of the message about a line with another number of fields.
    """

    def __init__(self, name: str, dimensions: int, expected: str) -> None:
        self.dimensions = dimensions
        self._name = name
        self._expected = expected
        self._blank = [b"0"] * dimensions

    def parse(self, lines: list[Line]) -> tuple[list[bytes], np.ndarray, dict[int, Fault]]:
        """Return the words, the numbers (b, d), and the faults by position; rows with a fault are zero."""
        words: list[bytes] = []
        fields: list[list[bytes]] = []
        faults: dict[int, Fault] = {}
        for position, (number, line) in enumerate(lines):
            word, *numbers = line.rsplit(None, self.dimensions)
            if len(numbers) != self.dimensions or _ends_with_numbers(word):
                faults[position] = self._field_count_fault(number, line)
                word, numbers = b"", self._blank
            words.append(word)
            fields.append(numbers)
        try:
            values = _parse_numbers(list(chain.from_iterable(fields)))
        except ValueError:
            values = self._parse_each(lines, words, fields, faults)
        return words, np.array(values, dtype=np.float64).reshape(-1, self.dimensions), faults

    def _parse_each(
        self, lines: list[Line], words: list[bytes], fields: list[list[bytes]], faults: dict[int, Fault]
    ) -> list[float]:
        """Parse the numbers line by line, and add a fault for each line with a field that is not a number."""
        values: list[float] = []
        for position, numbers in enumerate(fields):
            try:
                values += _parse_numbers(numbers)
            except ValueError:
                bad = next(field for field in numbers if not _numbers_after_first_field(b"x " + field))
                place = f"{self._name}, line {lines[position][0]}"
                message = f"{place} has {quoted(bad)} among the numbers of the word {quoted(words[position])}"
                faults[position] = "not a number", message
                values += [0.0] * self.dimensions
        return values

    def _field_count_fault(self, number: int, line: bytes) -> Fault:
        fields = line.split()
        place = f"{self._name}, line {number}"
        if line[:1] in (b" ", b"\t") and len(fields) == self.dimensions:
            return "empty word", f"{place} has an empty word"
        message = f"{place} has {len(fields) - 1} numbers after the word {quoted(fields[0])}, but {self._expected}"
        return "wrong number of fields", message


def _ends_with_numbers(word: bytes) -> bool:
    """Return whether a word with spaces is one field and numbers, as on a line with too many numbers.

    Therefore ". . ." and "catch 22 again" are words, but "of 0.1" is not.
    """
    return (b" " in word or b"\t" in word) and _numbers_after_first_field(word) > 0

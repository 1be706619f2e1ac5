"""Text files with a word and its numbers on each line: GloVe, and word2vec and fastText .vec with a header "n d"."""

import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain, islice

import numpy as np

from softset.errors import FileError
from softset.io.compressed import FileStream
from softset.vectors.formats import checks
from softset.vectors.formats.checks import Block, Fault, RowChecker, VectorStream, quoted

Line = tuple[int, bytes]  # the line number and the line
Row = tuple[int, bytes, list[float], Fault | None]  # the line number, the word, its numbers
HEADER = re.compile(rb"[ \t]*([0-9]{1,18})[ \t]+([0-9]{1,18})\s*")
LINES_AHEAD = 16  # lines that are inspected to find the number of dimensions


def read_text(stream: FileStream, *, skip_bad: bool) -> VectorStream:
    """Read lines of a word, which may contain spaces, and its d numbers."""
    lines: Iterator[Line] = ((number, line) for number, line in stream.lines() if line.strip())
    first = next(lines, None)
    if first is None:
        raise FileError(f"{stream.name} is empty, but lines with a word and its numbers were expected")
    header = parse_header(first[1])
    if header:
        dimensions = header[1]
        expected = f"the header says {dimensions}"
    else:
        ahead = [first, *islice(lines, LINES_AHEAD)]
        dimensions, number = _count_dimensions(stream.name, ahead)
        lines, expected = chain(ahead, lines), f"line {number} has {dimensions}"
    rows = header[0] if header else None
    checker = RowChecker(stream.name, skip_bad=skip_bad, unit="line")
    blocks = _blocks(stream, lines, rows, dimensions, expected, checker)
    return checker.stream("text", dimensions, rows, blocks)


def parse_header(line: bytes) -> tuple[int, int] | None:
    """Return the numbers of rows and dimensions from a header line, or None if the line is not a header."""
    match = HEADER.fullmatch(line)
    return (int(match[1]), int(match[2])) if match else None


def _count_dimensions(name: str, lines: list[Line]) -> tuple[int, int]:
    """Return the number of dimensions and the line that shows it: the first with only numbers after the word."""
    number, line = next((line for line in lines if _has_only_numbers_after_word(line[1])), lines[0])
    dimensions = len(line.split()) - 1
    if not dimensions:
        raise FileError(f"{name}, line {number} is {quoted(line)}, but a word and its numbers were expected")
    return dimensions, number


def _has_only_numbers_after_word(text: bytes) -> bool:
    fields = text.split()[1:]
    return bool(fields) and all(map(_is_number, fields))


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return b"_" not in field  # Python accepts 1_000


def _blocks(
    stream: FileStream, lines: Iterator[Line], rows: int | None, dimensions: int, expected: str, checker: RowChecker
) -> Iterator[Block]:
    count, size, counted_lines = 0, checks.rows_per_block(dimensions), islice(lines, rows)
    with stream:
        while block := [_parse_line(stream.name, line, dimensions, expected) for line in islice(counted_lines, size)]:
            count += len(block)
            numbers, words, values, faults = zip(*block, strict=True)
            yield checker.check(numbers, words, np.array(values), faults)
        count += sum(1 for _ in lines)
        if rows is not None and count != rows:
            raise FileError(
                f"the header of {stream.name} says {rows:,} rows, but {count:,} follow: download the file again, or "
                "correct the header"
            )


def _parse_line(name: str, numbered: Line, dimensions: int, expected: str) -> Row:
    """Return the line number, the word, its numbers, and the fault of the line or None."""
    number, line = numbered
    word, *fields = line.rsplit(None, dimensions)
    # A word with spaces may not end with numbers, as on a line with too many of them: ". . ." and "catch 22 again" are
    # words, but "of 0.1" is not.
    valid = len(fields) == dimensions and not ((b" " in word or b"\t" in word) and _has_only_numbers_after_word(word))
    if valid and not (b"_" in line and any(b"_" in field for field in fields)):
        with suppress(ValueError):
            # A word that is too long is rejected later; the rest of it would only take memory.
            return number, word[: checks.MAX_WORD_BYTES + 1], list(map(float, fields)), None
    return number, b"", [0.0] * dimensions, _find_fault(f"{name}, line {number}", line, dimensions, expected)


def _find_fault(place: str, line: bytes, dimensions: int, expected: str) -> Fault:
    """Return the fault of a line that `_parse_line` rejects."""
    word, *fields = line.rsplit(None, dimensions)
    bad = next((field for field in fields if not _is_number(field)), None)
    if len(fields) == dimensions and bad is not None:
        return "not a number", f"{place} has {quoted(bad)} among the numbers of the word {quoted(word)}"
    fields = line.split()
    if line[:1] in (b" ", b"\t") and len(fields) == dimensions:
        return "empty word", f"{place} has an empty word"
    message = f"{place} has {len(fields) - 1} numbers after the word {quoted(fields[0])}, but {expected}"
    return "wrong number of fields", message

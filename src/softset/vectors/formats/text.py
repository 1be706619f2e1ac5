"""Text files with a word and its numbers on each line: GloVe, and word2vec and fastText .vec with a header "n d"."""

import re
from collections.abc import Iterator
from itertools import chain, islice

import numpy as np

from softset.errors import FileError
from softset.vectors.formats import checks
from softset.vectors.formats.checks import Block, Fault, RowChecker, VectorStream, check_dimensions, quoted
from softset.vectors.formats.streams import FileStream

Line = tuple[int, bytes]  # the line number and the line
HEADER = re.compile(rb"[ \t]*([0-9]{1,18})[ \t]+([0-9]{1,18})\s*")
LINES_AHEAD = 16  # lines that are inspected to find the number of dimensions
BATCH_BYTES = 8 << 20


def read_text(stream: FileStream, *, skip_bad: bool) -> VectorStream:
    """Read lines of a word, which may contain spaces, and its d numbers."""
    lines: Iterator[Line] = ((number, line) for number, line in stream.lines() if line.strip())
    first = next(lines, None)
    if first is None:
        raise FileError(f"{stream.name} is empty, but lines with a word and its numbers were expected")
    header = parse_header(stream.name, first[1])
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


def parse_header(name: str, line: bytes) -> tuple[int, int] | None:
    """Return the numbers of rows and dimensions from a header line, or None if the line is not a header."""
    match = HEADER.fullmatch(line)
    if not match:
        return None
    rows, dimensions = int(match[1]), int(match[2])
    check_dimensions(name, dimensions)
    if not 1 <= rows <= checks.MAX_ROWS:
        raise FileError(f"the header of {name} says {rows:,} rows, but 1 to {checks.MAX_ROWS:,} are supported")
    return rows, dimensions


def _count_dimensions(name: str, lines: list[Line]) -> tuple[int, int]:
    """Return the number of dimensions and the line that shows it: the first with only numbers after the word."""
    number, line = next((line for line in lines if _has_only_numbers_after_word(line[1])), lines[0])
    dimensions = len(line.split()) - 1
    if not dimensions:
        raise FileError(f"{name}, line {number} is {quoted(line)}, but a word and its numbers were expected")
    check_dimensions(name, dimensions)
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
    with stream:
        count = 0
        for batch in _batches(islice(lines, rows), checks.rows_per_block(dimensions)):
            words, values, faults = [], [], {}
            for position, (number, line) in enumerate(batch):
                try:
                    word, numbers = _parse_line(line, dimensions)
                except ValueError:
                    faults[position] = _find_fault(f"{stream.name}, line {number}", line, dimensions, expected)
                    word, numbers = b"", [0.0] * dimensions
                words.append(word)
                values.append(numbers)
            count += len(batch)
            yield checker.check([number for number, _ in batch], words, np.array(values), faults)
        count += sum(1 for _ in lines)
        if rows is not None and count != rows:
            raise FileError(
                f"the header of {stream.name} says {rows:,} rows, but {count:,} follow: download the file again, or "
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


def _parse_line(line: bytes, dimensions: int) -> tuple[bytes, list[float]]:
    """Return the word and its numbers; ValueError if the line is not valid."""
    word, *fields = line.rsplit(None, dimensions)
    # A word with spaces may not end with numbers, as on a line with too many of them: ". . ." and "catch 22 again" are
    # words, but "of 0.1" is not.
    if len(fields) != dimensions or ((b" " in word or b"\t" in word) and _has_only_numbers_after_word(word)):
        raise ValueError("wrong number of fields")
    if b"_" in line and any(b"_" in field for field in fields):
        raise ValueError("underscore in a number")
    return word, list(map(float, fields))


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

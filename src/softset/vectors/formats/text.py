"""Text files, a word and its numbers a line: GloVe's, and word2vec's and fastText's, which begin with a line "n d"."""

import re
from collections.abc import Iterator
from itertools import chain, islice

from softset.errors import FileError
from softset.vectors.formats.fields import FieldRows, is_number
from softset.vectors.formats.source import MAX_ROWS, Block, RowCheck, Source, check_dimensions, shown, streamed
from softset.vectors.formats.stream import Stream

__all__ = ["parse_header", "read_text"]

Lines = Iterator[tuple[int, bytes]]
HEADER = re.compile(rb"[ \t]*([0-9]{1,18})[ \t]+([0-9]{1,18})\s*")
LINES_AHEAD = 16


def read_text(stream: Stream, *, skip_bad: bool) -> Source:
    """Read lines of a word, which may have spaces in it, and its d numbers."""
    lines = ((number, line) for number, line in stream.lines() if line.strip())
    first = list(islice(lines, 1))
    if not first:
        raise FileError(f"{stream.name} is empty, but a word and its numbers a line were wanted")
    header = parse_header(stream.name, first[0][1])
    check = RowCheck(stream.name, skip_bad=skip_bad, unit="line")
    if header:
        return streamed("text", header[1], header[0], _blocks(stream, lines, header, "the header says", check), check)
    ahead = first + list(islice(lines, LINES_AHEAD))
    dimensions, says = _measured(stream.name, ahead)
    blocks = _blocks(stream, chain(ahead, lines), (None, dimensions), says, check)
    return streamed("text", dimensions, None, blocks, check)


def parse_header(name: str, line: bytes) -> tuple[int, int] | None:
    """Return the number of rows and of dimensions that a first line promises, or nothing."""
    match = HEADER.fullmatch(line)
    if not match:
        return None
    rows, dimensions = int(match[1]), int(match[2])
    check_dimensions(name, dimensions)
    if not 1 <= rows <= MAX_ROWS:
        raise FileError(f"{name} says in its header that it has {rows:,} rows, but 1 to {MAX_ROWS:,} can be read")
    return rows, dimensions


def _measured(name: str, ahead: list[tuple[int, bytes]]) -> tuple[int, str]:
    """Return the dimension, and which line says so: the first that is all numbers after its first field."""
    number, line = next(((number, line) for number, line in ahead if _count_numbers(line)), ahead[0])
    dimensions = len(line.split()) - 1
    if not dimensions:
        raise FileError(f"{name}, line {number} is {shown(line)}, but a word and its numbers were wanted")
    check_dimensions(name, dimensions)
    return dimensions, f"line {number} has"


def _count_numbers(line: bytes) -> int:
    """Count the fields after the first if they are all numbers."""
    _, *others = line.split() or [b""]
    return len(others) if all(map(is_number, others)) else 0


def _blocks(
    stream: Stream, lines: Lines, promised: tuple[int | None, int], says: str, check: RowCheck
) -> Iterator[Block]:
    wanted, dimensions = promised
    rows = FieldRows(check, dimensions, dimensions)
    with stream:
        count = 0
        for number, line in islice(lines, wanted):
            count += 1
            word, *fields = line.rsplit(None, dimensions)
            if len(fields) == dimensions and not _has_numbers(word):
                rows.add(number, word, fields)
            else:
                _refuse(rows, number, line, f"{says} {dimensions}", dimensions)
            if rows.full:
                yield rows.block()
        yield rows.block()
        count += sum(1 for _ in lines)
        if wanted is not None and count != wanted:
            raise FileError(
                f"{stream.name} says in its header that it has {wanted:,} rows, but {count:,} follow; "
                "fetch it again, or correct the header"
            )


def _has_numbers(word: bytes) -> bool:
    """Tell whether what should be a word with spaces is one field and numbers, as in a line with too many of them.

    So ". . ." and "catch 22 again" are words, and "of 0.1" is none.
    """
    return (b" " in word or b"\t" in word) and _count_numbers(word) > 0


def _refuse(rows: FieldRows, number: int, line: bytes, wanted: str, dimensions: int) -> None:
    fields = line.split()
    if line[:1] in (b" ", b"\t") and len(fields) == dimensions:
        rows.refuse(number, "has an empty word", reason="empty word")
        return
    rows.refuse(number, f"has {len(fields) - 1} numbers after the word {shown(fields[0])}, but {wanted}")

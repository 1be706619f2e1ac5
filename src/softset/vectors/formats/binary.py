"""Binary word2vec files: a header "n d", then n times a word, a space and d little-endian float32 numbers."""

from collections.abc import Iterator
from itertools import islice

import numpy as np

from softset.errors import FileError
from softset.io.compressed import CHUNK_BYTES, FileStream
from softset.vectors.formats.checks import MAX_WORD_BYTES, Block, RowChecker, VectorStream, quoted, rows_per_block
from softset.vectors.formats.text import parse_header


def read_binary(stream: FileStream, *, skip_bad: bool) -> VectorStream:
    """Read the rows of a binary file; there may be a line feed before each word, as the original program writes."""
    line, line_feed, _ = stream.peek(64)[:64].partition(b"\n")
    header = parse_header(line) if line_feed else None
    if not header:
        raise FileError(
            f"{stream.name} begins with {quoted(line)}, but a binary word2vec file begins with a line of two numbers: "
            "rows and dimensions"
        )
    stream.read(len(line) + 1)
    rows, dimensions = header
    checker = RowChecker(stream.name, skip_bad=skip_bad)
    return checker.stream("word2vec-binary", dimensions, rows, _blocks(stream, rows, dimensions, checker))


def _blocks(stream: FileStream, count: int, dimensions: int, checker: RowChecker) -> Iterator[Block]:
    size = rows_per_block(dimensions)
    with stream:
        rows = _rows(stream, count, dimensions)
        for first in range(1, count + 1, size):
            words, numbers = zip(*islice(rows, size), strict=True)
            vectors = np.frombuffer(b"".join(numbers), dtype="<f4").reshape(-1, dimensions)
            yield checker.check(range(first, first + len(words)), words, vectors)
        next(rows, None)  # checks the end of the file


def _rows(stream: FileStream, count: int, dimensions: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield each word and the bytes of its numbers, then check that the file ends."""
    data, start, size = b"", 0, 4 * dimensions
    for row in range(1, count + 1):
        while (space := data.find(b" ", start)) < 0 or space + 1 + size > len(data):
            if space < 0 and len(data) - start > MAX_WORD_BYTES + 1:
                raise FileError(
                    f"{stream.name} has no space in {len(data) - start:,} bytes of row {row:,}, but a word has at most "
                    f"{MAX_WORD_BYTES:,} bytes; is this a binary word2vec file?"
                )
            chunk = stream.read(CHUNK_BYTES)
            if not chunk:
                raise FileError(f"{stream.name} ends inside row {row:,} of {count:,}: download it again")
            data, start = data[start:] + chunk, 0
        yield data[start:space].removeprefix(b"\n"), data[space + 1 : space + 1 + size]
        start = space + 1 + size
    if (data[start:] or stream.read(1)) not in (b"", b"\n") or stream.read(1):
        raise FileError(
            f"the header of {stream.name} says {count:,} rows of {dimensions:,} numbers, but more bytes follow; "
            "download the file again, or correct the header"
        )

"""word2vec's binary files: a line "n d", then n times a word, a space and d little-endian float32."""

from collections.abc import Iterator

import numpy as np

from softset.errors import FileError
from softset.vectors.formats.source import MAX_WORD_BYTES, Block, RowCheck, Source, block_rows, shown, streamed
from softset.vectors.formats.stream import CHUNK_BYTES, Stream
from softset.vectors.formats.text import parse_header

__all__ = ["read_binary"]

MAX_HEADER_BYTES = 64


def read_binary(stream: Stream, *, skip_bad: bool) -> Source:
    """Read the rows of a binary file; each may have a newline before its word, as the first program wrote them."""
    line, newline, _ = stream.peek(MAX_HEADER_BYTES).partition(b"\n")
    promised = parse_header(stream.name, line) if newline else None
    if not promised:
        raise FileError(
            f"{stream.name} begins with {shown(line)}, but a binary word2vec file begins with a line of two numbers, "
            "its rows and its dimensions"
        )
    stream.read(len(line) + 1)
    check = RowCheck(stream.name, skip_bad=skip_bad)
    return streamed("word2vec-binary", promised[1], promised[0], _blocks(stream, *promised, check), check)


def _blocks(stream: Stream, count: int, dimensions: int, check: RowCheck) -> Iterator[Block]:
    size = block_rows(dimensions)
    with stream:
        rows = _rows(stream, count, dimensions)
        for first in range(1, count + 1, size):
            places = range(first, min(first + size, count + 1))
            words, vectors = zip(*(next(rows) for _ in places), strict=True)
            block = np.frombuffer(b"".join(vectors), dtype="<f4").reshape(-1, dimensions)
            yield check.passed(places, words, block)
        next(rows, None)


def _rows(stream: Stream, count: int, dimensions: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield each word and the bytes of its numbers, and see that nothing comes after the last."""
    data, at = b"", 0
    for row in range(1, count + 1):
        while (space := data.find(b" ", at)) < 0 or space + 1 + 4 * dimensions > len(data):
            _check_word(stream, row, space - at if space >= 0 else len(data) - at)
            more = stream.read(CHUNK_BYTES)
            if not more:
                raise FileError(
                    f"{stream.name} ends at byte {stream.position:,} inside row {row:,} of the {count:,} that its "
                    "header promises; fetch it again"
                )
            data, at = data[at:] + more, 0
        _check_word(stream, row, space - at)
        end = space + 1 + 4 * dimensions
        yield data[at:space].removeprefix(b"\n"), data[space + 1 : end]
        at = end
    if (data[at:] or stream.read(1)) not in (b"", b"\n") or stream.read(1):
        raise FileError(
            f"{stream.name} says in its header that it has {count:,} rows of {dimensions:,} numbers, but more bytes "
            "follow; fetch it again, or correct the header"
        )


def _check_word(stream: Stream, row: int, size: int) -> None:
    if size > MAX_WORD_BYTES + 1:
        raise FileError(
            f"{stream.name} has no space in {size:,} bytes of row {row:,}, but a word has at most {MAX_WORD_BYTES:,}; "
            "is this a binary word2vec file?"
        )

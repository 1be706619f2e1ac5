"""The members of a tar archive, read forward in bounded memory.

The standard library reads a member's extended header into memory whole, however long it says it is. Here nothing but
the 512-byte headers is ever held; extended names, which only an error message would show, are passed over.
"""

from collections.abc import Iterator
from typing import NamedTuple

from softset.errors import FileError
from softset.vectors.formats.stream import CHUNK_BYTES, Stream

__all__ = ["Member", "Part", "is_tar", "members"]

BLOCK_BYTES = 512
REGULAR_TYPES = (b"0", b"\0")


class Member(NamedTuple):
    """One member: its name, its size in bytes, and whether it is a plain file."""

    name: str
    size: int
    regular: bool


class Part:
    """The next `size` bytes of a stream, as a file of their own."""

    def __init__(self, stream: Stream, size: int) -> None:
        self._stream = stream
        self._left = size

    def read(self, size: int, /) -> bytes:
        """Return up to `size` bytes, and none only at the end of the part."""
        if not self._left:
            return b""
        data = self._stream.read(min(size, self._left))
        if not data:
            raise EOFError(f"{self._left:,} bytes are missing at the end")
        self._left -= len(data)
        return data


def is_tar(stream: Stream) -> bool:
    """Tell whether a stream begins with the header of a tar member."""
    return stream.peek(BLOCK_BYTES)[257:262] == b"ustar"


def members(stream: Stream) -> Iterator[Member]:
    """Yield the members in turn; while one is at hand, the stream stands at its first byte."""
    while (header := stream.peek(BLOCK_BYTES)).strip(b"\0"):
        member = _member(stream.name, header)
        stream.read(BLOCK_BYTES)
        end = stream.position + member.size + -member.size % BLOCK_BYTES
        yield member
        while stream.position < end:
            if not stream.read(min(CHUNK_BYTES, end - stream.position)):
                raise FileError(f"{stream.name} ends inside one of its files; fetch it again")
    while stream.read(CHUNK_BYTES):  # the checksum of a .tgz comes after the last byte
        pass


def _member(name: str, header: bytes) -> Member:
    """Read one header, which carries the sum of its own bytes with eight blanks in the place of the sum."""
    try:
        expected = _number(header[148:156])
        size = _number(header[124:136])
    except ValueError:
        expected, size = -1, -1
    if len(header) < BLOCK_BYTES or size < 0 or sum(header) - sum(header[148:156]) + 8 * ord(" ") != expected:
        raise FileError(f"{name} is a broken tar archive; fetch it again")
    title = header[:100].rstrip(b"\0").decode(errors="replace")
    return Member(title, size, header[156:157] in REGULAR_TYPES)


def _number(field: bytes) -> int:
    """Return an octal number, or a binary one that announces itself by its first bit."""
    if field[:1] >= b"\x80":
        return int.from_bytes(field[1:], "big")
    return int(field.strip(b" \0") or b"0", 8)

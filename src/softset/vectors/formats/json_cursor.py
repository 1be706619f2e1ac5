"""A place in a JSON text that moves forward, with no more of the text in memory than one chunk and one value."""

import re

from softset.errors import FileError
from softset.vectors.formats.source import MAX_LINE_BYTES, shown
from softset.vectors.formats.stream import CHUNK_BYTES, Stream

__all__ = ["JsonCursor"]

STRING = rb'"((?:[^"\\]|\\.)*+)"'
KEY = re.compile(rb"\s*" + STRING + rb"\s*:", re.DOTALL)
ENTRY = re.compile(rb"\s*" + STRING + rb'\s*:\s*\[([^\[\]{}"]*+)\]\s*([,}])', re.DOTALL)
TOKEN = re.compile(rb"\s*(" + STRING + rb'|[\[\]{},:]|[^\s"\[\]{},:]++)', re.DOTALL)
BLANK = re.compile(rb"\s*")


class JsonCursor:
    """Takes values and marks off the front of a stream."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._data = b""
        self._at = 0
        self._ended = False

    def expect(self, marks: bytes) -> bytes:
        """Take one mark that is among the wanted ones."""
        found = self._take(TOKEN, f"one of {shown(marks)}")[1]
        if len(found) != 1 or found not in marks:
            raise self._broken(f"one of {shown(marks)}")
        return found

    def key(self) -> bytes:
        """Take a name and its colon, and return what stands between the quotes."""
        return self._take(KEY, "a name in quotes")[1]

    def value(self) -> tuple[bytes, int]:
        """Take a whole value, and return its first token and the number of its elements if it is a list."""
        first = token = self._take(TOKEN, "a value")[1]
        if token in b",:]}":
            raise self._broken("a value")
        depth = elements = 0
        while True:
            if token in (b"[", b"{"):
                depth += 1
            elif token in (b"]", b"}"):
                depth -= 1
            elif depth == 1 and token not in (b",", b":"):
                elements += 1
            if not depth:
                return first, elements
            token = self._take(TOKEN, "the end of a list")[1]

    def entry(self) -> tuple[bytes, bytes, bytes]:
        """Take a name with its list of numbers, and return name, numbers and the comma or brace after them."""
        name, numbers, mark = self._take(ENTRY, "a word with its list of numbers").groups()
        return name, numbers, mark

    def peek_entry(self) -> bytes:
        """Return the numbers of the next entry, and leave it to be taken."""
        match = self._take(ENTRY, "a word with its list of numbers")
        self._at = match.start()
        return bytes(match[2])

    def expect_end(self) -> None:
        """See that nothing but blanks is left."""
        while not self._ended:
            self._at = self._found(BLANK).end()
            self._fill()
        if self._found(BLANK).end() < len(self._data):
            raise self._broken("the end of the file")

    def _take(self, pattern: re.Pattern[bytes], wanted: str) -> re.Match[bytes]:
        """Move behind the pattern; a match that touches the end of the data could be longer with more of it."""
        while True:
            match = pattern.match(self._data, self._at)
            if match and (self._ended or match.end() < len(self._data)):
                self._at = match.end()
                return match
            if self._ended or len(self._data) - self._at > MAX_LINE_BYTES:
                raise self._broken(wanted)
            self._fill()

    def _found(self, pattern: re.Pattern[bytes]) -> re.Match[bytes]:
        match = pattern.match(self._data, self._at)
        if match is None:
            raise self._broken("JSON")
        return match

    def _fill(self) -> None:
        more = self._stream.read(CHUNK_BYTES)
        self._ended = not more
        self._data, self._at = self._data[self._at :] + more, 0

    def _broken(self, wanted: str) -> FileError:
        at = self._stream.position - len(self._data) + self._at
        how = "ends" if self._ended and not self._data[self._at :].strip() else "is broken"
        return FileError(f"{self._stream.name} {how} at byte {at:,}, where {wanted} was wanted; fetch it again")

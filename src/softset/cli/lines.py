"""Files with one text a line, kept line for line: an empty line is an empty text."""

import sys
from pathlib import Path

from softset.errors import FileError

__all__ = ["read_lines"]


def read_lines(path: str) -> list[str]:
    """Return the lines of a UTF-8 file, or of standard input for "-"; only a line feed ends a line.

    Other separators of Unicode may be inside a text, and would shift all texts after them.
    """
    content = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    name = "standard input" if path == "-" else path
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise FileError(
            f"{name} is not UTF-8 in line {line} ({error.reason}): convert it, for example with iconv"
        ) from None
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]

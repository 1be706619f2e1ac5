"""Errors of the libraries that read and run models."""

from collections.abc import Iterator
from contextlib import contextmanager

from softset.errors import FileError, SoftsetError
from softset.io.text import first_line

MAX_CHARACTERS = 300


@contextmanager
def translate_errors(problem: str, advice: str) -> Iterator[None]:
    """Turn any error of a library into a FileError of one sentence; the libraries have no common error class."""
    try:
        yield
    except (SoftsetError, MemoryError):
        raise
    except Exception as error:
        raise FileError(f"{problem} ({first_line(error)[:MAX_CHARACTERS]}): {advice}") from error

"""The exceptions that softset raises.

    SoftsetError
    ├── InputError            (also a ValueError)  an argument cannot be used
    │   ├── ShapeError            wrong number of axes, ragged rows, sizes that do not match
    │   ├── NotFiniteError        NaN or infinity, with its row and column
    │   ├── AmbientError          vectors or sets of different dimension
    │   ├── LibraryError          arrays of two libraries, or of an unsupported one
    │   ├── UnknownWordError      a word without a vector, with similar words
    │   └── QueryError            a syntax error in a query, with its position
    ├── FileError             (also a ValueError)  a file is damaged or of the wrong kind
    └── MissingExtraError     (also an ImportError)  an optional package is not installed

A message is one sentence: what was given, what was expected, what to do.
"""

import unicodedata

__all__ = [
    "AmbientError",
    "FileError",
    "InputError",
    "LibraryError",
    "MissingExtraError",
    "NotFiniteError",
    "QueryError",
    "ShapeError",
    "SoftsetError",
    "UnknownWordError",
]


class SoftsetError(Exception):
    """The base class: `except SoftsetError` catches every deliberate error of softset, and nothing else.

    >>> import softset
    >>> try:
    ...     softset.Subspace.empty(0)
    ... except softset.SoftsetError as error:
    ...     print(error)
    a space needs at least 1 dimension, but 0 was given
    """


class InputError(SoftsetError, ValueError):
    """An argument that cannot be used."""


class ShapeError(InputError):
    """An array with the wrong number of axes, ragged rows, or sizes that do not match."""


class NotFiniteError(InputError):
    """NaN or infinity where a finite number was expected."""


class AmbientError(InputError):
    """Vectors or sets of different dimension."""


class LibraryError(InputError):
    """Arrays of two libraries in one call, or of an unsupported library."""


class UnknownWordError(InputError, KeyError):
    """A word without a vector."""

    __str__ = Exception.__str__  # KeyError would show the message in quotes


class QueryError(InputError):
    """A syntax error in a query; `position` is its character index."""

    def __init__(self, sentence: str, query: str, position: int) -> None:
        super().__init__(sentence, query, position)  # these arguments make a copy when the error is unpickled
        self.sentence, self.query, self.position = sentence, query, position

    def __str__(self) -> str:
        """Return the sentence, the query, and a caret under the position."""
        start = max(self.position - 60, 0)
        shown = self.query[start : self.position + 60].replace("\n", " ").replace("\t", " ")
        before = self.query[start : self.position]
        width = sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in before)
        return f"{self.sentence}\n  {shown}\n  {' ' * width}^"


class FileError(SoftsetError, ValueError):
    """A file that is damaged or of the wrong kind."""


class MissingExtraError(SoftsetError, ImportError):
    """An optional package that is not installed; the message names the command that installs it."""

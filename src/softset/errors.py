"""Every error softset raises on purpose.

    SoftsetError
    ├── InputError            (also a ValueError)  the values given cannot be used
    │   ├── ShapeError            wrong number of axes, ragged rows, sizes that do not fit
    │   ├── NotFiniteError        NaN or infinity, with its place
    │   ├── AmbientError          vectors or sets of different dimension
    │   ├── LibraryError          arrays of two libraries, or of none that is known
    │   ├── UnknownWordError      a word that has no vector, with words spelled like it
    │   └── QueryError            a query that cannot be read, with the place
    ├── FileError             (also a ValueError)  a file is not what it should be
    └── MissingExtraError     (also an ImportError)  an optional package is not installed

A message is one sentence: what was given, what was wanted, what to do.
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
    """The root: catching it catches every deliberate error of softset, and nothing else.

    >>> import softset
    >>> try:
    ...     softset.Subspace.empty(0)
    ... except softset.SoftsetError as error:
    ...     print(error)
    a space needs at least 1 dimension, but 0 was given
    """


class InputError(SoftsetError, ValueError):
    """A value that cannot be used."""


class ShapeError(InputError):
    """An array with the wrong number of axes, ragged rows, or sizes that do not fit together."""


class NotFiniteError(InputError):
    """NaN or infinity where a number was wanted."""


class AmbientError(InputError):
    """Vectors or sets that live in spaces of different dimension."""


class LibraryError(InputError):
    """Arrays of two libraries in one call, or of a library that is not known."""


class UnknownWordError(InputError, KeyError):
    """A word that has no vector."""

    __str__ = Exception.__str__  # a KeyError would show the sentence in quotes


class QueryError(InputError):
    """A query that cannot be read; `position` is where, counted in characters from 0."""

    def __init__(self, sentence: str, query: str, position: int) -> None:
        """Keep the sentence, and show the query with a caret under the place."""
        self.sentence, self.query, self.position = sentence, query, position
        start = max(position - 60, 0)
        shown = query[start : position + 60].replace("\n", " ").replace("\t", " ")
        before = sum(2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in query[start:position])
        super().__init__(f"{sentence}\n  {shown}\n  {' ' * before}^")


class FileError(SoftsetError, ValueError):
    """A file that is not what it should be."""


class MissingExtraError(SoftsetError, ImportError):
    """An optional package that is not installed; the message names the command that installs it."""

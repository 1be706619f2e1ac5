"""An encoder that calls any function from texts to vectors."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from softset.encoders.base import TEXTS_PER_BLOCK, Progress, TextEncoder
from softset.encoders.signature import format_signature
from softset.encoders.tokensets import TokenSets
from softset.errors import AmbientError, InputError, NotFiniteError, ShapeError
from softset.io.text import counted
from softset.runtime.progress import iter_blocks

TEXTS_PER_REPORT = 32  # a large model on a CPU takes about a second for 32 sentences
PROBE = "a red book"  # encoded to find the dimension; few functions return no vector for it


class FunctionEncoder(TextEncoder):
    """An encoder that calls a function: a list of texts in, the vectors of each text out.

    The function returns one (n_i, d) array per text, or one vector (d,) per text, which becomes a set of one token; an
    (n, d) array of sentence vectors is accepted. It may also return TokenSets with tokens and spans. It receives each
    distinct text of a call once, at most 1,024 texts at a time (32 if the call reports its progress). Its vectors must
    not depend on the batch.

    Without a `name` the signature contains only the name of the function, which does not identify the vectors:
    `stable` is False, and the vectors cannot be cached. Without `dimensions` the first result determines it; reading
    `dimensions` before that encodes "a red book" once.

    >>> def lengths_of_words(texts):
    ...     return [[[len(word), 1] for word in text.split()] for text in texts]
    >>> lengths = FunctionEncoder(lengths_of_words, name="lengths")
    >>> lengths.signature, lengths.dimensions
    ('encoder:function(lengths)', 2)
    >>> [rows.tolist() for rows in lengths.encode(["a red book", ""])]
    [[[1.0, 1.0], [3.0, 1.0], [4.0, 1.0]], []]
    >>> FunctionEncoder(lambda texts: np.ones((len(texts), 5)), name="ones").encode(["a red book", "a pen"])
    TokenSets(2 texts, 2 tokens, 5 dimensions)
    """

    def __init__(
        self, function: Callable[[list[str]], Any], *, name: str | None = None, dimensions: int | None = None
    ) -> None:
        if not callable(function):
            raise InputError(f"a function from texts to vectors was expected, but {type(function).__name__} was given")
        if name is not None and not (isinstance(name, str) and name):
            raise InputError(f"name is {name!r}, but a str that is not empty was expected")
        if dimensions is not None and (not isinstance(dimensions, int) or dimensions < 1):
            raise InputError(f"dimensions is {dimensions!r}, but a whole number of at least 1 was expected")
        self._function, self._dimensions = function, dimensions
        self.name = name or getattr(function, "__qualname__", None) or type(function).__qualname__
        self.stable = name is not None

    @property
    def signature(self) -> str:
        """The name."""
        return format_signature({"encoder": f"function({self.name})"})

    @property
    def dimensions(self) -> int:
        """The dimension d of the vectors."""
        if self._dimensions is None:
            self._call([PROBE])
        assert self._dimensions is not None  # noqa: S101 (for the type checker: a call sets it or raises)
        return self._dimensions

    def _encode(self, texts: Sequence[str], progress: Progress | None) -> TokenSets:
        if not texts:
            return TokenSets.from_arrays([], dimensions=self.dimensions, signature=self.signature)
        size = TEXTS_PER_BLOCK if progress is None else TEXTS_PER_REPORT
        blocks = iter_blocks(len(texts), size, progress)
        return TokenSets.concatenate(self._call(texts[start:stop]) for start, stop, _ in blocks)

    def _call(self, texts: Sequence[str]) -> TokenSets:
        """Call the function once and check its result."""
        result = self._function(list(texts))
        sets = result if isinstance(result, TokenSets) else self._token_sets(result, texts)
        self._check(sets, texts)
        self._dimensions = sets.dimensions
        special = None if sets.special is None else replace(sets.special, signature=self.signature)
        return replace(sets, signature=self.signature, special=special)

    def _token_sets(self, result: Any, texts: Sequence[str]) -> TokenSets:
        """Return the token sets of arrays that the function returned."""
        scalar = not hasattr(result, "__iter__") or getattr(result, "ndim", 1) == 0
        if scalar or isinstance(result, str | bytes | Mapping):
            raise InputError(
                f"the function returned {type(result).__name__}, but a list with one (tokens, dimensions) array per "
                "text was expected"
            )
        arrays = [_as_rows(array) for array in result]
        shapes = (array.shape for array in arrays if isinstance(array, np.ndarray))
        d = self._dimensions or next((shape[1] for shape in shapes if len(shape) == 2 and shape[1]), None)
        if d is None and list(texts) == [PROBE]:
            raise ShapeError(f"the function returned no vector for {PROBE!r}: give dimensions=...")
        d = self.dimensions if d is None else d
        try:
            return TokenSets.from_arrays(arrays, dimensions=d)
        except InputError as error:
            raise type(error)(f"the result of the function cannot be used: {error}") from None

    def _check(self, sets: TokenSets, texts: Sequence[str]) -> None:
        if len(sets) != len(texts):
            returned, expected = counted(len(sets), "set"), counted(len(texts), "text")
            raise ShapeError(f"the function returned {returned} for {expected}: one for each was expected")
        if self._dimensions not in (None, sets.dimensions):
            returned = counted(sets.dimensions, "dimension")
            raise AmbientError(f"the function returned vectors of {returned}, but {self._dimensions} were expected")
        if not np.isfinite(sets.vectors).all():
            raise NotFiniteError("the function returned a number that is not finite")


def _as_rows(array: Any) -> Any:
    """Return an array of rows if possible; a single vector becomes one row."""
    if hasattr(array, "detach"):  # a torch tensor, perhaps with a gradient or of a type that NumPy does not have
        array = array.detach().cpu()
        array = array.float() if str(array.dtype) == "torch.bfloat16" else array
    with suppress(ValueError, TypeError):  # TokenSets.from_arrays explains these
        array = np.asarray(array)
    return array[None] if isinstance(array, np.ndarray) and array.ndim == 1 and array.size else array

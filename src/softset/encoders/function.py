"""Any function from texts to vectors as an encoder."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from softset.encoders.base import TEXTS_PER_BLOCK, Progress, TextEncoder
from softset.encoders.gathering import gathered
from softset.encoders.signature import format_signature
from softset.encoders.texts import excerpt
from softset.encoders.tokensets import TokenSets
from softset.errors import AmbientError, InputError, NotFiniteError, ShapeError
from softset.io.text import counted

__all__ = ["FunctionEncoder"]

PROBE = "a red book"  # what is encoded to learn the dimension: few functions find nothing in it


class FunctionEncoder(TextEncoder):
    """A function that takes a list of texts and returns the vectors of each, as an encoder.

    What it returns is one (n_i, d) array a text, or one vector (d,) a text, which stands for a set of one: an (n, d)
    array of sentence vectors will do. It may also return a TokenSets, whose tokens and spans are kept. The function is
    given each distinct text of a call once, at most 1,024 at a time; that its vectors do not depend on the batch is its
    own promise.

    Without a `name` the signature is only the function's own name, which says little: `stable` is False then, and
    nothing is kept in a cache. Without `dimensions` they are those of the first result; asking for them before encodes
    "a red book" once.

    >>> def lengths_of_words(texts):
    ...     return [[[len(word), 1] for word in text.split()] for text in texts]
    >>> lengths = FunctionEncoder(lengths_of_words, name="lengths")
    >>> lengths.signature, lengths.dimensions
    ('encoder:function(lengths)', 2)
    >>> [one.tolist() for one in lengths.encode(["a red book", ""])]
    [[[1.0, 1.0], [3.0, 1.0], [4.0, 1.0]], []]
    >>> FunctionEncoder(lambda texts: np.ones((len(texts), 5)), name="one").encode(["a red book", "a pen"])
    TokenSets(2 texts, 2 tokens, 5 dimensions)
    """

    def __init__(
        self, function: Callable[[list[str]], Any], *, name: str | None = None, dimensions: int | None = None
    ) -> None:
        if not callable(function):
            raise InputError(f"a function from texts to vectors was wanted, but {type(function).__name__} was given")
        if name is not None and not (isinstance(name, str) and name):
            raise InputError(f"the name of a function's vectors is {name!r}, but a str with something in it was wanted")
        if dimensions is not None and (not isinstance(dimensions, int) or dimensions < 1):
            raise InputError(f"dimensions is {dimensions!r}, but a whole number of at least 1 was wanted")
        self._function, self._dimensions = function, dimensions
        self.name = name or getattr(function, "__qualname__", None) or type(function).__qualname__
        self.stable = name is not None

    @property
    def signature(self) -> str:
        """The name."""
        return format_signature({"encoder": f"function({self.name})"})

    @property
    def dimensions(self) -> int:
        """The length d of the vectors."""
        if self._dimensions is None:
            self._block([PROBE])
        assert self._dimensions is not None  # noqa: S101 (for the type checker: a block finds it, or raises)
        return self._dimensions

    def _encode(self, texts: Sequence[str], progress: Progress | None) -> TokenSets:
        if not texts:
            return TokenSets.from_arrays([], dimensions=self.dimensions, signature=self.signature)
        return gathered(self._blocks(texts, progress))

    def _blocks(self, texts: Sequence[str], progress: Progress | None) -> Iterator[TokenSets]:
        for start in range(0, len(texts), TEXTS_PER_BLOCK):
            yield self._block(texts[start : start + TEXTS_PER_BLOCK])
            if progress is not None:
                progress(min(start + TEXTS_PER_BLOCK, len(texts)), len(texts))

    def _block(self, texts: Sequence[str]) -> TokenSets:
        """Call the function once, and check what it returns."""
        given = self._function(list(texts))
        if not isinstance(given, TokenSets):
            arrays = _arrays(given, texts)
            d = self._dimensions or _width(arrays) or self._probed(texts)
            made = [_one(array, text, d) for array, text in zip(arrays, texts, strict=True)]
            given = TokenSets.concatenate(made)
        self._check(given, texts)
        self._dimensions = given.dimensions
        special = None if given.special is None else replace(given.special, signature=self.signature)
        return replace(given, signature=self.signature, special=special)

    def _probed(self, texts: Sequence[str]) -> int:
        if list(texts) == [PROBE]:
            raise ShapeError(
                f"the function found no vector in {PROBE!r}, so its dimension is not known: give dimensions=..."
            )
        return self.dimensions

    def _check(self, sets: TokenSets, texts: Sequence[str]) -> None:
        """Check what the making of sets out of arrays does not: a TokenSets may have been made by hand."""
        if len(sets) != len(texts):
            raise ShapeError(_wrong_number(len(sets), len(texts)))
        if self._dimensions not in (None, sets.dimensions):
            found = counted(sets.dimensions, "dimension")
            raise AmbientError(f"the function gave vectors of {found}, but {self._dimensions} were wanted")
        if not np.isfinite(sets.vectors).all():
            row = int(np.argwhere(~np.isfinite(sets.vectors))[0, 0])
            text = texts[int(np.searchsorted(sets.offsets, row, side="right")) - 1]
            raise NotFiniteError(f"what the function gave for {excerpt(text)} has a number that is not finite")


def _arrays(given: Any, texts: Sequence[str]) -> list[Any]:
    """Return what stands for each text, as an array where it can be one."""
    if isinstance(given, str | bytes | Mapping) or not hasattr(given, "__iter__") or getattr(given, "ndim", 1) == 0:
        raise InputError(
            f"the function returned {type(given).__name__}, but a list with one (tokens, dimensions) array a text was "
            "wanted"
        )
    arrays = [_array(one) for one in given]
    if len(arrays) != len(texts):
        raise ShapeError(_wrong_number(len(arrays), len(texts)))
    return arrays


def _array(given: Any) -> Any:
    if hasattr(given, "detach"):  # a torch tensor, which may have a gradient, or a type that NumPy does not know
        given = given.detach().cpu()
        given = given.float() if str(given.dtype) == "torch.bfloat16" else given
    with suppress(ValueError, TypeError):  # said in full where the set is made
        given = np.asarray(given)
    return given[None] if isinstance(given, np.ndarray) and given.ndim == 1 and given.size else given


def _width(arrays: Sequence[Any]) -> int | None:
    shapes = (one.shape for one in arrays if isinstance(one, np.ndarray))
    return next((shape[1] for shape in shapes if len(shape) == 2 and shape[1]), None)


def _one(array: Any, text: str, dimensions: int) -> TokenSets:
    try:
        return TokenSets.from_arrays([array], dimensions=dimensions)
    except InputError as error:
        # Its number is one among the distinct texts of a block, which nobody but us has counted.
        reason = str(error).replace(" of text 0", "")
        raise type(error)(f"what the function gave for {excerpt(text)} cannot be used: {reason}") from None


def _wrong_number(sets: int, texts: int) -> str:
    return f"the function returned {counted(sets, 'set')} for {counted(texts, 'text')}: one for each was wanted"

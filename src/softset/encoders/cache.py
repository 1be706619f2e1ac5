"""Encoded texts kept on disk, so that a text is encoded once for all runs and all processes that share a folder."""

import os
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np

from softset.encoders.base import TEXTS_PER_BLOCK, Encoder, Progress, TextEncoder
from softset.encoders.cache_file import Rows
from softset.encoders.gathering import gathered
from softset.encoders.texts import check_texts, distinct_indices
from softset.encoders.tokensets import TokenSets
from softset.encoders.tokensets_file import arrays_of, sets_of
from softset.errors import InputError
from softset.io.text import counted

__all__ = ["CachedEncoder"]

LIMIT = 4 * 1024**3


class CachedEncoder(TextEncoder):
    """An encoder that looks in a folder first, and keeps there what it had to encode.

    The vectors are those of the encoder it wraps, bit for bit. Several processes may share the folder. The texts used
    least recently go when all that is kept takes more than `limit` bytes; `repaired` counts what was found damaged
    and encoded anew.

    >>> import tempfile
    >>> class Letters(TextEncoder):
    ...     signature, dimensions = "letters", 1
    ...     def _encode(self, texts, progress):
    ...         print("encoding", texts)
    ...         return TokenSets.from_arrays([[[ord(one)] for one in text] for text in texts], dimensions=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     encoder = CachedEncoder(Letters(), folder)
    ...     first, second = encoder.encode(["red", "blue"]), encoder.encode(["green", "red"])
    encoding ['red', 'blue']
    encoding ['green']
    >>> second[1].tolist()
    [[114.0], [101.0], [100.0]]
    """

    def __init__(self, encoder: Encoder, folder: str | os.PathLike[str], *, limit: int = LIMIT) -> None:
        if isinstance(limit, bool) or not isinstance(limit, int):
            raise InputError(f"the limit of a cache is {limit!r}, but a whole number of bytes was wanted")
        if limit < 1:
            raise InputError(f"a cache of {limit} bytes holds nothing: give a limit of at least 1")
        if not getattr(encoder, "stable", True):
            raise InputError(
                f"the signature {encoder.signature!r} does not outlast this run, so what is kept would not be found "
                "again: give it a name if it is a function, or save it first if it is word vectors"
            )
        self._encoder, self._rows = encoder, Rows(Path(folder).absolute(), limit)

    @property
    def encoder(self) -> Encoder:
        """The encoder that is wrapped."""
        return self._encoder

    @property
    def signature(self) -> str:
        """What decides the vectors: all of it is in the encoder that is wrapped."""
        return self._encoder.signature

    @property
    def dimensions(self) -> int:
        """The length d of the vectors."""
        return self._encoder.dimensions

    @property
    def second_moment(self) -> np.ndarray | None:
        """The second moment of the encoder that is wrapped, where it knows one."""
        moment: np.ndarray | None = getattr(self._encoder, "second_moment", None)
        return moment

    @property
    def repaired(self) -> int:
        """How many texts were found damaged in the folder."""
        return self._rows.repaired

    def _encode(self, texts: Sequence[str], progress: Progress | None) -> TokenSets:
        def make(some: list[str], onward: Progress | None) -> TokenSets:
            return self._encoder.encode(some, progress=onward)

        return self._cached("sets", texts, make, progress) if texts else make([], progress)

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> np.ndarray:
        """Return one pooled vector a text, (n, d), as the wrapped encoder pools; kept apart from the token sets."""

        def make(some: list[str], onward: Progress | None) -> TokenSets:
            pooled, nothing = self._encoder.embed(some, progress=onward), np.zeros(len(some), dtype=np.int64)
            return TokenSets(pooled, np.arange(len(some) + 1), None, None, None, nothing, nothing)

        given = check_texts(texts)
        place = distinct_indices(given)
        sets = self._cached("pooled", list(place), make, progress) if given else make([], progress)
        return sets.vectors if len(place) == len(given) else sets.vectors[[place[text] for text in given]]

    def _cached(
        self,
        kind: str,
        texts: Sequence[str],
        make: Callable[[list[str], Progress | None], TokenSets],
        progress: Progress | None,
    ) -> TokenSets:
        """Return what is kept of distinct texts; what is missing is made and kept, block by block."""
        signature, total = self.signature, len(texts)
        keys = [_key(signature, kind, text) for text in texts]
        found = self._rows.read(keys)
        if progress is not None and found:
            progress(len(found), total)
        missing = [at for at, key in enumerate(keys) if key not in found]
        for start in range(0, len(missing), TEXTS_PER_BLOCK):
            some = missing[start : start + TEXTS_PER_BLOCK]
            block = make([texts[at] for at in some], _onward(progress, len(found), total))
            _check(block, len(some), signature)
            new = {keys[at]: block[place : place + 1] for place, at in enumerate(some)}
            self._rows.write(new)
            found |= new
            if progress is not None:
                progress(len(found), total)
        return gathered(_taken(found, keys))


def _taken(found: dict[bytes, TokenSets], keys: Sequence[bytes]) -> Iterator[TokenSets]:
    """Yield what was found in the order of the keys, block by block, and let go of it."""
    for start in range(0, len(keys), TEXTS_PER_BLOCK):
        yield TokenSets.concatenate([found.pop(key) for key in keys[start : start + TEXTS_PER_BLOCK]])


def _key(signature: str, kind: str, text: str) -> bytes:
    """Return the key of a text; with their lengths before them, no other three make the same message."""
    message = sha256()
    for part in (signature, kind, text):
        spelled = part.encode()
        message.update(len(spelled).to_bytes(8, "little") + spelled)
    return message.digest()


def _onward(progress: Progress | None, before: int, total: int) -> Progress | None:
    """Return what a block tells its progress, where some texts were done before it."""
    return None if progress is None else lambda done, _: progress(before + done, total)


def _check(block: TokenSets, wanted: int, signature: str) -> None:
    """Refuse what could not be read back: an encoder of your own may return other types than token sets have."""
    try:
        given = len(sets_of(arrays_of(block), signature))
    except ValueError as error:
        raise InputError(f"what the encoder {signature!r} returns cannot be kept: {error}") from error
    if given != wanted:
        raise InputError(f"the encoder {signature!r} returned {counted(given, 'text')}, but {wanted} were wanted")

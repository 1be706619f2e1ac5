"""A disk cache of encoded texts that several runs and processes can share."""

import os
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np

from softset.encoders.base import TEXTS_PER_BLOCK, Encoder, Progress, TextEncoder, concatenate_blocks
from softset.encoders.cache_file import CacheFile
from softset.encoders.texts import check_texts, distinct_indices
from softset.encoders.tokensets import TokenSets
from softset.encoders.tokensets_file import arrays_from_sets, sets_from_arrays
from softset.errors import InputError
from softset.io.text import counted

__all__ = ["DEFAULT_CACHE_LIMIT", "CachedEncoder"]

DEFAULT_CACHE_LIMIT = 4 << 30  # bytes

EncodeBlock = Callable[[list[str], Progress | None], TokenSets]


class CachedEncoder(TextEncoder):
    """An encoder that stores token sets in a folder and reads them from there.

    The vectors are those of the wrapped encoder, bit for bit. Several processes may share the folder. If the cache
    exceeds `limit` bytes, the least recently used texts are deleted. `repaired` counts the damaged entries that were
    encoded again.

    >>> import tempfile
    >>> class Letters(TextEncoder):
    ...     signature, dimensions = "letters", 1
    ...     def _encode(self, texts, progress):
    ...         print("encoding", texts)
    ...         return TokenSets.from_arrays([[[ord(letter)] for letter in text] for text in texts], dimensions=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     encoder = CachedEncoder(Letters(), folder)
    ...     first, second = encoder.encode(["red", "blue"]), encoder.encode(["green", "red"])
    encoding ['red', 'blue']
    encoding ['green']
    >>> second[1].tolist()
    [[114.0], [101.0], [100.0]]
    """

    def __init__(self, encoder: Encoder, folder: str | os.PathLike[str], *, limit: int = DEFAULT_CACHE_LIMIT) -> None:
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
            raise InputError(f"the limit of the cache is {limit!r}, but a whole number of at least 1 byte was wanted")
        if not getattr(encoder, "stable", True):
            raise InputError(
                f"the signature {encoder.signature!r} does not identify the vectors, so they cannot be cached: give a "
                "function a name, or save word vectors first"
            )
        self._encoder, self._file = encoder, CacheFile(Path(folder).absolute(), limit)

    @property
    def encoder(self) -> Encoder:
        """The wrapped encoder."""
        return self._encoder

    @property
    def signature(self) -> str:
        """The signature of the wrapped encoder."""
        return self._encoder.signature

    @property
    def dimensions(self) -> int:
        """The dimension d of the vectors."""
        return self._encoder.dimensions

    @property
    def second_moment(self) -> np.ndarray | None:
        """The second moment of the wrapped encoder, or None if it has none."""
        moment: np.ndarray | None = getattr(self._encoder, "second_moment", None)
        return moment

    @property
    def repaired(self) -> int:
        """The number of damaged entries that were found."""
        return self._file.repaired

    def _encode(self, texts: Sequence[str], progress: Progress | None) -> TokenSets:
        def encode(block: list[str], report: Progress | None) -> TokenSets:
            return self._encoder.encode(block, progress=report)

        return self._cached("sets", texts, encode, progress) if texts else encode([], progress)

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> np.ndarray:
        """Return one pooled vector per text, (n, d), of the wrapped encoder; cached apart from the token sets."""

        def embed(block: list[str], report: Progress | None) -> TokenSets:
            pooled, zeros = self._encoder.embed(block, progress=report), np.zeros(len(block), dtype=np.int64)
            return TokenSets(pooled, np.arange(len(block) + 1), None, None, None, zeros, zeros)

        checked = check_texts(texts)
        index = distinct_indices(checked)
        sets = self._cached("pooled", list(index), embed, progress) if checked else embed([], progress)
        return sets.vectors if len(index) == len(checked) else sets.vectors[[index[text] for text in checked]]

    def _cached(self, kind: str, texts: Sequence[str], encode: EncodeBlock, progress: Progress | None) -> TokenSets:
        """Return the token sets of distinct texts; encode and store the missing ones block by block."""
        signature, total = self.signature, len(texts)
        keys = [_key(signature, kind, text) for text in texts]
        entries = self._file.read(keys)
        if progress is not None and entries:
            progress(len(entries), total)
        missing = [index for index, key in enumerate(keys) if key not in entries]
        for start in range(0, len(missing), TEXTS_PER_BLOCK):
            block = missing[start : start + TEXTS_PER_BLOCK]
            sets = encode([texts[index] for index in block], _add_to(progress, len(entries), total))
            _check_block(sets, len(block), signature)
            new = {keys[index]: sets[row : row + 1] for row, index in enumerate(block)}
            self._file.write(new)
            entries |= new
            if progress is not None:
                progress(len(entries), total)
        return concatenate_blocks(_pop_blocks(entries, keys))


def _pop_blocks(entries: dict[bytes, TokenSets], keys: Sequence[bytes]) -> Iterator[TokenSets]:
    """Yield the entries in the order of the keys, block by block, and remove them from the dictionary."""
    for start in range(0, len(keys), TEXTS_PER_BLOCK):
        yield TokenSets.concatenate([entries.pop(key) for key in keys[start : start + TEXTS_PER_BLOCK]])


def _key(signature: str, kind: str, text: str) -> bytes:
    """Return the key of a text; the lengths before the parts make the hashed message unambiguous."""
    message = sha256()
    for part in (signature, kind, text):
        encoded = part.encode()
        message.update(len(encoded).to_bytes(8, "little") + encoded)
    return message.digest()


def _add_to(progress: Progress | None, before: int, total: int) -> Progress | None:
    """Return a progress function for a block that starts after `before` finished texts."""
    return None if progress is None else lambda done, _: progress(before + done, total)


def _check_block(sets: TokenSets, texts: int, signature: str) -> None:
    """Reject token sets of a foreign encoder that could not be read back."""
    try:
        count = len(sets_from_arrays(arrays_from_sets(sets), signature))
    except ValueError as error:
        raise InputError(f"the token sets of the encoder {signature!r} cannot be cached: {error}") from error
    if count != texts:
        raise InputError(f"the encoder {signature!r} returned {counted(count, 'text')}, but {texts} were wanted")

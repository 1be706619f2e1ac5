"""The background of a collection: a sample of its items, which is frozen once 1,000 of them have a vector.

The sample consists of the items whose ids have the smallest hashes. So it depends neither on the order of the items nor
on the engine: a folder, a database and Parquet files with the same items have the same background. Fewer items are
measured against general English sentences, which the same encoder has encoded.
"""

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any, Literal
from weakref import WeakKeyDictionary

import numpy as np

from softset.collections.embedder import Embed
from softset.encoders.base import WrappedEncoder
from softset.errors import FileError
from softset.io.arrays import map_tensors, write_tensors
from softset.io.assets import bundled_file
from softset.query.background import SIZE, TEXT_REACH, Background, MembershipCalibration, finite_units
from softset.query.lexical import LexicalIndex, analyzer

__all__ = [
    "MIN_ITEMS",
    "BackgroundFile",
    "Sample",
    "by_hash",
    "choose_sample",
    "make_background",
    "sentence_vectors",
    "text_background",
]

MIN_ITEMS = 1_000  # number of items with a vector from which a sample of them is frozen
MIN_SENTENCES = 100  # with fewer distinct vectors of the sentences, the items are the background
MAX_VECTORS = 16 * SIZE  # of a background, with those of chunks
KIND = "Background"  # of the file
FEW = f"fewer than {MIN_ITEMS:,} items"
SENTENCES_NOTE = f"{FEW}: memberships are measured against general English sentences"
ITEMS_NOTE = f"{FEW} and no encoder: memberships are measured against the items, and change when items are added"

# Texts have lower relative values than words. Fitted with all-MiniLM-L6-v2 on topics of Reuters stories, on films and
# books (QUEST) and, for the sentences, by reading the results of small collections of short texts.
CALIBRATIONS = {
    "items": MembershipCalibration(midpoint=1.5, slope=3.0),
    "sentences": MembershipCalibration(midpoint=1.3, slope=3.0),
}

Source = Literal["items", "sentences"]


@dataclass(frozen=True, eq=False)
class Sample:
    """The vectors (b + m, d) of b items, the owners (m,) of those of chunks, and the lexical index of the texts.

    `owners` is as in `softset.query.background.Background`.
    """

    rows: np.ndarray
    owners: np.ndarray | None = None
    lexical: LexicalIndex | None = None


def text_background(source: Source, sample: Sample, note: str = "") -> Background:
    """Return the background of a sample of texts."""
    units = finite_units(sample.rows)
    if sample.owners is None and sample.lexical is None:
        units = units[units.any(axis=1)]
    return Background(units, TEXT_REACH, note, CALIBRATIONS[source], sample.owners, sample.lexical, is_text=True)


def by_hash(ids: Iterable[str]) -> np.ndarray:
    """Return the indices of ids in the order of their hashes.

    >>> by_hash(["a", "b", "c"]).tolist(), by_hash(["c", "b", "a"]).tolist()
    ([2, 0, 1], [0, 2, 1])
    """
    hashes = b"".join(blake2b(name.encode(), digest_size=8).digest() for name in ids)
    return np.argsort(np.frombuffer(hashes, dtype="<u8"), kind="stable")


def choose_sample(
    count: int, sample: Callable[[], Sample], embed: Embed | None, language: str | None = None
) -> tuple[Source, Sample]:
    """Return the sample of a background, and what it consists of.

    Args:
        count: the number of items with a vector.
        sample: a function that returns the sample of those with the smallest hashes.
        embed: the encoder of their texts, or None.
        language: the language of their lexical index, or None if there is none.
    """
    if count < MIN_ITEMS and embed is not None:
        rows = sentence_vectors(embed)
        if len(np.unique(rows, axis=0)) >= MIN_SENTENCES:
            lexical = None if language is None else LexicalIndex.of(map(analyzer(language), _read_sentences()))
            return "sentences", Sample(rows, None, lexical)
    return "items", sample()


def make_background(
    count: int,
    sample: Callable[[], Sample],
    embed: Embed | None,
    note_of_sample: str = "",
    language: str | None = None,
) -> Background:
    """Return the background of items that have none in a file; see `choose_sample`."""
    source, chosen = choose_sample(count, sample, embed, language)
    note = SENTENCES_NOTE if source == "sentences" else ITEMS_NOTE if count < MIN_ITEMS else note_of_sample
    return text_background(source, chosen, note)


def _read_sentences() -> list[str]:
    return bundled_file("baselines/sentences.txt").read_text("utf-8").splitlines()


_sentences: "WeakKeyDictionary[Any, np.ndarray]" = WeakKeyDictionary()  # by encoder


def sentence_vectors(embed: Embed) -> np.ndarray:
    """Return the vectors (k, d) of the general English sentences; each encoder encodes them once."""
    encoder: Any = getattr(embed, "__self__", embed)
    while isinstance(encoder, WrappedEncoder):  # which returns the same vectors, or refuses so many texts
        encoder = encoder.encoder
        embed = encoder.embed
    with suppress(TypeError):  # an object without a hash or a weak reference
        if encoder in _sentences:
            return _sentences[encoder]
    rows = np.asarray(embed(_read_sentences()), dtype=np.float32)
    with suppress(TypeError):
        _sentences[encoder] = rows
    return rows


# The file of a frozen background


@dataclass(frozen=True)
class BackgroundFile:
    """The background in the folder of a collection, as the manifest records it.

    Attributes:
        source: whether it consists of items or of general English sentences.
        sha256: the checksum of its vectors, which also names the file.
    """

    source: Source
    sha256: str

    @property
    def name(self) -> str:
        """The name of the file."""
        return f"background-{self.sha256[:16]}.safetensors"

    @classmethod
    def parse(cls, value: Any) -> "BackgroundFile | None":
        """Return the background of a manifest; a value of another form raises ValueError or TypeError."""
        if value is None:
            return None
        background = cls(**value)
        if background.source not in ("items", "sentences") or not re.fullmatch("[0-9a-f]{64}", background.sha256):
            raise ValueError("the background has another form")
        return background

    @classmethod
    def write(cls, folder: Path, source: Source, sample: Sample) -> "BackgroundFile":
        """Write a sample to a folder."""
        arrays = {"rows": np.ascontiguousarray(sample.rows, dtype=np.float32)}
        if sample.owners is not None:
            arrays["owners"] = sample.owners.astype(np.int32)
        arrays |= {} if sample.lexical is None else sample.lexical.to_arrays()
        background = cls(source, _checksum(arrays))
        write_tensors(folder / background.name, KIND, arrays, {})
        return background

    def map(self, folder: Path, dimensions: int) -> dict[str, np.ndarray]:
        """Return the arrays, mapped to memory; the shape of the vectors is checked, but not the content."""
        tensors, _ = map_tensors(folder / self.name, KIND)
        arrays = {name: np.asarray(tensor.values) for name, tensor in tensors.items()}
        rows = arrays.get("rows", np.zeros(0))
        if (
            rows.dtype != np.float32
            or rows.ndim != 2
            or rows.shape[1] != dimensions
            or not 0 < len(rows) <= MAX_VECTORS
        ):
            raise FileError(f"{folder / self.name} has {rows.dtype} {rows.shape}: index the items again")
        return arrays

    def load(self, arrays: dict[str, np.ndarray]) -> Background:
        """Return the background of mapped arrays, after checking their content."""
        if _checksum(arrays) != self.sha256:
            raise FileError(f"{self.name} was changed after it was written: call refresh_background()")
        note = SENTENCES_NOTE if self.source == "sentences" else ""
        lexical = LexicalIndex.from_arrays(arrays) if "lexical-text" in arrays else None
        return text_background(self.source, Sample(arrays["rows"], arrays.get("owners"), lexical), note)


def _checksum(arrays: dict[str, np.ndarray]) -> str:
    """Return the SHA-256 of arrays and their names."""
    digest = sha256()
    for name, values in sorted(arrays.items()):
        digest.update(f"{name} {values.dtype} {values.shape}".encode())
        digest.update(np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()

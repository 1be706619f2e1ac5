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
from io import BytesIO
from pathlib import Path
from typing import Any, Literal
from weakref import WeakKeyDictionary

import numpy as np

from softset.collections.segment import Embed
from softset.encoders.base import WrappedEncoder
from softset.errors import FileError
from softset.io.arrays import read_array
from softset.io.assets import bundled_file
from softset.io.atomic import write_atomically
from softset.query.background import SIZE, TEXT_REACH, Background, MembershipCalibration

__all__ = [
    "MIN_ITEMS",
    "BackgroundFile",
    "by_hash",
    "choose_rows",
    "make_background",
    "sentence_vectors",
    "text_background",
]

MIN_ITEMS = 1_000  # number of items with a vector from which a sample of them is frozen
MIN_SENTENCES = 100  # with fewer distinct vectors of the sentences, the items are the background
FEW = f"fewer than {MIN_ITEMS:,} items"
SENTENCES_NOTE = f"{FEW}: memberships are measured against general English sentences"
ITEMS_NOTE = f"{FEW} and no encoder: memberships are measured against the items, and change when items are added"

# Texts have lower relative values than words. Fitted with all-MiniLM-L6-v2 on topics of Reuters stories, on films and
# books (QUEST) and, for the sentences, by reading the results of small collections of short texts.
CALIBRATIONS = {
    "items": MembershipCalibration(midpoint=1.3, slope=6.0),
    "sentences": MembershipCalibration(midpoint=1.7, slope=4.0),
}

Source = Literal["items", "sentences"]


def text_background(source: Source, rows: np.ndarray, note: str = "") -> Background:
    """Return a background of vectors (b, d) of texts."""
    return Background.of(rows, reach=TEXT_REACH, note=note, calibration=CALIBRATIONS[source])


def by_hash(ids: Iterable[str]) -> np.ndarray:
    """Return the indices of ids in the order of their hashes.

    >>> by_hash(["a", "b", "c"]).tolist(), by_hash(["c", "b", "a"]).tolist()
    ([2, 0, 1], [0, 2, 1])
    """
    hashes = b"".join(blake2b(name.encode(), digest_size=8).digest() for name in ids)
    return np.argsort(np.frombuffer(hashes, dtype="<u8"), kind="stable")


def choose_rows(count: int, sample: Callable[[], np.ndarray], embed: Embed | None) -> tuple[Source, np.ndarray]:
    """Return the vectors (b, d) of a background, and what they are.

    `count` items have a vector, `sample` returns the vectors of those with the smallest hashes, and `embed` is their
    encoder, or None.
    """
    if count < MIN_ITEMS and embed is not None:
        rows = sentence_vectors(embed)
        if len(np.unique(rows, axis=0)) >= MIN_SENTENCES:
            return "sentences", rows
    return "items", sample()


def make_background(
    count: int, sample: Callable[[], np.ndarray], embed: Embed | None, note_of_sample: str = ""
) -> Background:
    """Return the background of items that have none in a file; see `choose_rows`."""
    source, rows = choose_rows(count, sample, embed)
    note = SENTENCES_NOTE if source == "sentences" else ITEMS_NOTE if count < MIN_ITEMS else note_of_sample
    return text_background(source, rows, note)


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
    texts = bundled_file("baselines/sentences.txt").read_text("utf-8").splitlines()
    rows = np.asarray(embed(texts), dtype=np.float32)
    rows = rows[rows.any(axis=1)]
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
        return f"background-{self.sha256[:16]}.npy"

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
    def write(cls, folder: Path, source: Source, rows: np.ndarray) -> "BackgroundFile":
        """Write vectors (b, d) to a folder."""
        rows = np.ascontiguousarray(rows, dtype=np.float32)
        background, content = cls(source, sha256(rows.tobytes()).hexdigest()), BytesIO()
        np.save(content, rows, allow_pickle=False)
        write_atomically(folder / background.name, content.getvalue())
        return background

    def map(self, folder: Path, dimensions: int) -> np.ndarray:
        """Return the vectors, mapped to memory; their shape is checked, but not their content."""
        rows = read_array(folder / self.name)
        if rows.dtype != np.float32 or rows.ndim != 2 or rows.shape[1] != dimensions or not 0 < len(rows) <= SIZE:
            raise FileError(f"{folder / self.name} has {rows.dtype} {rows.shape}: index the items again")
        return rows

    def load(self, rows: np.ndarray) -> Background:
        """Return the background of mapped vectors, after checking their content."""
        if sha256(rows.tobytes()).hexdigest() != self.sha256:
            raise FileError(f"{self.name} was changed after it was written: call refresh_background()")
        note = SENTENCES_NOTE if self.source == "sentences" else ""
        return text_background(self.source, rows, note)

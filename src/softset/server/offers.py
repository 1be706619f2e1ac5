"""All that a request may name.

A name is looked up among those known when the server started, and nowhere else: what a request says never becomes a
path, and never makes a model be fetched.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any

from softset.collections.collection import open_collection
from softset.encoders.base import Encoder
from softset.encoders.loading import load_encoder
from softset.encoders.model_config import Layer, check_layer
from softset.encoders.model_info import list_models
from softset.encoders.pipeline import ContextualEncoder
from softset.encoders.signature import parse_signature
from softset.search.find import SearchableSource
from softset.search.words import WordVectors, load_words
from softset.server.batching import BatchedEncoder
from softset.server.drops import Drops
from softset.server.kept import Kept
from softset.server.problems import BadRequestError
from softset.server.settings import Settings
from softset.vectors.registry import BUNDLED as BUNDLED_WORDS
from softset.vectors.registry import REGISTRY, vectors_folder

__all__ = ["Offers"]

MOST_NUMBERS = 1 << 26  # of vectors stored in eight bits that are kept in memory as floats: 256 MB
MOST_COLLECTIONS = 64  # opened at once: each holds a few open files


class Offers:
    """Word vectors, models and collections by name, loaded once."""

    def __init__(self, settings: Settings, tell: Callable[[int, int], None] | None = None) -> None:
        self._settings, self._tell = settings, tell
        self.vectors = dict(_known_vectors() if settings.vectors is None else settings.vectors)
        self.models = dict(_known_models() if settings.models is None else settings.models)
        self.collections = dict(settings.collections)
        self.drops = Drops(settings.limits)
        self._words: Kept[WordVectors] = Kept(max(len(self.vectors), 1))
        self._encoders: Kept[BatchedEncoder] = Kept(settings.limits.models_kept)
        self._opened: Kept[SearchableSource] = Kept(MOST_COLLECTIONS)

    def load_named(self) -> None:
        """Load what the settings name themselves, so that a wrong name is told before the server starts."""
        for name in self._settings.vectors or ():
            self.items(name, None)
        for name in self._settings.models or ():
            self.encoder(name)
        for name in self.collections:
            self.items(None, name)

    def items(self, vectors: str | None, collection: str | None) -> SearchableSource:
        """Return what a request searches: a collection, or word vectors; the first ones offered unless it says."""
        if collection is None:
            name = vectors if vectors is not None else next(iter(self.vectors), "")
            where = _offered("are no word vectors", name, self.vectors)
            return self._words.get(name, lambda: _ready(load_words(where)))
        if vectors is not None:
            raise BadRequestError(HTTPStatus.UNPROCESSABLE_ENTITY, "a collection has its own vectors: leave one out")
        dropped = self.drops.get(collection)
        if dropped is not None:
            return dropped
        folder = _offered("is no collection (what was dropped goes after a while)", collection, self.collections)
        return self._opened.get(
            (collection, _changed(folder)), lambda: open_collection(folder, load=self._opened_encoder)
        )

    def model_name(self, given: str | None) -> str:
        """Return the name of the model that a request means: the first one offered unless it says."""
        return given if given is not None else next(iter(self.models), "")

    def encoder(self, name: str, **options: Any) -> BatchedEncoder:
        """Return a model with its options, such as layer=4."""
        where = _offered("is no model", name, self.models)
        usual = inspect.signature(load_encoder).parameters
        layer = check_layer(options.pop("layer", "last"))
        others = {key: value for key, value in options.items() if value != usual[key].default}
        if not others:
            return self._loaded(where, layer)
        plain = self._loaded(where, layer).encoder
        if isinstance(plain, ContextualEncoder):  # whose network serves all of them
            return self._batched(plain.with_options(**others))
        return self._batched(load_encoder(where, layer=layer, threads=self._settings.threads, **others))

    def _opened_encoder(self, where: str) -> BatchedEncoder:
        """Return the encoder that a collection was made with: whoever offers the collection offers that too."""
        return self._loaded(self.models.get(where, where), "last")

    def _loaded(self, where: str, layer: Layer) -> BatchedEncoder:
        key = where, type(layer), layer  # the layer 1, and 1.0 for the last
        return self._encoders.get(
            key, lambda: self._batched(load_encoder(where, layer=layer, threads=self._settings.threads))
        )

    def _batched(self, encoder: Encoder) -> BatchedEncoder:
        return BatchedEncoder(encoder, self._settings.limits, self._tell)

    @staticmethod
    def full_name(name: str, encoder: BatchedEncoder) -> str:
        """Return the name of a model with its checksum, as a collection keeps it."""
        return f"{name}@{parse_signature(encoder.signature)['encoder'].rpartition('@')[2]}"

    @property
    def loaded(self) -> int:
        """How many models are in memory."""
        return len(self._encoders)

    def close(self) -> None:
        """Delete what was dropped here."""
        self.drops.close()


def _ready(words: WordVectors) -> WordVectors:
    """Return words for many searches: with their numbers in memory, unless these are too many."""
    return words.in_memory() if len(words) * words.dimensions <= MOST_NUMBERS else words


def _changed(folder: Path) -> int:
    """Return when a collection was last changed: whoever adds items to it wants them found."""
    manifest = folder / "manifest.json"
    return manifest.stat().st_mtime_ns if manifest.is_file() else 0


def _offered(what: str, name: str, known: Mapping[str, Any]) -> Any:
    if name in known:
        return known[name]
    shown = ", ".join(known) or "none"
    raise BadRequestError(HTTPStatus.NOT_FOUND, f"there {what} named {name[:100]!r} here; known are: {shown}")


def _known_vectors() -> Iterable[tuple[str, str]]:
    """Return the bundled word vectors and all that were imported: their names, and their folders as they are now."""
    yield BUNDLED_WORDS, str(vectors_folder())
    for name, folder in REGISTRY.items():
        if folder is not None:
            yield name, str(folder)


def _known_models() -> Iterable[tuple[str, str]]:
    return ((row["name"], row["name"]) for row in list_models() if "problem" not in row)

"""Word vectors, models and collections by name. Nothing else reaches the file system.

The names are fixed when the server starts: a request can neither name a path nor start a download.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import TypeVar

from softset.collections.collection import open_collection
from softset.encoders.base import Encoder
from softset.encoders.loading import load_encoder
from softset.encoders.model_config import Layer, check_layer
from softset.encoders.model_info import list_models
from softset.encoders.pipeline import ContextualEncoder, Overflow, Unit
from softset.encoders.signature import parse_signature
from softset.search.find import SearchableSource
from softset.search.words import WordVectors, load_words
from softset.server.limited_encoder import LimitedEncoder
from softset.server.load_once_cache import LoadOnceCache
from softset.server.problems import RequestError
from softset.server.settings import Settings
from softset.server.temporary_collections import TemporaryCollections
from softset.vectors.registry import BUNDLED as BUNDLED_WORDS
from softset.vectors.registry import REGISTRY, vectors_folder

__all__ = ["Resources"]

MAX_FLOATS_IN_MEMORY = 1 << 26  # 256 MB: smaller quantized vectors are converted to float32 once
MAX_OPEN_COLLECTIONS = 64  # each has a few open files
Place = TypeVar("Place")


class Resources:
    """Word vectors, models and collections, loaded when they are first used."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.vectors = dict(_installed_vectors() if settings.vectors is None else settings.vectors)
        self.models = dict(_installed_models() if settings.models is None else settings.models)
        self.collections = dict(settings.collections)
        self.temporary = TemporaryCollections(settings.limits)
        self._words: LoadOnceCache[WordVectors] = LoadOnceCache(max(len(self.vectors), 1))
        self._encoders: LoadOnceCache[LimitedEncoder] = LoadOnceCache(settings.limits.loaded_models)
        self._opened: LoadOnceCache[SearchableSource] = LoadOnceCache(MAX_OPEN_COLLECTIONS)

    def load_named(self) -> None:
        """Load everything that the settings name, so that a wrong name fails at startup."""
        for name in self._settings.vectors or ():
            self.source(name, None)
        for name in self._settings.models or ():
            self.encoder(name)
        for name in self.collections:
            self.source(None, name)

    def source(self, vectors: str | None, collection: str | None) -> SearchableSource:
        """Return the word vectors or the collection to search; the first word vectors by default."""
        if collection is None:
            name = vectors if vectors is not None else next(iter(self.vectors), "")
            path = _look_up("there are no word vectors named", name, self.vectors)
            return self._words.get(name, lambda: _load_words(path))
        if vectors is not None:
            message = "a collection has its own vectors: leave out vectors or collection"
            raise RequestError(HTTPStatus.UNPROCESSABLE_ENTITY, message)
        temporary = self.temporary.get(collection)
        if temporary is not None:
            return temporary
        folder = _look_up("there is no collection (temporary ones expire) named", collection, self.collections)
        key = collection, _modified(folder)  # opened again when items were added
        return self._opened.get(key, lambda: open_collection(folder, load=self._encoder_of_collection))

    def model_name(self, name: str | None) -> str:
        """Return the given name, or the name of the first model if there is none."""
        return name if name is not None else next(iter(self.models), "")

    def encoder(
        self,
        name: str,
        *,
        layer: Layer = "last",
        unit: Unit = "token",
        special_tokens: bool = False,
        overflow: Overflow = "window",
        max_length: int | None = None,
    ) -> LimitedEncoder:
        """Return a model with options of `load_encoder`."""
        path = _look_up("there is no model named", name, self.models)
        layer = check_layer(layer)
        cached = self._cached_encoder(path, layer)
        if (unit, special_tokens, overflow, max_length) == ("token", False, "window", None):
            return cached
        load: Callable[..., Encoder] = partial(load_encoder, path, layer=layer, threads=self._settings.threads)
        if isinstance(cached.encoder, ContextualEncoder):
            load = cached.encoder.with_options  # shares the network, which is not loaded again
        return self._limited(load(unit=unit, special_tokens=special_tokens, overflow=overflow, max_length=max_length))

    def _encoder_of_collection(self, model: str) -> LimitedEncoder:
        return self._cached_encoder(self.models.get(model, model), "last")

    def _cached_encoder(self, path: str, layer: Layer) -> LimitedEncoder:
        key = path, type(layer), layer  # layer 1 is the first one, 1.0 is the last one
        return self._encoders.get(
            key, lambda: self._limited(load_encoder(path, layer=layer, threads=self._settings.threads))
        )

    def _limited(self, encoder: Encoder) -> LimitedEncoder:
        return LimitedEncoder(encoder, self._settings.limits)

    @staticmethod
    def full_name(name: str, encoder: LimitedEncoder) -> str:
        """Return the name of a model with its checksum, as collections store it."""
        return f"{name}@{parse_signature(encoder.signature)['encoder'].rpartition('@')[2]}"

    @property
    def models_loaded(self) -> int:
        """The number of models in memory."""
        return len(self._encoders)

    def close(self) -> None:
        """Delete the temporary collections."""
        self.temporary.close()


def _load_words(path: str) -> WordVectors:
    words = load_words(path)
    return words.in_memory() if len(words) * words.dimensions <= MAX_FLOATS_IN_MEMORY else words


def _modified(folder: Path) -> int:
    """Return the modification time of a collection in nanoseconds."""
    manifest = folder / "manifest.json"
    return manifest.stat().st_mtime_ns if manifest.is_file() else 0


def _look_up(message: str, name: str, known: Mapping[str, Place]) -> Place:
    if name in known:
        return known[name]
    names = ", ".join(known) or "none"
    raise RequestError(HTTPStatus.NOT_FOUND, f"{message} {name[:100]!r}; known names: {names}")


def _installed_vectors() -> Iterator[tuple[str, str]]:
    """Yield the names and folders of the bundled and the imported word vectors."""
    yield BUNDLED_WORDS, str(vectors_folder())
    for name, folder in REGISTRY.items():
        if folder is not None:
            yield name, str(folder)


def _installed_models() -> Iterator[tuple[str, str]]:
    return ((row["name"], row["name"]) for row in list_models() if "problem" not in row)

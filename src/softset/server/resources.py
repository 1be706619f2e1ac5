"""Word vectors, models and collections by name. Nothing else reaches the file system.

The names are fixed when the server starts: a request can neither name a path nor start a download.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future
from contextvars import Context
from functools import partial
from http import HTTPStatus
from threading import Lock
from typing import Any, Generic, TypeVar

from softset.collections.collection import Collection, open_collection
from softset.encoders.base import Encoder
from softset.encoders.loading import load_encoder, load_installed
from softset.encoders.model_management import list_models
from softset.encoders.network import Layer, check_layer, resolve_layer
from softset.encoders.pipeline import ContextualEncoder
from softset.encoders.signature import parse_signature
from softset.errors import InputError
from softset.search.find import SearchableSource
from softset.search.words import WordVectors, load_words
from softset.server.limited_encoder import LimitedEncoder
from softset.server.problems import RequestError
from softset.server.settings import Settings
from softset.server.temporary_collections import TemporaryCollections
from softset.vectors.registry import BUNDLED as BUNDLED_WORDS
from softset.vectors.registry import REGISTRY

MAX_FLOATS_IN_MEMORY = 1 << 26  # 256 MB: smaller quantized vectors are converted to float32 once
Place = TypeVar("Place")
Value = TypeVar("Value")


class LoadOnceCache(Generic[Value]):
    """Least-recently-used cache that loads each value once.

    Threads that ask for a value while it is being loaded wait for that load; other values are not delayed. If the load
    fails, all waiting threads get the error, and the next call tries again.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._entries: OrderedDict[Hashable, tuple[Hashable, Future[Value]]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable, load: Callable[[], Value], *, version: Hashable = None) -> Value:
        """Return the value of a key; call `load` if it is not cached. A new version replaces the previous one."""
        with self._lock:
            entry = self._entries.get(key)
            is_new = entry is None or entry[0] != version
            if entry is None or is_new:
                entry = self._entries[key] = version, Future()
            self._entries.move_to_end(key)
        future = entry[1]
        if is_new:
            try:
                future.set_result(Context().run(load))  # other requests need it, even if this client disconnects
            except BaseException as error:
                with self._lock:
                    if self._entries.get(key) is entry:
                        del self._entries[key]
                future.set_exception(error)
                raise
            with self._lock:  # after the load: a load that fails removes nothing
                while len(self._entries) > self._size:
                    self._entries.popitem(last=False)
        return future.result()

    def __len__(self) -> int:
        return len(self._entries)


class Resources:
    """Word vectors, models and collections, loaded when they are first used."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        words = [BUNDLED_WORDS, *(name for name, folder in REGISTRY.items() if folder is not None)]
        models = [row["name"] for row in list_models() if "problem" not in row]
        self.vectors = {name: name for name in words} if settings.vectors is None else settings.vectors
        self.models = {name: name for name in models} if settings.models is None else settings.models
        self.collections = settings.collections
        self.temporary = TemporaryCollections(settings.limits)
        self._words: LoadOnceCache[WordVectors] = LoadOnceCache(max(len(self.vectors), 1))
        self._encoders: LoadOnceCache[LimitedEncoder] = LoadOnceCache(settings.limits.loaded_models)
        self._last_layers: dict[str, int | None] = {}  # the number of each model's last layer
        self._opened: LoadOnceCache[SearchableSource] = LoadOnceCache(max(len(self.collections), 1))

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
            name, path = _look_up("there are no word vectors named", vectors, self.vectors)
            return self._words.get(name, lambda: _load_words(path))
        if vectors is not None:
            raise InputError("give vectors or collection, not both: a collection has its own vectors")
        temporary = self.temporary.get(collection)
        if temporary is not None:
            return temporary
        _, folder = _look_up("there is no collection (temporary ones expire) named", collection, self.collections)
        manifest = folder / "manifest.json"
        modified = manifest.stat().st_mtime_ns if manifest.is_file() else 0  # opened again when items were added
        load = partial(open_collection, folder, load=self._encoder_of_collection)
        return self._opened.get(collection, load, version=modified)

    def encoder(self, name: str | None, *, layer: Layer = "last", **options: Any) -> LimitedEncoder:
        """Return a model, the first one by default, with options of `load_encoder`."""
        _, path = _look_up("there is no model named", name, self.models)
        encoder = self._layer_of_model(path, layer)
        if options and isinstance(encoder.encoder, ContextualEncoder):  # shares the network, which is not loaded again
            return LimitedEncoder(encoder.encoder.with_options(**options), self._settings.limits)
        return self._cached_encoder(path, **options) if options else encoder

    def create_collection(self, texts: Sequence[str], model: str | None) -> tuple[str, Collection]:
        """Create a temporary collection and return its name and itself."""
        model, _ = _look_up("there is no model named", model, self.models)
        encoder = self.encoder(model)
        encoder.check(texts)
        checksum = parse_signature(encoder.signature)["encoder"].rpartition("@")[2]
        return self.temporary.create(texts, encoder, f"{model}@{checksum}")

    def _encoder_of_collection(self, model: str) -> LimitedEncoder:
        """Return the model that a collection names: one that the settings name, or an installed one."""
        path = self.models.get(model, model)
        is_named = path in self.models.values()
        return self._cached_encoder(path, load=load_encoder if is_named else load_installed)

    def _layer_of_model(self, path: str, layer: Layer) -> LimitedEncoder:
        """Return a layer of a model; it is loaded once, even if requests write its number in several ways."""
        if check_layer(layer) in ("last", -1):
            return self._cached_encoder(path)
        if path not in self._last_layers:
            self._last_layers[path] = getattr(self._cached_encoder(path).encoder, "layer", None)
        last = self._last_layers[path]
        if last is not None:
            layer = resolve_layer(layer, last)
        return self._cached_encoder(path) if layer == last else self._cached_encoder(path, layer=layer)

    def _cached_encoder(
        self, path: str, *, load: Callable[..., Encoder] = load_encoder, **options: Any
    ) -> LimitedEncoder:
        def load_limited() -> LimitedEncoder:
            return LimitedEncoder(load(path, threads=self._settings.threads, **options), self._settings.limits)

        return self._encoders.get((path, *sorted(options.items())), load_limited)

    @property
    def models_loaded(self) -> int:
        """The number of models in memory."""
        return len(self._encoders)


def _load_words(path: str) -> WordVectors:
    words = load_words(path)
    return words.in_memory() if len(words) * words.dimensions <= MAX_FLOATS_IN_MEMORY else words


def _look_up(message: str, name: str | None, known: Mapping[str, Place]) -> tuple[str, Place]:
    """Return a name, the first known one by default, and its value."""
    name = next(iter(known), "") if name is None else name
    if name in known:
        return name, known[name]
    names = ", ".join(known) or "none"
    raise RequestError(HTTPStatus.NOT_FOUND, f"{message} {name[:100]!r}; known names: {names}")

"""Stores by their address: milvus://FILE_OR_URL#NAME, lance://FOLDER#NAME."""

from collections.abc import Callable
from typing import Any

from softset.collections.id_collection import text_encoder
from softset.encoders.base import Encoder
from softset.encoders.loading import load_encoder
from softset.errors import InputError, ShapeError
from softset.stores.lance import LanceStore
from softset.stores.milvus import MilvusStore
from softset.stores.protocol import Store
from softset.stores.stored import Stored

__all__ = ["create_store", "is_address", "open_store"]

KINDS: dict[str, Any] = {"milvus": MilvusStore, "lance": LanceStore}


def is_address(text: str) -> bool:
    """Tell whether a text is the address of a store, rather than a folder.

    >>> is_address("milvus:///data/books.db#books"), is_address("books.softset")
    (True, False)
    """
    return text.partition("://")[0] in KINDS and "://" in text


def _parts(address: str) -> tuple[Any, str, str]:
    """Return the kind of store, where its engine is, and the collection's name there."""
    kind, _, rest = address.partition("://")
    uri, _, name = rest.rpartition("#")
    if kind not in KINDS or not uri or not name:
        raise InputError(
            f"{address!r} is no address of a store: write it as milvus://FILE_OR_URL#NAME or lance://FOLDER#NAME"
        )
    return KINDS[kind], uri, name


def open_store(address: str, *, where: str | None = None, load: Callable[[str], Encoder] = load_encoder) -> Stored:
    """Open a collection in a store, with the encoder that made it; `where` is a filter in the engine's own words."""
    kind, uri, name = _parts(address)
    store: Store = kind.open(uri, name)
    return Stored(store, embed=text_encoder(store.encoder, load)[0], where=where)


def create_store(address: str, dimensions: int, encoder: str) -> Store:
    """Make a collection in a store, or go on with one; another encoder's, or of other dimensions, is refused."""
    kind, uri, name = _parts(address)
    store: Store = kind.create(uri, name, dimensions, encoder)
    if store.dimensions != dimensions:
        raise ShapeError(
            f"the collection {name!r} has vectors of {store.dimensions} dimensions, but these have {dimensions}"
        )
    if store.encoder != encoder:
        raise InputError(f"the collection {name!r} was made with {store.encoder}, not with {encoder}: name another")
    return store

"""Open and create stores by address: milvus://FILE_OR_URL#NAME, lance://FOLDER#NAME."""

from typing import Any

from softset.collections.embedder import recorded_encoder
from softset.errors import InputError, ShapeError
from softset.stores.base import Store
from softset.stores.collection import StoreCollection
from softset.stores.lance import LanceStore
from softset.stores.milvus import MilvusStore

STORES: dict[str, Any] = {"milvus": MilvusStore, "lance": LanceStore}


def _parse(address: str) -> tuple[Any, str, str]:
    """Return the class of a store, the location of its database, and the name of the collection."""
    scheme, _, location = address.partition("://")
    uri, _, name = location.rpartition("#")
    if scheme not in STORES or not uri or not name:
        raise InputError(
            f"{address!r} is not the address of a store: write milvus://FILE_OR_URL#NAME or lance://FOLDER#NAME"
        )
    return STORES[scheme], uri, name


def open_store(address: str, *, encoder: str | None = None) -> StoreCollection:
    """Open a collection in a store, with the encoder that it names.

    An encoder that is neither bundled nor imported is loaded only if `encoder` is its name.
    """
    store_class, uri, name = _parse(address)
    store: Store = store_class.open(uri, name)
    return StoreCollection(store, embed=recorded_encoder(store.encoder, encoder))


def create_store(address: str, dimensions: int, encoder: str) -> Store:
    """Create a collection in a store, or open one that has the same encoder and dimensions."""
    store_class, uri, name = _parse(address)
    store: Store = store_class.create(uri, name, dimensions, encoder)
    if store.dimensions != dimensions:
        raise ShapeError(
            f"the collection {name!r} has vectors of {store.dimensions} dimensions, but these have {dimensions}"
        )
    if store.encoder != encoder:
        raise InputError(
            f"the collection {name!r} was made with {store.encoder}, not with {encoder}: choose another name"
        )
    return store

"""Collections in databases: Milvus and LanceDB. `base.py` defines the protocol that a store implements."""

from softset.stores.addresses import create_store, open_store
from softset.stores.base import Neighbours, Record, Store
from softset.stores.collection import StoreCollection

__all__ = ["Neighbours", "Record", "Store", "StoreCollection", "create_store", "open_store"]

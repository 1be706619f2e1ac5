"""Collections in databases: Milvus and LanceDB. `base.py` defines the protocol that a store implements."""

from softset.stores.addresses import create_store, open_store
from softset.stores.base import Neighbours, Record, Store
from softset.stores.stored import Stored

__all__ = ["Neighbours", "Record", "Store", "Stored", "create_store", "open_store"]

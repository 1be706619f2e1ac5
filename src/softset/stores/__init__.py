"""Collections that live in an engine of their own: Milvus, LanceDB. `protocol.py` says what an engine must do."""

from softset.stores.opening import create_store, open_store
from softset.stores.protocol import Neighbours, Record, Store
from softset.stores.stored import Stored

__all__ = ["Neighbours", "Record", "Store", "Stored", "create_store", "open_store"]

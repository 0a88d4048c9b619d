"""Where records are kept: a folder of files people may edit, or memory.

`FileRecordStore` and `MemoryRecordStore` provide `IRecordStore`; `ReservedNames` keeps some
collections of either for the host.
"""

from ahpd.record_store.files import FileRecordStore
from ahpd.record_store.memory import MemoryRecordStore
from ahpd.record_store.names import HOST_COLLECTIONS, KEPT_FOLDERS, ReservedNames

__all__ = [
    "HOST_COLLECTIONS",
    "KEPT_FOLDERS",
    "FileRecordStore",
    "MemoryRecordStore",
    "ReservedNames",
]

"""`write-errors`: writes to files of the subject's data fail."""

from __future__ import annotations

from loadcell.faults.storage_fault import StorageFault


class FailingWrites(StorageFault):
    """Fail calls that write or allocate."""

    name = "write-errors"
    synonyms = ("io-errors", "disk-errors")
    summary = "Fail writes to files of the subject's data (`error`: EIO or ENOSPC)"
    part = "writes"


PART = FailingWrites

"""`fsync-errors`: flushes of files of the subject's data fail."""

from __future__ import annotations

from loadcell.faults.storage_fault import StorageFault


class FailingFlushes(StorageFault):
    """Fail fsync, fdatasync and syncfs; the written data may reach the disk all the same."""

    name = "fsync-errors"
    summary = "Fail flushes of files of the subject's data (`error`: EIO or ENOSPC)"
    part = "flushes"


PART = FailingFlushes

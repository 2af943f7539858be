"""`slow-disk`: the subject reads and writes the disk of its data at a limited rate."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field

from loadcell.faults.base import FaultError
from loadcell.faults.control_group import ControlGroupFault
from loadcell.model.message import MessageCode
from loadcell.plan.parts import SubjectOptions
from loadcell.plan.units import Bandwidth

NO_DISK = MessageCode("fault.no-disk", subject=str, path=str)


class SlowDiskOptions(SubjectOptions, use_attribute_docstrings=True):
    """Options of a slow disk."""

    bandwidth: Annotated[Bandwidth, Field(gt=0)]
    """Limit of reads, and the same limit of writes: `5MB/s`."""


class SlowDisk(ControlGroupFault[SlowDiskOptions]):
    """Limit reads and writes of the subject on the disk that has its data."""

    name = "slow-disk"
    synonyms = ("io-limit",)
    summary = "Limit the rate at which the subject reads and writes the disk of its data (cgroup)"
    Options = SlowDiskOptions
    controller = ("blkio", "io")

    def limits(self, unified: bool) -> Mapping[str, str]:
        device = _disk(self.subject.data)
        if device is None:
            raise FaultError(NO_DISK(subject=self.subject.name, path=self.subject.data or "-"))
        rate = round(self.options.bandwidth)
        if unified:
            return {"io.max": f"{device} rbps={rate} wbps={rate}"}
        return {
            "blkio.throttle.read_bps_device": f"{device} {rate}",
            "blkio.throttle.write_bps_device": f"{device} {rate}",
        }


def _disk(path: Path | None) -> str | None:
    """`259:0`: the whole disk that has the file system of a path; None if it is on none."""
    if path is None:
        return None
    number = path.stat().st_dev
    block = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    if not block.exists():
        return None
    if (block / "partition").exists():
        block = block.resolve().parent
    return (block / "dev").read_text().strip()


PART = SlowDisk

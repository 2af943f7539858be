"""Types of evidence that a run does not have, each with the way to get it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from loadcell.incidents.evidence.application_log import ApplicationLog
from loadcell.incidents.evidence.base import Evidence, Missing
from loadcell.incidents.evidence.batches import Batches
from loadcell.incidents.evidence.clocks import Clocks
from loadcell.incidents.evidence.collections import Collections
from loadcell.incidents.evidence.connections import Connections, OpenFiles
from loadcell.incidents.evidence.containers import ControlGroups
from loadcell.incidents.evidence.disks import Disks, FileSystems
from loadcell.incidents.evidence.jvms import ClassHistograms, JvmCounters
from loadcell.incidents.evidence.kernel_log import KernelLog
from loadcell.incidents.evidence.memory import Memory
from loadcell.incidents.evidence.mounts import Mounts
from loadcell.incidents.evidence.numa import NumaMemory
from loadcell.incidents.evidence.placements import Placements
from loadcell.incidents.evidence.processors import Processors
from loadcell.model.message import MessageCode

LIVE_ONLY = MessageCode("doctor.run.live-only", "info")
IN_REPORT = MessageCode("doctor.run.report", "info")
NO_HOST = MessageCode("doctor.run.no-host-samples", "info")
NO_LOG = MessageCode("doctor.run.no-logs", "info")
NO_COLLECTIONS = MessageCode("doctor.run.no-collections", "info")
NO_BATCHES = MessageCode("doctor.run.no-batches", "info")
NO_PLACEMENTS = MessageCode("doctor.run.no-placements", "info")

#: GlusterFS is on few hosts: its evidence is not reported as missing.
REASONS: Final[Mapping[type[Evidence], MessageCode]] = {
    ApplicationLog: NO_LOG,
    Batches: NO_BATCHES,
    Clocks: NO_HOST,
    Collections: NO_COLLECTIONS,
    Memory: NO_HOST,
    Placements: NO_PLACEMENTS,
    Processors: IN_REPORT,
    **dict.fromkeys(
        (
            ClassHistograms, Connections, ControlGroups, Disks, FileSystems, JvmCounters, KernelLog, Mounts,
            NumaMemory, OpenFiles,
        ),
        LIVE_ONLY,
    ),
}  # fmt: skip


def missing(evidence: Iterable[Evidence | Missing]) -> Iterator[Missing]:
    """The types that are not in the evidence of a run, and not reported as missing there."""
    present = {item.needs if isinstance(item, Missing) else type(item) for item in evidence}
    for needs, code in REASONS.items():
        if needs not in present:
            yield Missing(needs, code())

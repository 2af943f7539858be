"""Memory of a process on other NUMA nodes than its processors: a note, as only measuring proves a cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from loadcell.incidents.base import Incident, Judgement
from loadcell.incidents.evidence.numa import NumaMemory
from loadcell.model.message import Bytes, Count, MessageCode, Share

SIGNS = MessageCode("incident.numa-spread.signs", "info", far_share=Share)
_SEEN = MessageCode(
    "incident.numa-spread.seen",
    "info",
    name=str,
    pid=str,
    node=str,
    far_bytes=Bytes,
    total_bytes=Bytes,
    far_share=Share,
)
_HEALTHY = MessageCode("incident.numa-spread.healthy", "info", count=Count)
_ONE_NODE = MessageCode("incident.numa-spread.one-node", "info")

FAR_SHARE: Final = 0.25
_MOST: Final = 5


class NumaSpread(Incident[NumaMemory]):
    name = "numa-spread"
    needs = NumaMemory
    source = "numa(7); access to another node takes 1.5 to 2 times as long"
    signs = SIGNS(far_share=FAR_SHARE)

    def examine(self, evidence: NumaMemory) -> Iterator[Judgement]:
        if evidence.nodes < 2:
            yield self.healthy(_ONE_NODE())
            return
        spread = [process for process in evidence.processes if process.far_share >= FAR_SHARE]
        for process in spread[:_MOST]:
            summary = _SEEN(
                name=process.name,
                pid=str(process.pid),
                node=str(process.node),
                far_bytes=process.far_bytes,
                total_bytes=process.total_bytes,
                far_share=process.far_share,
            )
            yield self.diagnosis("note", "low", summary)
        if not spread:
            yield self.healthy(_HEALTHY(count=len(evidence.processes)))


PART = NumaSpread

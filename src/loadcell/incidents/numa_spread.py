"""Memory on other NUMA nodes than the processors that use it: a note, as only measuring proves a cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from loadcell.incidents.base import Incident, Judgement
from loadcell.incidents.evidence.numa import NumaAllocations, NumaMemory
from loadcell.model.message import Bytes, Count, MessageCode, Seconds, Share

SIGNS = MessageCode("incident.numa-spread.signs", "info", far_share=Share, rate_bytes=Bytes)
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
_ALLOCATED = MessageCode(
    "incident.numa-spread.allocated", "info", other_bytes=Bytes, total_bytes=Bytes, window_s=Seconds,
    other_share=Share, missed_bytes=Bytes,
)  # fmt: skip
_HEALTHY = MessageCode("incident.numa-spread.healthy", "info", count=Count)
_NEAR = MessageCode(
    "incident.numa-spread.near", "info", total_bytes=Bytes, window_s=Seconds, other_share=Share
)
_PAST = MessageCode(
    "incident.numa-spread.past", "info", count=Count, total_bytes=Bytes, window_s=Seconds, other_share=Share,
    past_share=Share,
)  # fmt: skip
_ONE_NODE = MessageCode("incident.numa-spread.one-node", "info")

FAR_SHARE: Final = 0.25
#: Less is copied between two nodes in hundredths of a second.
LEAST_RATE_BYTES: Final = 64 << 20
_MOST: Final = 5


class NumaSpread(Incident[NumaMemory]):
    name = "numa-spread"
    needs = NumaMemory
    source = "numa(7); access to another node takes 1.5 to 2 times as long"
    signs = SIGNS(far_share=FAR_SHARE, rate_bytes=LEAST_RATE_BYTES)

    def examine(self, evidence: NumaMemory) -> Iterator[Judgement]:
        if evidence.nodes < 2:
            yield self.healthy(_ONE_NODE())
            return
        allocations = evidence.allocations
        spread = [process for process in evidence.processes or () if process.far_share >= FAR_SHARE]
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
        is_far = allocations is not None and _is_far(allocations)
        if allocations is not None and is_far:
            summary = _ALLOCATED(
                other_bytes=allocations.other_bytes,
                total_bytes=allocations.total_bytes,
                window_s=allocations.window_s,
                other_share=allocations.other_share,
                missed_bytes=allocations.missed_bytes,
            )
            yield self.diagnosis("note", "low", summary)
        if spread or is_far:
            return
        if allocations is None:
            yield self.healthy(_HEALTHY(count=len(evidence.processes or ())))
            return
        code = _NEAR if allocations.past_share is None else _PAST
        yield self.healthy(
            code.pick(
                count=len(evidence.processes or ()),
                total_bytes=allocations.total_bytes,
                window_s=allocations.window_s,
                other_share=allocations.other_share,
                past_share=allocations.past_share,
            )
        )


def _is_far(allocations: NumaAllocations) -> bool:
    """True if much of the memory allocated in the window is on other nodes; past totals do not count."""
    least_bytes = LEAST_RATE_BYTES * allocations.window_s
    return allocations.other_share >= FAR_SHARE and allocations.total_bytes >= least_bytes


PART = NumaSpread

"""Memory that is swapped in and out all the time: processes wait for the disk instead of running."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from loadcell.incidents.base import Incident, Judgement, Level
from loadcell.incidents.evidence.memory import Memory
from loadcell.model.message import Bytes, MessageCode, Share

SIGNS = MessageCode(
    "incident.swap-storm.signs", "info", rate_bytes=Bytes, full_share=Share, critical_share=Share
)
_SEEN = MessageCode("incident.swap-storm.seen", "info", in_bytes=Bytes, out_bytes=Bytes, full_share=Share)
_SEEN_WITHOUT = MessageCode(
    "incident.swap-storm.seen-without-pressure", "info", in_bytes=Bytes, out_bytes=Bytes
)
_STALLED = MessageCode("incident.swap-storm.stalled", "info", full_share=Share)
_HEALTHY = MessageCode(
    "incident.swap-storm.healthy",
    "info",
    in_bytes=Bytes,
    out_bytes=Bytes,
    used_bytes=Bytes,
    swap_bytes=Bytes,
    available_bytes=Bytes,
    memory_bytes=Bytes,
)
_PRESSURE = MessageCode(
    "incident.swap-storm.pressure", "info", memory_share=Share, io_share=Share, cpu_share=Share
)
_NO_PRESSURE = MessageCode("incident.swap-storm.no-pressure", "info")

RATE_BYTES: Final = 1 << 20
#: Without the pressure as a second sign, the rates must be high.
RATE_ALONE_BYTES: Final = 10 << 20
FULL_SHARE, CRITICAL_SHARE = 0.1, 0.4


class SwapStorm(Incident[Memory]):
    name = "swap-storm"
    needs = Memory
    stalls = True
    source = "Linux, Documentation/accounting/psi.rst; systemd-oomd ends services at 60%"
    signs = SIGNS(rate_bytes=RATE_BYTES, full_share=FULL_SHARE, critical_share=CRITICAL_SHARE)

    def examine(self, evidence: Memory) -> Iterator[Judgement]:
        rates = evidence.swapped_in_bytes_per_s, evidence.swapped_out_bytes_per_s
        full = evidence.memory_full_share
        moved = {"in_bytes": round(rates[0]), "out_bytes": round(rates[1])}
        if full is None:
            if evidence.memory_some_share is None:
                yield self.unseen(_NO_PRESSURE())
            if min(rates) >= RATE_ALONE_BYTES:
                yield self.diagnosis("warning", "medium", _SEEN_WITHOUT(**moved))
                return
        elif full >= FULL_SHARE:
            level: Level = "critical" if full >= CRITICAL_SHARE else "warning"
            if min(rates) >= RATE_BYTES:
                yield self.diagnosis(level, "high", _SEEN(**moved, full_share=full))
            else:
                yield self.diagnosis(level, "medium", _STALLED(full_share=full))
            return
        yield self.healthy(
            _HEALTHY(
                **moved,
                used_bytes=evidence.swap_used_bytes,
                swap_bytes=evidence.swap_bytes,
                available_bytes=evidence.available_bytes,
                memory_bytes=evidence.total_bytes,
            )
        )
        shares = evidence.memory_some_share, evidence.io_some_share, evidence.cpu_some_share
        if None not in shares:
            yield self.healthy(_PRESSURE(memory_share=shares[0], io_share=shares[1], cpu_share=shares[2]))


PART = SwapStorm

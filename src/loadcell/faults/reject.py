"""`reject`: connections of the subject are reset, and new ones refused."""

from __future__ import annotations

from collections.abc import Iterator

from loadcell.faults.base import CONNECTION_LOST
from loadcell.faults.packet_filter import PacketFilterFault
from loadcell.plan.parts import SubjectOptions


class Reject(PacketFilterFault[SubjectOptions]):
    """Answer each TCP packet of the subject by a reset."""

    name = "reject"
    summary = "Reset the subject's TCP connections and refuse new ones (nftables)"
    table = "loadcell_reject"
    expected_errors = (*CONNECTION_LOST, "refused", "http-502", "http-503")

    def rules(self) -> Iterator[tuple[str, str]]:
        rule = "tcp flags & rst == 0 reject with tcp reset"  # its resets pass
        yield rule, rule


PART = Reject

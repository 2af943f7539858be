"""Queues of network interfaces (qdiscs) at one instant, as `tc -s qdisc` shows them."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from loadcell.linux.netlink import NetlinkSocket, attributes

# linux/rtnetlink.h, linux/pkt_sched.h, linux/gen_stats.h
_GET: Final = 38
_ROOT: Final = 0xFFFFFFFF
_KIND, _STATS2, _STATS_BASIC, _STATS_QUEUE = 1, 7, 1, 3
_MESSAGE: Final = struct.Struct("=BxxxiIII")
_QUEUE: Final = struct.Struct("=IIIII")


@dataclass(frozen=True, slots=True)
class QueueCounters:
    """The outermost queue of an interface: `packets` in it now, and running counters of bytes sent, dropped
    packets, and packets delayed by a limit of the rate (`overlimits`).
    """

    interface: str
    kind: str
    packets: int
    bytes: int
    dropped: int
    overlimits: int


def read_queues(link: NetlinkSocket) -> tuple[QueueCounters, ...]:
    """The outermost queue of each interface; empty if the kernel does not answer. About 20 microseconds.

    `link` is of the protocol NETLINK_ROUTE.
    """
    try:
        return tuple(_queues(link))
    except (OSError, struct.error):
        return ()


def _queues(link: NetlinkSocket) -> Iterator[QueueCounters]:
    for message in link.dump(_GET, _MESSAGE.pack(0, 0, 0, 0, 0)):
        _, index, _, parent, _ = _MESSAGE.unpack_from(message)
        if parent != _ROOT:  # within another one
            continue
        values = dict(attributes(message[_MESSAGE.size :]))
        statistics = dict(attributes(values.get(_STATS2, b"")))
        if _STATS_QUEUE not in statistics:
            continue
        packets, _, dropped, _, overlimits = _QUEUE.unpack_from(statistics[_STATS_QUEUE])
        basic = statistics.get(_STATS_BASIC, b"")
        size = struct.unpack_from("=Q", basic)[0] if len(basic) >= 8 else 0
        kind = values.get(_KIND, b"").rstrip(b"\0").decode("ascii", "replace")
        name = link.interfaces.get(index, str(index))
        yield QueueCounters(name, kind, packets, size, dropped, overlimits)

"""The network: packets mostly queue before an interface, or an interface is at its nominal speed."""

from __future__ import annotations

from loadcell.analysis.limits.candidate import (
    Evidence,
    Sign,
    at_limit,
    declared_candidate,
    mostly,
    stronger,
    unmet_demand,
)
from loadcell.model.message import ForeignText, MessageCode, Share
from loadcell.model.resources import LinkUse, QueueUse, Unobserved

QUEUE = MessageCode(
    "limit.network.queue", "info", interface=ForeignText, discipline=ForeignText, waiting_share=Share
)  # fmt: skip
SPEED = MessageCode("limit.network.speed", "info", interface=ForeignText, used_share=Share)


def _signs(evidence: Evidence) -> Sign | None:
    # The load of a server on this machine takes no link.
    is_here = evidence.used.served is not None or evidence.used.unobserved is Unobserved.UNIDENTIFIED
    leads = evidence.used.interface  # unknown: any may lead to the target
    signs = [_of_queue(queue, evidence) for queue in evidence.used.queues if leads in (None, queue.interface)]
    signs += [
        _of_link(link, link.bytes_per_s / link.speed_bytes_per_s)
        for link in evidence.used.links
        if link.speed_bytes_per_s and not is_here and leads in (None, link.interface)
    ]
    return stronger(*signs) if signs else None


def _of_link(link: LinkUse, used: float) -> Sign:
    """`used` is the share of the nominal speed in the busier direction."""
    return Sign((at_limit(used),), SPEED(interface=link.interface, used_share=used))


def _of_queue(queue: QueueUse, evidence: Evidence) -> Sign:
    return Sign(
        (mostly(queue.waiting_share, queue.looks), unmet_demand(evidence)),
        QUEUE(
            interface=queue.interface, discipline=queue.discipline, waiting_share=queue.waiting_share
        ),
    )  # fmt: skip


CANDIDATE = declared_candidate("network", _signs)

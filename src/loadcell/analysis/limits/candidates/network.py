"""A network interface that carries nearly its nominal speed."""

from __future__ import annotations

from loadcell.analysis.limits.candidate import AT_LIMIT, Observation, declared_candidate
from loadcell.model.message import ForeignText, Message, MessageCode, Share

SPEED = MessageCode("limit.network.speed", "info", interface=ForeignText, utilisation_share=Share)


def _signs(trial: Observation) -> tuple[Message, ...]:
    for link in trial.used.links:
        if link.speed_bytes_per_s and link.bytes_per_s >= AT_LIMIT * link.speed_bytes_per_s:
            share = link.bytes_per_s / link.speed_bytes_per_s
            return (SPEED(interface=link.interface, utilisation_share=share),)
    return ()


CANDIDATE = declared_candidate("network", _signs)

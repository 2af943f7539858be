"""Contract of a candidate for the limiting resource.

Signs are utilisation, saturation and errors of a resource (Gregg, "Thinking Methodically about Performance",
ACM Queue 10(12), 2012). By the utilisation law the resource that limits throughput is the one whose
utilisation approaches 1 (Denning and Buzen, "The Operational Analysis of Queueing Network Models", 1978).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from loadcell.model.message import Message, MessageCode
from loadcell.model.resources import ProcessUse, Resources

#: Utilisation from which a resource is at its limit. Counters of CPU time have ticks of 10 ms, and a closed
#: loop leaves short gaps between requests.
AT_LIMIT = 0.9


#: Evidence that supports a candidate, empty where its signs are missing.
Signs = Callable[[Resources], tuple[Message, ...]]


@dataclass(frozen=True)
class Candidate:
    """A resource that may limit a system.

    `label` is its name in a sentence and `advice` what to try. It is not judged in windows shorter than
    `least_window_s`. `explains` names candidates whose signs follow from this one.
    """

    name: str
    label: MessageCode
    advice: MessageCode
    signs: Signs
    least_window_s: float
    explains: tuple[str, ...] = ()


def declared_candidate(
    name: str, signs: Signs, *, least_window_s: float = 1.0, explains: tuple[str, ...] = ()
) -> Candidate:
    """A candidate with the codes `limit.NAME` and `limit.NAME.advice`."""
    return Candidate(
        name,
        MessageCode(f"limit.{name}", "info"),
        MessageCode(f"limit.{name}.advice", "info"),
        signs,
        least_window_s,
        explains,
    )


def is_at_quota(process: ProcessUse) -> bool:
    """True if a process uses its CPU quota, so that neither more cores nor other threads would help."""
    quota = None if process.control_group is None else process.control_group.cpu_quota_cores
    return quota is not None and process.cores >= AT_LIMIT * quota


def available_cores(used: Resources, process: ProcessUse) -> int:
    """Cores that a process may run on."""
    return min(used.host.cores, process.cpus_allowed or used.host.cores)

"""Classes of the waits of an SQL server's sessions, by wait events of PostgreSQL (manual, "Wait Events") and
states of MariaDB and MySQL (`loadcell.systems.mysql.monitor.samples`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from loadcell.analysis.limits.candidate import NEEDS_SAMPLES, Condition, mostly, reaching
from loadcell.model.resources import SessionUse, SessionWait

#: Instants without which sightings at the same instant weigh too much.
_LEAST_LOOKS: Final = 4
_LOG: Final = re.compile(r"^WAL(Sync|Write|Init)", re.IGNORECASE)


@dataclass(frozen=True)
class WaitClass:
    """Waits of some kinds without those for the log, and single events of other kinds."""

    kinds: frozenset[str] = frozenset()
    events: frozenset[str] = frozenset()
    of_log: bool = False

    def has(self, wait: SessionWait) -> bool:
        """True if the wait belongs to this class."""
        is_log = wait.kind == "Commit" or _LOG.match(wait.event) is not None
        if self.of_log or is_log:
            return self.of_log and is_log
        return wait.kind in self.kinds or wait.event in self.events

    def has_by_event(self, wait: SessionWait) -> bool:
        """True if the name of the event decides on it, not its kind alone."""
        return self.has(wait) and wait.kind not in self.kinds


#: Waits for each other. Of communication between processes (IPC) those for group updates: others are waits of
#: a leader for its own workers, or for a standby.
LOCKS: Final = WaitClass(
    frozenset({"Lock", "LWLock", "BufferPin", "Wait"}),
    frozenset({"ProcArrayGroupUpdate", "XactGroupUpdate", "ClogGroupUpdate"}),
)
#: Waits for reads and writes of data, and for the flush of the log.
DATA_IO: Final = WaitClass(frozenset({"IO"}))
LOG_FLUSH: Final = WaitClass(of_log=True)
_CLASSES: Final = (LOCKS, DATA_IO, LOG_FLUSH)
#: Event of the sum of less frequent waits of one kind.
OTHER_EVENTS: Final = "others"


def shortened(waits: Sequence[SessionWait], most: int) -> tuple[SessionWait, ...]:
    """The `most` first of the waits, and all others as sums that belong to the same classes.

    Events that a class has by their name remain: there are few of them.
    """
    remaining: defaultdict[tuple[str, str], float] = defaultdict(float)
    for wait in waits[most:]:
        is_named = any(of_class.has_by_event(wait) for of_class in _CLASSES)
        remaining[wait.kind, wait.event if is_named else OTHER_EVENTS] += wait.sessions
    sums = [SessionWait(kind, event, count) for (kind, event), count in remaining.items()]
    return (*waits[:most], *sorted(sums, key=lambda wait: -wait.sessions))


@dataclass(frozen=True)
class Waiting:
    """Share of the time of active sessions, 0 to 1, in waits of one class, and the most frequent of them.

    `condition`: more than half of it, by the number of times that an active session was seen.
    """

    share: float
    wait: str
    condition: Condition


def waiting(sessions: SessionUse | None, of_class: WaitClass) -> Waiting | None:
    """Waits of one class; None where no session waited so."""
    if sessions is None or not sessions.active:
        return None
    waits = [wait for wait in sessions.waits if of_class.has(wait)]
    if not waits:
        return None
    share = min(1.0, sum(wait.sessions for wait in waits) / sessions.active)
    condition = mostly(share, sessions.active * sessions.looks)
    if sessions.looks < _LEAST_LOOKS:
        condition = reaching(sessions.looks, _LEAST_LOOKS, NEEDS_SAMPLES(looks=sessions.looks))
    return Waiting(share, f"{waits[0].kind}: {waits[0].event}", condition)

"""Monitor of an SQL server with one session beside the load: connecting, losing and finding the server again,
notes, and the cost to the server.
"""

from __future__ import annotations

import os
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import ClassVar, Generic, Protocol, TypeVar

from loadcell.model import trial_record
from loadcell.monitors.base import Monitor, MonitorContext, Row
from loadcell.plan.parts import Options
from loadcell.plan.units import Rate
from loadcell.systems.base import TargetError
from loadcell.systems.shared.server_samples import Waits

#: Seconds between attempts to connect to a lost server.
_RETRY_S = 1.0


class LinkError(Exception):
    """The connection is lost: the error of the driver."""


class AnswerError(Exception):
    """The server refused a query and is still there: its message."""


class Link(Protocol):
    """One session; `questions` counts its queries, which raise LinkError and AnswerError."""

    questions: int

    def close(self) -> None:
        """Close the session without waiting for the server."""


class ServerMonitorOptions(Options):
    """Options of every monitor of an SQL server."""

    wait_rate: Rate = Rate(1)


Opts = TypeVar("Opts", bound=ServerMonitorOptions)
LinkT = TypeVar("LinkT", bound=Link)
ObservedT = TypeVar("ObservedT")


class ServerMonitor(Monitor[Opts], Generic[Opts, LinkT, ObservedT]):
    """Looks at the sessions `wait_rate` times a second, and once a second completely."""

    #: what it cannot see, and the remedy
    notes: ClassVar[Mapping[str, str]]
    #: the class of `MonitorContext.observed` of targets that it can watch
    observed: type[ObservedT]

    def __init__(
        self, options: Opts, context: MonitorContext, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(options, context)
        self._monotonic = monotonic
        self._link: LinkT | None = None
        self._tried_s = float("-inf")
        self._read_s = 0.0
        self._looks = 0
        self._waits = Waits()
        self._further: dict[str, list[Row]] = {}
        self._events: list[Row] = []
        self._notes: dict[str, str] = {}
        self._connects = self._questions = 0
        #: clock ticks of the server for each session, by the id of its process or thread
        self._ticks: dict[int, int] = {}

    @abstractmethod
    def _open(self, observed: ObservedT) -> LinkT:
        """Open a session. Raises TargetError."""

    @abstractmethod
    def _begin(self, link: LinkT, observed: ObservedT) -> None:
        """Take the base of all differences. Raises LinkError and AnswerError."""

    @abstractmethod
    def _look(self, *, complete: bool) -> list[Row]:
        """Rows of one look. Raises LinkError and AnswerError."""

    @abstractmethod
    def _end_statements(self) -> list[Row]:
        """Put the rows of statements into the further tables."""

    @property
    def interval_ns(self) -> int:
        return round(1e9 / self.options.wait_rate)

    def sample(self, elapsed_s: float) -> list[Row]:  # noqa: ARG002 - its own readings are further apart
        if self._link is None:
            self._connect()
            return []
        return self._guarded(lambda: self._look(complete=self._looks + 1 >= round(self.options.wait_rate)))

    def finish(self, elapsed_s: float) -> list[Row]:  # noqa: ARG002
        if self._link is None:
            return []
        rows = self._guarded(lambda: self._look(complete=True))
        self._guarded(self._end_statements)
        return rows

    def further_rows(self) -> Mapping[str, list[Row]]:
        rows, self._further = self._further, {}
        return rows

    def events(self) -> list[Row]:
        events, self._events = self._events, []
        return events

    def close(self) -> None:
        if self._link is not None:
            self._questions += self._link.questions
            self._link.close()
            self._link = None

    def account(self) -> trial_record.MonitorRecord:
        """The monitor's cost to the server, and what it could not read."""
        notes = tuple(
            {"note": note, "text": self.notes[note], **({"detail": detail} if detail else {})}
            for note, detail in self._notes.items()
        )
        ticks = sum(self._ticks.values())
        return trial_record.MonitorRecord(
            connects=self._connects,
            questions=self._questions,
            server_cpu_s=ticks / os.sysconf("SC_CLK_TCK") if self._ticks else None,
            notes=notes or None,
        )

    def _connect(self) -> None:
        """Open the session, and take the base of all differences."""
        observed, now_s = self.context.observed, self._monotonic()
        if not isinstance(observed, self.observed) or now_s < self._tried_s + _RETRY_S:
            return
        self._tried_s = now_s
        try:
            self._link = self._open(observed)
            self._begin(self._link, observed)
        except (TargetError, LinkError, AnswerError) as error:
            self._notes.setdefault("not-connected", str(error))
            self.close()
            return
        self._notes.pop("not-connected", None)
        self._connects += 1
        if self._connects > 1:
            self._events.append({"event": "monitor", "monitor": self.name, "what": "back"})

    def _guarded(self, act: Callable[[], list[Row]]) -> list[Row]:
        """Do it; a lost server is noted and called again later."""
        try:
            return act()
        except AnswerError as error:  # rights changed meanwhile
            self._notes.setdefault("refused", str(error))
        except LinkError as error:
            self._notes.setdefault("lost", str(error))
            self._events.append(
                {"event": "monitor", "monitor": self.name, "what": "lost", "reason": str(error)}
            )
            self.close()
        return []

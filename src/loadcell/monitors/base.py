"""Contract of monitors: a few rows per sample."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from loadcell.model.capability import Capability
from loadcell.model.tables import SampleTable
from loadcell.model.trial_record import MonitorRecord
from loadcell.plan.parts import Options

Opts = TypeVar("Opts", bound=Options)
Row = dict[str, Any]

INTERVAL_NS = 1_000_000_000


@dataclass(frozen=True)
class MonitorContext:
    """Context of a monitor.

    `roots` gives the present ids of the target's root processes; `observed` is the target's access for
    monitors of its kind (`Target.observed`), None if there is none; `process_kind` reduces the title of a
    process of the target to its kind (`Target.process_kind`). `length_s` is the expected duration of the
    load, warm-up included.
    """

    roots: Callable[[], list[int]]
    observed: Any = None
    process_kind: Callable[[str], str] = str
    length_s: float = 0.0


class Monitor(ABC, Generic[Opts]):
    """Samples something once an interval. The sampler adds times, lateness and cost to every row.

    A monitor that looks into systems of one kind names the capability of such targets in `needs`.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    Options: ClassVar[type[Options]]
    #: the table of its rows
    table: ClassVar[SampleTable]
    #: its further tables, by the names that `beside` gives them
    tables: ClassVar[Mapping[str, SampleTable]] = {}
    #: capabilities of which a target must offer one; none: any target can be watched
    needs: ClassVar[frozenset[Capability]] = frozenset()

    def __init__(self, options: Opts, context: MonitorContext) -> None:
        self.options = options
        self.context = context

    @abstractmethod
    def sample(self, elapsed_s: float) -> list[Row]:
        """Rows for the time since the last call (`elapsed_s`; 0 at the first call, which sets the counters'
        base).
        """

    @property
    def interval_ns(self) -> int:
        """Sampling interval in ns."""
        return INTERVAL_NS

    def finish(self, elapsed_s: float) -> list[Row]:  # noqa: ARG002
        """A last look when the load is over, like `sample`."""
        return []

    def beside(self) -> Mapping[str, list[Row]]:
        """Rows of its other tables since the last call, by name of the table."""
        return {}

    def events(self) -> list[Row]:
        """Events since the last call, each with its `event`; the sampler adds the time."""
        return []

    def metrics(self) -> Mapping[str, float]:
        """Values of its declared metrics over the samples, by key; asked for once, after `close`."""
        return {}

    def account(self) -> MonitorRecord:
        """Its cost to the server and its notes, asked for once, after `close`; the sampler fills in the rest."""
        return MonitorRecord()

    def close(self) -> None:
        """Give back what it holds; for most: nothing."""

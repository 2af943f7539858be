"""Contract of monitors: a few rows per sample; and differences of the running counters that they read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeAlias, TypeVar

from loadcell.model import trial_record
from loadcell.model.extensions import Capability
from loadcell.model.panels import SampleTable
from loadcell.plan.parts import Options

if TYPE_CHECKING:
    from loadcell.model.json import JsonObject

Opts = TypeVar("Opts", bound=Options)
Row: TypeAlias = "JsonObject"

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
    #: its further tables, by the names that `further_rows` gives them
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

    def further_rows(self) -> Mapping[str, list[Row]]:
        """Rows of its other tables since the last call, by name of the table."""
        return {}

    def events(self) -> list[Row]:
        """Events since the last call, each with its `event`; the sampler adds the time."""
        return []

    def metrics(self) -> Mapping[str, float]:
        """Values of its declared metrics over the samples, by key; asked for once, after `close`."""
        return {}

    def account(self) -> trial_record.MonitorRecord:
        """Its cost to the server and its notes, asked for once, after `close`."""
        return trial_record.MonitorRecord()

    def close(self) -> None:
        """Give back what it holds; for most: nothing."""


_WRAP_32 = 1 << 32
_WRAP_64 = 1 << 64


def difference(before: int, now: int) -> int:
    """Increase of a counter, never negative.

    A fall of more than half the range is a wrap: 64 bits where the old value needed them, else 32 (the
    milliseconds of /proc/diskstats are 32 bits wide). Any other fall is a reset, or one of the small steps
    back that the kernel documents for iowait and steal (proc(5)), and counts as nothing.
    """
    if now >= before:
        return now - before
    fall = before - now
    if before >= _WRAP_32:
        return _WRAP_64 - fall if fall > _WRAP_64 // 2 else 0
    return _WRAP_32 - fall if fall > _WRAP_32 // 2 else 0


def rate(before: int | None, now: int | None, elapsed_s: float) -> float | None:
    """A counter's mean rate per second; None when either reading is missing."""
    if before is None or now is None or elapsed_s <= 0:
        return None
    return difference(before, now) / elapsed_s

"""What every monitor gives: a few rows of samples, each time it is asked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from loadcell.plan.parts import Options

Opts = TypeVar("Opts", bound=Options)
Row = dict[str, Any]


@dataclass(frozen=True)
class MonitorContext:
    """What a monitor may look at: `roots` gives the process ids at the root of the target, at this moment."""

    roots: Callable[[], list[int]]


class Monitor(ABC, Generic[Opts]):
    """Samples something once an interval. The sampler adds times, lateness and cost to every row."""

    name: ClassVar[str]
    summary: ClassVar[str]
    Options: ClassVar[type[Options]]
    #: the file its rows go to (`host.csv`), and its columns in order, each with its unit in its name
    file: ClassVar[str]
    columns: ClassVar[tuple[str, ...]]

    def __init__(self, options: Opts, context: MonitorContext) -> None:
        self.options = options
        self.context = context

    @abstractmethod
    def sample(self, elapsed_s: float) -> list[Row]:
        """Rows for the time since the last call (`elapsed_s`; 0 at the first call, which sets the counters' base)."""

    def close(self) -> None:
        """Give back what it holds; for most: nothing."""

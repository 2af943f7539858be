"""Contract of targets: a system that can be started, filled with data, described and stopped."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from loadcell.model.capability import Capability
from loadcell.model.message import Message, MessageError
from loadcell.plan.parts import Advice, Misfit, Options
from loadcell.plan.topology import ANYWHERE, Pin
from loadcell.systems.messages import TARGET_NO_SQL
from loadcell.systems.shared import path_checks

Opts = TypeVar("Opts", bound=Options)

#: Loads a data set through the engine: called with the endpoint to fill; returns the engine's own account of
#: it.
Loader = Callable[[dict[str, Any]], dict[str, Any]]


class TargetError(MessageError):
    """The target could not do what was asked: what was found, and what to do about it.

    The reason is one of the catalogue (`because`), or words of one's own with `advice`, the remedy in a
    sentence.
    `during` is the phase (`up`, `prepare`, `collect`, ...).
    """

    def __init__(self, reason: Message | str, *, advice: str = "", during: str = "up") -> None:
        super().__init__(reason, advice=advice)
        self.during = during


@dataclass(frozen=True)
class TargetContext:
    """Where a target may put its things, and how it says what it does.

    `work` is a directory of the run's own, readable by other users, removed at the run's end.
    `log` takes one line at a time for the trial's output.log; secrets are removed by the receiver.
    `secret` turns `${env:NAME}` in an option into its value, and makes sure that it is never written.
    `pin` is where the processes run that the target starts.
    """

    work: Path
    log: Callable[[str], None]
    secret: Callable[[str], str]
    pin: Pin = ANYWHERE


@dataclass(frozen=True)
class DataSet:
    """Origin of the data that a trial ran on.

    `how` is `loaded`, `reused` (nothing had changed) or `restored` (a workload had changed it);
    `duration_s` and `size_bytes` are its price.
    """

    fingerprint: str
    how: str
    duration_s: float
    size_bytes: int | None = None
    detail: dict[str, Any] = field(default_factory=dict)


class Target(ABC, Generic[Opts]):
    """A system under test. One object serves many trials as long as its options stay the same."""

    name: ClassVar[str]
    summary: ClassVar[str]
    Options: ClassVar[type[Options]]
    #: protocols that it speaks, and other abilities, for workloads and monitors
    offers: ClassVar[frozenset[Capability]] = frozenset()
    #: Whether the system lives in the process that makes the load: that is then what monitors watch.
    in_worker: ClassVar[bool] = False

    def __init__(self, options: Opts, context: TargetContext) -> None:
        self.options = options
        self.context = context

    @classmethod
    def started(cls, options: Opts) -> bool:
        """True if loadcell starts the system's processes with these options, and so decides where they run."""
        return getattr(options, "server", None) != "external"

    @classmethod
    def misfits(cls, options: Opts) -> Iterator[Misfit]:
        """Why the system cannot be brought up on this machine, as far as can be seen before: each path is one
        of an option.
        """
        yield from path_checks.of_data(getattr(options, "data", None), cls.name)

    @abstractmethod
    def up(self) -> None:
        """Bring the system to where it answers; does nothing when it already does. Raises TargetError.

        Called at the beginning of each trial, also after the system died in the trial before. Two targets of
        one run may share what lies in `work` (a data directory, under other settings), so only one is up at a
        time.
        """

    @abstractmethod
    def prepare(self, data: dict[str, Any], load: Loader, *, will_change: bool) -> DataSet:
        """Make the described data set be there, untouched, creating only what loadcell owns.

        Raises TargetError.

        `will_change` says that the coming workload changes it, so that the next trial needs it restored.
        """

    @abstractmethod
    def endpoint(self) -> dict[str, Any]:
        """The `target` section of the engine's specification, secrets included: never to be written anywhere."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Version, settings as read back, file system of the data: what belongs into the record."""

    @abstractmethod
    def processes(self) -> list[int]:
        """Process ids at the root of the system's process trees on this machine; empty when it runs
        elsewhere.
        """

    def observed(self) -> Any:
        """Access for monitors made for this kind of system, secrets included; None if there is none."""
        return None

    @staticmethod
    def process_kind(title: str) -> str:
        """The title of a process of the target without what changes from moment to moment."""
        return title

    @abstractmethod
    def alive(self) -> bool:
        """True if it still answers."""

    @abstractmethod
    def counters(self) -> dict[str, int]:
        """The system's own running counters (transactions, rows ...), to hold the load's record against."""

    def examine(self) -> dict[str, Any] | None:
        """Result of an examination that ends the system: it is down afterwards. None without an examination.

        A trial on an examined system is too slow to be compared with any other: its results do not count.
        Raises TargetError.
        """
        return None

    def ask(self, question: str) -> list[tuple[Any, ...]]:  # noqa: ARG002
        """The answer to one statement of SQL that only reads, on the data of the trial.

        Raises TargetError.
        """
        raise TargetError(TARGET_NO_SQL(target=self.name), during="verify")

    @abstractmethod
    def down(self) -> None:
        """Stop what `up` started, keeping its data for the next `up`.

        Never raises on a system already gone.
        """

    @abstractmethod
    def destroy(self) -> None:
        """Remove whatever loadcell made and was not told to keep.

        Called once, at the run's end; never raises.
        """

    @classmethod
    def advice(cls, options: Opts, load: dict[str, Any]) -> list[Advice]:  # noqa: ARG003
        """Remarks on these options under this load, without touching anything (`loadcell check`).

        Paths are whole (`target.postgres.settings.fsync`).
        """
        return []

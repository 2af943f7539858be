"""Contracts of the parts that a plan can name: targets, workloads, monitors and faults.

`plan/` knows these shapes, never the names behind them: a `Parts` value is handed in by the caller
(`loadcell.parts.installed()` gathers the built-in ones and those of entry points).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from loadcell.model.extensions import Capability, TargetKind
from loadcell.model.message import Message
from loadcell.plan.data_size import Cache, Questions

if TYPE_CHECKING:
    from loadcell.plan.affinity import Topology
    from loadcell.plan.model import Load
    from loadcell.plan.workload import Workload


class Options(BaseModel):
    """Base of every part's options: unknown keys are mistakes, values never change once read.

    Of all parts a plan uses few, so a model's validator is made when it is first asked. Where settings are
    described by text below them, the class says `use_attribute_docstrings=True`: looking for it takes as long
    as the rest of the class.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    @property
    def external(self) -> bool:
        """True if they are of a server that loadcell neither starts nor stops."""
        return False

    @property
    def most_in_flight(self) -> int | None:
        """Requests that a client has in flight at most, of a workload's options."""
        return 1

    @property
    def metric_names(self) -> Iterable[str]:
        """Names of metrics that the plan defines by them, of a monitor's options."""
        return ()

    @property
    def slowed_by(self) -> str | None:
        """The profiler that their system is started under, which makes it many times slower: no time or rate
        is representative.
        """
        return None

    @property
    def allows_faults(self) -> bool:
        """True if a plan may cause faults on a server that loadcell did not start."""
        return False


class SubjectOptions(Options, use_attribute_docstrings=True):
    """Options of a fault on a subject. In a plan, a text alone is the subject."""

    subject: str = Field(min_length=1)
    """The part of the target that it acts on, such as `postgres` or `storage.brick`."""


#: The option of targets that may be servers which loadcell did not start.
FAULTS_ALLOWED: bool | None = Field(
    default=None,
    alias="faults-allowed",
    description="Whether faults may be caused on a server that loadcell did not start.",
)

#: Names that a plan gives to several monitors of one kind: parts of names of files and paths.
INSTANCE_NAME = r"[a-z0-9][a-z0-9-]{0,31}"
_INSTANCE = ":"


class NamedOptions(Options):
    """Options of a monitor that a plan may have several times, each with another name."""

    name: str | None = Field(
        default=None,
        pattern=f"^{INSTANCE_NAME}$",
        description="Tells several monitors of this kind apart: lower-case letters, digits and hyphens.",
        examples=["app"],
    )


def instance_key(part: str, name: str) -> str:
    """The key of a monitor with its own name, in plans, records and paths of settings."""
    return f"{part}{_INSTANCE}{name}"


def part_name(key: str) -> str:
    """The monitor that a key of `monitors` means: `prometheus` of `prometheus:app`."""
    return key.partition(_INSTANCE)[0]


#: Placeholders of services that loadcell starts: their port, and the directory of the run.
PORT, WORK = "{port}", "{work}"

Opts = TypeVar("Opts", bound=Options)


class Part(Generic[Opts]):
    """Contract of targets, workloads and monitors for the plan's reader; each kind adds its questions."""

    name: ClassVar[str]
    summary: ClassVar[str]
    Options: ClassVar[type[Options]]


class TargetPart(Part[Opts]):
    """Contract of targets for the plan's reader: what is asked of options, without a target."""

    #: protocols that it speaks, and other abilities, for workloads and monitors
    offers: ClassVar[frozenset[Capability]] = frozenset()
    #: Whether the system lives in the process that makes the load: that is then what monitors watch.
    in_worker: ClassVar[bool] = False
    #: Whether a server that loadcell starts executes its work on one thread.
    single_threaded: ClassVar[bool] = False
    #: what tells the sizes of an external system's data and cache
    size_questions: ClassVar[Questions | None] = None

    @classmethod
    def offered(cls, options: Opts) -> frozenset[Capability]:  # noqa: ARG003
        """Those of `offers` that it has with these options."""
        return cls.offers

    @classmethod
    def started(cls, options: Opts) -> bool:
        """True if loadcell starts the system's processes with these options, and decides where they run."""
        return not options.external

    @classmethod
    def misfits(cls, options: Opts) -> Iterable[Misfit]:  # noqa: ARG003
        """Why the system cannot be brought up on this machine, as far as can be seen before: each path is one
        of an option.
        """
        return ()

    @classmethod
    def placeholders(cls, options: Opts) -> frozenset[str]:  # noqa: ARG003
        """Words such as `{port}` that `Target.filled` replaces in options of monitors."""
        return frozenset()

    @classmethod
    def refusals(cls, options: Opts, clients: int) -> Iterable[Misfit]:  # noqa: ARG003
        """Why the system would certainly refuse some of this number of connections: paths as of `misfits`."""
        return ()

    @classmethod
    def shared_settings(cls, options: Opts, workload: str) -> Iterable[SharedSetting]:  # noqa: ARG003
        """Settings of the system that must equal options of this workload."""
        return ()

    @classmethod
    def cache(cls, options: Opts) -> Cache | None:  # noqa: ARG003
        """The memory that caches its data with these options; None if that is unknown, as on an external
        server.
        """
        return None

    @classmethod
    def record_bytes(cls, options: Opts, payload_bytes: float) -> float | None:  # noqa: ARG003
        """Bytes that a key with its value takes, `payload_bytes` long together; None if unknown."""
        return None

    @classmethod
    def advice(cls, options: Opts, load: Load) -> list[Advice]:  # noqa: ARG003
        """Remarks on these options under this load, without touching anything (`loadcell check`).

        Paths are whole (`target.postgres.settings.fsync`).
        """
        return []


class UsedPart(Part[Opts]):
    """A part that is used with a target."""

    #: capabilities of which a target must offer one; none: it can be used with any target
    needs: ClassVar[frozenset[Capability]] = frozenset()


class MonitorPart(UsedPart[Opts]):
    """Contract of monitors for the plan's reader. One whose options derive from `NamedOptions` may be in a
    plan several times.
    """

    #: whether plans without `monitors` have it
    by_default: ClassVar[bool] = True
    #: capabilities of targets with which such plans have it, where it is no default of all
    default_for: ClassVar[frozenset[Capability]] = frozenset()

    @classmethod
    def target_misfits(
        cls,
        options: Opts,  # noqa: ARG003
        target: type[TargetPart[Any]],  # noqa: ARG003
        of_target: Any,  # noqa: ARG003
    ) -> Iterable[Misfit]:
        """Why it cannot watch the target with these options of it: each path is an option of the monitor."""
        return ()


@dataclass(frozen=True)
class Advice:
    """A remark about a plan that is valid but will not do what its author hopes.

    `path` is the dotted path of the setting in the plan. Of several treatments' remarks on one path the last
    is shown; those with different `subject` are all shown.
    """

    path: str
    message: Message
    subject: str = ""


@dataclass(frozen=True)
class Misfit:
    """Settings that are valid alone and impossible together.

    `path` is the dotted path of the setting that is best changed; the advice of `message` is what is allowed
    instead.
    """

    path: str
    message: Message


Relation = Literal["equal", "at-least"]


@dataclass(frozen=True)
class SharedSetting:
    """A setting of the target that must equal an option of the workload, or the two do not understand each
    other: its path below the target, and its value. `is_default`: the plan leaves it open. With `relation`
    at-least it is a number that must not be below the option.
    """

    path: str
    value: str
    option: str
    is_default: bool
    relation: Relation = "equal"


@dataclass(frozen=True)
class Parts:
    """Everything a plan can name, by name; `topology` tells how the machine that it would run on is
    laid out, `memory` how many bytes of memory it has (None: unknown).
    """

    targets: Mapping[str, type[Any]] = field(default_factory=dict)
    workloads: Mapping[str, type[Any]] = field(default_factory=dict)
    monitors: Mapping[str, type[Any]] = field(default_factory=dict)
    topology: Callable[[], Topology] | None = None
    memory: Callable[[], int | None] | None = None
    faults: Mapping[str, type[Any]] = field(default_factory=dict)

    def target(self, name: str) -> type[TargetPart[Any]]:
        """An installed target, for questions about its options. Raises KeyError."""
        part: type[TargetPart[Any]] = self.targets[name]
        return part

    def workload(self, name: str) -> type[Workload[Any]]:
        """An installed workload. Raises KeyError."""
        part: type[Workload[Any]] = self.workloads[name]
        return part

    def monitor(self, key: str) -> type[Any]:
        """The monitor of a key of `monitors`. Raises KeyError."""
        part: type[Any] = self.monitors[part_name(key)]
        return part

    def target_kind(self, name: str, options: Options | None = None) -> TargetKind:
        """Name and capabilities of an installed target; those with its options, if they are given."""
        target = self.target(name)
        return TargetKind(name, target.offers if options is None else target.offered(options))

    def fits(self, part: type[UsedPart[Any]], target: str, options: Options | None = None) -> bool:
        """True if a workload or monitor needs nothing, or one of the capabilities of the target."""
        return not part.needs or bool(part.needs & self.target_kind(target, options).offers)

    def is_default(self, monitor: type[MonitorPart[Any]], target: str) -> bool:
        """True if a plan without `monitors` has this one for the target."""
        offers = self.target_kind(target).offers
        return self.fits(monitor, target) and (monitor.by_default or bool(monitor.default_for & offers))

    def workloads_for(self, target: str) -> dict[str, type[Any]]:
        """The workloads that can be run on a target."""
        return {name: part for name, part in self.workloads.items() if self.fits(part, target)}

    def targets_for(self, part: type[UsedPart[Any]]) -> list[str]:
        """Names of the targets that a workload or monitor can be used with."""
        return [name for name in self.targets if self.fits(part, name)]

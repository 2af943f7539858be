"""Contracts of the parts that a plan can name: targets, workloads and monitors.

`plan/` knows these shapes, never the names behind them: a `Parts` value is handed in by the caller
(`loadcell.parts.installed()` gathers the built-in ones and those of entry points).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from pydantic import BaseModel, ConfigDict, Field

from loadcell.model.extensions import Capability, TargetKind
from loadcell.model.message import Message

if TYPE_CHECKING:
    from loadcell.plan.affinity import Topology


class Options(BaseModel):
    """Base of every part's options: unknown keys are mistakes, values never change once read.

    Of all parts a plan uses few, so a model's validator is made when it is first asked. Where settings are
    described by text below them, the class says `use_attribute_docstrings=True`: looking for it takes as long
    as the rest of the class.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    @property
    def external(self) -> bool:
        """True if they are of a server that loadcell neither starts nor stops: by the option `server`."""
        return getattr(self, "server", None) == "external"


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


class Part(Protocol):
    """Contract of a target, workload or monitor for the plan's reader.

    More is optional: a target's `in_worker` says that it lives in the process that makes the load, its
    `started(options)` that loadcell starts its processes, its `misfits(options)` are reasons why it cannot be
    had on this machine; a workload's `needs` are the capabilities of which a target must offer one, its
    `load_settings(options)` gives settings of the load that the plan itself leaves open, its `misfits(load,
    target)` are reasons why it cannot run under that load; a monitor with `by_default = False` watches only
    in plans that name it, and one whose options derive from `NamedOptions` may be in a plan several times;
    `advice` remarks on options that are valid but unwise.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    Options: ClassVar[type[Options]]


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

    def monitor(self, key: str) -> type[Any]:
        """The monitor of a key of `monitors`. Raises KeyError."""
        part: type[Any] = self.monitors[part_name(key)]
        return part

    def target_kind(self, name: str) -> TargetKind:
        """Name and capabilities of an installed target."""
        return TargetKind(name, getattr(self.targets[name], "offers", frozenset()))

    def fits(self, part: type[Any], target: str) -> bool:
        """True if a workload or monitor needs nothing, or one of the capabilities of the target."""
        needs: frozenset[Capability] = getattr(part, "needs", frozenset())
        return not needs or bool(needs & self.target_kind(target).offers)

    def workloads_for(self, target: str) -> dict[str, type[Any]]:
        """The workloads that can be run on a target."""
        return {name: part for name, part in self.workloads.items() if self.fits(part, target)}

    def targets_for(self, part: type[Any]) -> list[str]:
        """Names of the targets that a workload or monitor can be used with."""
        return [name for name in self.targets if self.fits(part, name)]

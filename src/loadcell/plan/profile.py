"""Profiles that a plan takes after its ordinary trials: `profile: cpu`, or with options
`profile: {cpu: {...}, off-cpu: {...}}`. Each kind is a subclass of `Profile`.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, PrivateAttr, ValidationInfo, model_validator

from loadcell.model.json import JsonObject
from loadcell.model.message import MessageCode
from loadcell.plan.files import PlanFiles, files_of
from loadcell.plan.nodes import Keys, Scalar, plain
from loadcell.plan.parts import Options
from loadcell.plan.problems import INVALID, Problem, listed, nearest, shown
from loadcell.plan.reading import read_model
from loadcell.plan.units import Duration, Size

ALLOWED_PROFILE = MessageCode("allowed.profile", kinds=list, example=str)
PROFILE_UNDER = MessageCode("plan.profile-under", treatment=str, profiler=str)
PROFILE_WORKLOAD = MessageCode("plan.profile-workload", kind=str, workload=str)
UNKNOWN_TREATMENT = MessageCode("plan.unknown-treatment", name=str, names=list)


class Profile(Options, use_attribute_docstrings=True):
    """Options that all kinds of profiles have."""

    kind: ClassVar[str]
    #: the only workload that it can be taken of; None: those of any target with processes
    workload: ClassVar[str | None] = None

    treatments: Literal["best", "all"] | Annotated[list[str], Field(min_length=1)] = "best"
    """Which treatments get an extra trial: the one with the highest median throughput, every one, or those
    named."""

    def document(self) -> JsonObject:
        """As plain JSON: run.json keeps it."""
        return self.model_dump(mode="json")


class CpuProfile(Profile, use_attribute_docstrings=True):
    """After the ordinary trials, where the target's processes spend their time on the CPU, as a flame
    graph.
    """

    kind = "cpu"

    frequency: Annotated[int, Field(ge=1, le=9999)] = 99
    """Samples per second of each CPU. 99 keeps out of step with what happens 100 times a
    second."""
    call_graph: Literal["dwarf", "fp"] = "dwarf"
    """The way to find callers: `dwarf` for programs as distributions build them; `fp`, cheaper, for programs
    and libraries built with frame pointers."""


class OffCpuProfile(Profile, use_attribute_docstrings=True):
    """After the ordinary trials, where the threads of the target's processes wait instead of running, by
    call stack, as a flame graph.
    """

    kind = "off-cpu"

    every: Annotated[int, Field(ge=1, le=100_000)] = 1
    """Record the call stack of each thread's every n-th wait. All waits are timed. More than 1 costs less
    where threads wait many thousand times a second."""
    call_graph: Literal["dwarf", "fp"] = "dwarf"
    """The way to find callers, as for `cpu`."""


class AsyncProfile(Profile, use_attribute_docstrings=True):
    """Options of profiles by async-profiler."""

    library: Annotated[str, Field(min_length=1)] | None = None
    """The library `libasyncProfiler.so` or a jar with it, relative to the plan. Default: the package on Maven
    Central, which Maven downloads before the first run."""
    _library: Path | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _find_library(self, info: ValidationInfo) -> Self:
        if self.library is not None:
            self._library = files_of(info).directory / Path(self.library).expanduser()
        return self

    @property
    def library_path(self) -> Path | None:
        """The library that the plan names, absolute."""
        return self._library


class JvmCpuProfile(AsyncProfile, use_attribute_docstrings=True):
    """After the ordinary trials, where JVMs of the target spend their time on the CPU, with Java, native and
    kernel functions, as a flame graph.
    """

    kind = "jvm-cpu"

    frequency: Annotated[int, Field(ge=1, le=9999)] = 99
    """Samples per second of CPU time of each thread."""


class JvmAllocationProfile(AsyncProfile, use_attribute_docstrings=True):
    """After the ordinary trials, where JVMs of the target allocate memory, and objects of which classes, as a
    flame graph.
    """

    kind = "jvm-allocation"

    every: Annotated[Size, Field(ge=1024)] = Size(512 * 2**10)
    """Allocated bytes per sample."""


class JvmLockProfile(AsyncProfile, use_attribute_docstrings=True):
    """After the ordinary trials, where threads of the target's JVMs wait for contended locks, as a flame
    graph.
    """

    kind = "jvm-lock"

    every: Annotated[Duration, Field(gt=0)] = Duration(10e-6)
    """Waiting time per sample, summed over all threads. Longer waits are always sampled."""


class JvmClassesProfile(Profile, use_attribute_docstrings=True):
    """After the ordinary trials, which objects a JVM has on its heap before and after the load, by class.
    Each count collects the whole heap first.
    """

    kind = "jvm-classes"


def profile_kinds() -> Mapping[str, type[Profile]]:
    """Kinds of profiles by name."""
    importlib.import_module("loadcell.plan.profile_python")  # declares its kinds
    return {kind.kind: kind for kind in _subclasses(Profile) if hasattr(kind, "kind")}


def _subclasses(kind: type[Profile]) -> Iterator[type[Profile]]:
    for below in kind.__subclasses__():
        yield below
        yield from _subclasses(below)


def read_profiles(root: Keys, problems: list[Problem], files: PlanFiles | None = None) -> tuple[Profile, ...]:
    """The plan's profiles; none after adding to `problems`."""
    node, kinds = root.get("profile"), profile_kinds()
    if node is None or plain(node) is None:
        return ()
    mark = root.mark_of("profile")
    if isinstance(node, Scalar) and node.value in kinds:
        return (kinds[str(node.value)](),)
    names = list(node.entries) if isinstance(node, Keys) else [node.text] if isinstance(node, Scalar) else []
    if isinstance(node, Keys) and node.entries and all(name in kinds for name in names):
        read = [
            read_model(kinds[name], entry.node, ("profile", name), mark, problems, files)
            for name, entry in node.entries.items()
        ]
        return tuple(profile for profile in read if profile is not None)
    near = next(filter(None, (nearest(name, tuple(kinds)) for name in names if name not in kinds)), None)
    message = INVALID(
        value=shown(plain(node)),
        allowed=ALLOWED_PROFILE(kinds=list(kinds), example="{cpu: {treatments: best, frequency: 99}}"),
    )
    problems.append(Problem(node.mark, "profile", message, near))
    return ()


def strangers(profiles: Sequence[Profile], root: Keys, names: Sequence[str]) -> Iterator[Problem]:
    """The treatments that profiles name and the plan has not."""
    for profile in profiles:
        for name in () if isinstance(profile.treatments, str) else profile.treatments:
            if name not in names:
                yield Problem(
                    root.mark_of("profile"),
                    f"profile.{profile.kind}.treatments",
                    UNKNOWN_TREATMENT(name=shown(name), names=listed(names)),
                    nearest(name, names),
                )


def misplaced(
    profiles: Sequence[Profile], root: Keys, workloads: Mapping[str, Sequence[str]]
) -> Iterator[Problem]:
    """Profiles of a workload that some of their treatments do not have; `workloads` are by treatment."""
    for profile in profiles:
        named = workloads if isinstance(profile.treatments, str) else profile.treatments
        of_named = [workloads[name] for name in named if name in workloads]
        if profile.workload is not None and any(list(names) != [profile.workload] for names in of_named):
            message = PROFILE_WORKLOAD(kind=profile.kind, workload=profile.workload)
            yield Problem(root.mark_of("profile"), f"profile.{profile.kind}", message)


def slowed(
    profiles: Sequence[Profile], root: Keys, treatments: Mapping[str, str | None]
) -> Iterator[Problem]:
    """Profiles of treatments whose system runs under another profiler: they would show that profiler's code.

    `treatments` are the profilers by treatment, None of a system at its own speed; of these `best` is chosen.
    """
    under = {name: profiler for name, profiler in treatments.items() if profiler}
    for profile in profiles:
        wanted: Sequence[str] = list(treatments)
        if profile.treatments == "best":
            wanted = [] if len(under) < len(treatments) else wanted
        elif profile.treatments != "all":
            wanted = profile.treatments
        for name in [name for name in wanted if name in under][:1]:
            message = PROFILE_UNDER(treatment=name, profiler=under[name])
            yield Problem(root.mark_of("profile"), f"profile.{profile.kind}", message)

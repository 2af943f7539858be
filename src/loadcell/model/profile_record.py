"""Records of profiles: lost memory, the heap, and sampled call stacks of a trial that only profiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from loadcell.model.json import OMITTED, Word
from loadcell.model.python_profile import PythonFindings


@dataclass(frozen=True, slots=True)
class LostMemory:
    """Memory lost, of one kind."""

    bytes: int
    blocks: int


@dataclass(frozen=True, slots=True)
class LossRecord:
    """A call stack that lost memory; `stack` from the innermost function."""

    kind: Word
    bytes: int = 0
    blocks: int = 0
    stack: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MemoryRecord:
    """Findings of valgrind's memcheck: memory lost by kind, invalid accesses, largest losses.

    Of a system in the client's process, all of it is the system's part; `client` is memory lost by the rest
    of the process. `suppressed` counts loss records that valgrind's suppressions left out.
    """

    lost: Mapping[str, LostMemory]
    errors: int = 0
    records: tuple[LossRecord, ...] = ()
    record_count: int | None = None
    suppressed: Annotated[int | None, OMITTED] = None
    client: Annotated[Mapping[str, LostMemory] | None, OMITTED] = None


@dataclass(frozen=True, slots=True)
class HeapStack:
    """A call stack that had allocated `bytes` of the heap at its peak, from the innermost function."""

    bytes: int
    stack: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HeapRecord:
    """Findings of valgrind's massif: the heap's peak, and its largest allocation stacks.

    Of a system in the client's process it is the system's part; `client_bytes` is the rest at that moment.
    `peak_s` counts from the start of the measurement; `overhead_bytes` is the allocator's.
    """

    tool: str
    peak_bytes: int
    peak_s: float | None = None
    overhead_bytes: Annotated[int | None, OMITTED] = None
    client_bytes: Annotated[int | None, OMITTED] = None
    stacks: tuple[HeapStack, ...] = ()
    stack_count: int | None = None


@dataclass(frozen=True, slots=True)
class ClassCount:
    """Live objects: their number, and their size on the heap."""

    instances: int
    bytes: int


@dataclass(frozen=True, slots=True)
class ClassGrowth:
    """Objects of a class before the load and after it."""

    name: str
    before: ClassCount
    after: ClassCount

    @property
    def instances(self) -> int:
        """Growth in objects."""
        return self.after.instances - self.before.instances

    @property
    def bytes(self) -> int:
        """Growth in bytes."""
        return self.after.bytes - self.before.bytes


@dataclass(frozen=True, slots=True)
class ClassRecord:
    """Live objects of JVMs before the load and after it: all, and those of the classes that grew most.

    `grown` counts the classes that grew; `classes` has the first of them, by bytes.
    """

    before: ClassCount
    after: ClassCount
    grown: int = 0
    classes: tuple[ClassGrowth, ...] = ()


@dataclass(frozen=True, slots=True)
class ProfileRecord:
    """A profile taken in a trial that only profiles; `samples` of `event` at `frequency` hertz.

    Of kind `off-cpu`, `samples` are the `waits` whose stacks were recorded. Of kind `jvm-classes`, there
    are no samples but `classes`. Profiles of Python functions have their findings in `python`.
    """

    kind: Word
    tool: str
    event: Word
    samples: int = 0
    processes: int | None = None
    frequency: int | None = None
    call_graph: str | None = None
    in_client: Annotated[bool | None, OMITTED] = None
    waits: Annotated[int | None, OMITTED] = None
    classes: Annotated[ClassRecord | None, OMITTED] = None
    python: Annotated[PythonFindings | None, OMITTED] = None

"""Profiles of Python functions: what the interpreter under test writes into a file of its trial."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Final

from loadcell.model.json import OMITTED, Word

#: Files in the directory of a trial: the findings, folded stacks, and those that other tools open.
FINDINGS: Final = "python-profile.json"
STACKS: Final = "profile.folded"
CALLS_FILE: Final = "profile.prof"
ALLOCATIONS_FILE: Final = "profile-memray.bin"
TRACE_FILE: Final = "trace.json"
FILES: Final = (FINDINGS, CALLS_FILE, ALLOCATIONS_FILE, TRACE_FILE)
#: Outermost frame of all stacks.
OUTERMOST: Final = "python"

_PACKAGES: Final = re.compile(r".*/(?:site-packages|dist-packages|lib/python3\.\d+)/")


def short_path(file: str) -> str:
    """A source file from the directory of packages, or its name alone."""
    short = _PACKAGES.sub("", file)
    return short if short != file else file.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class CallStatistics:
    """Calls of a function: all, those that are no recursion, own time, and cumulative time with callees.

    `position` is file and line; empty for a function without Python code.
    """

    name: str
    position: str
    calls: int
    primitive_calls: int
    self_s: float
    cumulative_s: float


@dataclass(frozen=True, slots=True)
class CallsRecord:
    """Statistics of cProfile: of all functions, and of those with the most own time."""

    functions: int
    calls: int
    total_s: float
    largest: tuple[CallStatistics, ...] = ()


@dataclass(frozen=True, slots=True)
class AllocationsRecord:
    """Memory that calls had allocated, at its peak within the measurement."""

    peak_bytes: int


@dataclass(frozen=True, slots=True)
class SourceLine:
    """Resident memory by a line: mean growth for one call, and the most after the line.

    `executions` counts all calls.
    """

    number: int
    text: str
    executions: int
    increment_bytes: float
    total_bytes: int


@dataclass(frozen=True, slots=True)
class FunctionLines:
    """Lines of a function that were executed, in `calls` calls."""

    name: str
    file: str
    calls: int
    lines: tuple[SourceLine, ...] = ()


@dataclass(frozen=True, slots=True)
class TraceRecord:
    """A trace of calls that took `least_ns` or longer. With `is_cut`, earlier events were overwritten."""

    events: int
    least_ns: int
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class PythonFindings:
    """Findings of one profile of Python, by its kind."""

    tool: str
    event: Word
    samples: int = 0
    frequency: int | None = None
    calls: Annotated[CallsRecord | None, OMITTED] = None
    allocations: Annotated[AllocationsRecord | None, OMITTED] = None
    lines: Annotated[tuple[FunctionLines, ...] | None, OMITTED] = None
    trace: Annotated[TraceRecord | None, OMITTED] = None

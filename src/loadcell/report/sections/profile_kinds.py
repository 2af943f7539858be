"""Presentation of each kind of profile: texts of its flame graph and tables, and the unit of widths."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from loadcell.model import numbers

_US_PER_S: Final = 1e6

CPU: Final = "cpu"
OFF_CPU: Final = "off-cpu"
JVM_CPU: Final = "jvm-cpu"
JVM_ALLOCATION: Final = "jvm-allocation"
JVM_LOCK: Final = "jvm-lock"
JVM_CLASSES: Final = "jvm-classes"


def _seconds(time_us: float) -> str:
    return numbers.seconds(time_us / _US_PER_S)


@dataclass(frozen=True)
class Shown:
    """Codes of a kind's texts: `meaning` explains it; `unit` and `column` are of widths; `note` is below
    functions, `outermost` above the outermost frames; `next_step` announces the picture in a terminal.

    `amount` writes a width. `by_total`: rows of functions have all that is below them, not their own part.
    `is_sampled`: widths are samples, so that small shares have an error.
    """

    meaning: str
    flame: str = ""
    functions: str = ""
    note: str = ""
    processes: str = ""
    outermost: str = "column.thread"
    column: str = "column.samples"
    unit: str = ""
    next_step: str = ""
    amount: Callable[[float], str] = numbers.whole
    by_total: bool = False
    is_sampled: bool = False


SHOWN: Final[Mapping[str, Shown]] = {
    CPU: Shown(
        meaning="profile.meaning",
        flame="flame.title",
        functions="table.functions",
        note="table.functions.note",
        processes="table.processes",
        outermost="column.process",
        next_step="terminal.profile",
        is_sampled=True,
    ),
    OFF_CPU: Shown(
        meaning="off-cpu.meaning",
        flame="off-cpu.flame",
        functions="off-cpu.functions",
        note="off-cpu.functions.note",
        processes="off-cpu.processes",
        outermost="column.process",
        column="column.waited",
        unit="off-cpu.unit",
        next_step="terminal.profile.off-cpu",
        amount=_seconds,
        by_total=True,
    ),
    JVM_CPU: Shown(
        meaning="jvm-cpu.meaning",
        flame="jvm-cpu.flame",
        functions="table.functions",
        note="table.functions.note",
        processes="jvm-cpu.threads",
        next_step="terminal.profile.jvm-cpu",
        is_sampled=True,
    ),
    JVM_ALLOCATION: Shown(
        meaning="jvm-allocation.meaning",
        flame="jvm-allocation.flame",
        functions="jvm-allocation.functions",
        note="jvm-allocation.functions.note",
        processes="jvm-allocation.threads",
        column="column.allocated",
        unit="jvm-allocation.unit",
        next_step="terminal.profile.jvm-allocation",
        amount=numbers.size,
        by_total=True,
    ),
    JVM_LOCK: Shown(
        meaning="jvm-lock.meaning",
        flame="jvm-lock.flame",
        functions="jvm-lock.functions",
        note="jvm-lock.functions.note",
        processes="jvm-lock.threads",
        column="column.lock-wait",
        unit="jvm-lock.unit",
        next_step="terminal.profile.jvm-lock",
        amount=_seconds,
        by_total=True,
    ),
    JVM_CLASSES: Shown(meaning="jvm-classes.meaning"),
}


def shown(kind: str) -> Shown:
    """Presentation of a kind; that of CPU time for a kind of a later version."""
    return SHOWN.get(kind, SHOWN[CPU])


def kind_of_trial(name: str) -> str:
    """The kind of a profile that failed, by the name of its trial (`profile-off-cpu-clients=8`)."""
    kinds = [kind for kind in SHOWN if kind != CPU and name.startswith(f"profile-{kind}-")]
    return kinds[0] if kinds else CPU

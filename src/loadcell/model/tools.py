"""Tools that make load, as data: the quantity that each measures, by its arguments.

For the workload that calls them, the readers of their outputs, and the comparability of treatments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

#: The workload whose options are a tool's arguments; imported outputs have the same section.
WORKLOAD: Final = "tool"
#: The option that names the tool whose output a command prints.
READ_AS: Final = "read_as"


@dataclass(frozen=True)
class ToolKind:
    """A tool and the unit of its throughput.

    An argument that matches `test` as a whole selects a test with another unit, `unit_of_test`.
    """

    name: str
    unit: str = "operation"
    test: re.Pattern[str] | None = None
    unit_of_test: str = "operation"

    def tests(self, arguments: Sequence[str]) -> Iterator[str]:
        """The tests that these arguments select."""
        return (word for word in arguments if self.test is not None and self.test.fullmatch(word))

    def counted(self, arguments: Sequence[str]) -> str:
        """The unit of its throughput with these arguments."""
        return self.unit_of_test if any(self.tests(arguments)) else self.unit


#: sysbench's tests besides its scripts use no database.
SYSBENCH = ToolKind("sysbench", "transaction", re.compile("cpu|memory|fileio|threads|mutex"))
FIO = ToolKind("fio")
PGBENCH = ToolKind("pgbench", "transaction")
AB, WRK, REDIS_BENCHMARK = (ToolKind(name, "request") for name in ("ab", "wrk", "redis-benchmark"))
IPERF3, MBW, DD = (ToolKind(name, "MiB") for name in ("iperf3", "mbw", "dd"))
#: netperf's tests of requests and responses count these, its streams move data.
NETPERF = ToolKind("netperf", "MiB", re.compile(".*RR.*"), "transaction")
STRESS_NG = ToolKind("stress-ng")
BENCHMARKSQL = ToolKind("benchmarksql", "transaction")

#: All of them, by name.
KINDS: Mapping[str, ToolKind] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            SYSBENCH, FIO, PGBENCH, AB, WRK, REDIS_BENCHMARK, IPERF3, NETPERF, MBW, DD, STRESS_NG,
            BENCHMARKSQL,
        )
    }
)  # fmt: skip


def kind_of(name: str | None) -> ToolKind:
    """The tool of this name, also one that only a reader knows."""
    return KINDS.get(name or "") or ToolKind(name or "")


def quantity(options: Mapping[str, object]) -> tuple[str, ...]:
    """Quantity measured with recorded options: the tool, and its test."""
    names: list[str] = []
    for kind in KINDS.values():
        arguments = options.get(kind.name)
        if arguments is None:
            continue
        names.append(kind.name)
        if isinstance(arguments, str | list):
            names += kind.tests(arguments.split() if isinstance(arguments, str) else [*map(str, arguments)])
    return (*names, READ_AS) if options.get(READ_AS) is not None else tuple(names)

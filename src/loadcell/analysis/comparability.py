"""The quantity that the throughput of a treatment measures, and so which treatments can be compared.

A disk's reads and the passes over a memory are no more and no less than each other, whatever a plan makes of
them: of such treatments none is the highest, none is to be chosen, and there is no effect of going from one
to the other. What counts is what is measured (the unit, the workload, the test of a probe or a tool, what one
pass of it goes over), not under which conditions: a number of clients.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from loadcell.analysis.hosts.scores import PROBE, SECTIONS
from loadcell.model.run_record import TreatmentRecord

if TYPE_CHECKING:
    from loadcell.analysis.treatments import Treatment
    from loadcell.analysis.trials import Trial

#: What a probe's test is called in its options, where that is not `test`.
_TEST = {"disk": "access"}
#: What one of the things is as large as that a probe counts, where it has no size of its own: an array that
#: is copied, a stream's block. Twice as many of half the size are no more. (A disk's blocks are counted
#: whatever their size, as IOPS are everywhere.)
_SIZE_OF_ONE = {"memory": "size", "network": "block"}
_OF_ONE_SIZE = ("sysbench", "rr", "crr")
#: The factor of imported outputs whose levels are what a tool reports apart.
PART = "part"
#: What a client group has beside its workload.
_OF_A_GROUP = ("share", "load")
#: Settings of the workload `tool` that identify what is measured.
_TOOLS = (
    "sysbench", "fio", "pgbench", "ab", "wrk", "redis-benchmark", "iperf3", "netperf", "mbw", "dd", "stress-ng", "read_as",
)  # fmt: skip
#: Tests of sysbench that are no load on a database.
_OF_SYSBENCH = ("cpu", "memory", "fileio", "threads", "mutex")


def of(settings: Mapping[str, Any], units: Iterable[str], levels: Mapping[str, Any] | None = None) -> str:
    """The quantity measured with these settings of a treatment, counted in these units: equal texts for equal
    quantities.

    Of an imported output `levels` say which of the things it is that the tool reports apart (fio's reads and
    writes).
    """
    kinds = {_kind(workload) for workload in _workloads(settings)}
    part = str((levels or {}).get(PART) or "") if "tool" in settings else ""
    return "; ".join([*sorted(set(units)), *sorted(kinds), *([part] if part else [])])


def of_treatment(described: TreatmentRecord, counting: Iterable[Trial]) -> str:
    """The same of a treatment as run.json describes it, by its trials that count."""
    units = (trial.unit for trial in counting if trial.unit)
    return of(described.settings, units, described.levels)


def count(treatments: Iterable[Treatment]) -> int:
    """Number of different quantities measured; values of more than one cannot be compared."""
    return len({treatment.measures for treatment in treatments if treatment.measured})


def _workloads(settings: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The only one, those of client groups, or the tool whose output was imported."""
    imported = {"tool": settings.get("tool")} if "tool" in settings else None
    for section in (settings.get("workload"), imported, *_values(settings.get("workloads"))):
        if isinstance(section, Mapping):
            yield section


def _values(groups: Any) -> Iterable[Any]:
    return groups.values() if isinstance(groups, Mapping) else ()


def _kind(workload: Mapping[str, Any]) -> str:
    """Its name, and which of the things it is that go by this name."""
    name = next((key for key in workload if key not in _OF_A_GROUP), "")
    options = workload.get(name)
    unit = _OF.get(name)
    return name if unit is None or not isinstance(options, Mapping) else " ".join([name, *unit(options)])


def _of_probe(options: Mapping[str, Any]) -> Iterator[str]:
    for section in SECTIONS:
        if isinstance(option := options.get(section), Mapping):
            yield section
            test = str(option.get(_TEST.get(section, "test")) or "")
            yield test
            if (of_one := _SIZE_OF_ONE.get(section)) and test not in _OF_ONE_SIZE:
                yield str(option.get(of_one) or "")


def _of_tool(options: Mapping[str, Any]) -> Iterator[str]:
    for name in _TOOLS:
        if (option := options.get(name)) is None:
            continue
        yield name
        if name == "sysbench" and isinstance(option, str | list):
            words = option.split() if isinstance(option, str) else map(str, option)
            yield from (word for word in words if word in _OF_SYSBENCH)


_OF = {PROBE: _of_probe, "tool": _of_tool}

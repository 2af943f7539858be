"""Probes of a machine: their tests and scores, as data, for the workload and the analysis of baselines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

#: The workload whose options are a probe's section.
WORKLOAD: Final = "probe"
#: The operation of a disk probe whose latency is a separate score, and that score.
SYNC, SYNC_SCORE = "fdatasync", "sync_ms"
#: Scores of which less is faster.
LOWER_IS_BETTER = frozenset({"access_ns", SYNC_SCORE})


@dataclass(frozen=True)
class ProbeTest:
    """One test of a probe; `name` is empty for the only one.

    `scores` are keys of metrics. Its working set is `arrays` times the option `working_set`. Where throughput
    counts things of a certain size, `counted_size` is the option with that size: twice as many of half the
    size are no more. `writes`: it may have to flush what it wrote.
    """

    name: str
    scores: tuple[str, ...]
    working_set: str = "size"
    arrays: int = 1
    counted_size: str | None = None
    writes: bool = False

    @property
    def sized(self) -> bool:
        """True if the option `size` decides its working set."""
        return self.working_set == "size"


@dataclass(frozen=True)
class Probe:
    """A probe: section `name` of the workload's options, in which `option` names the test.

    A test that is not among `tests` (of a later version) is like `other`. The names of its scores state
    the number of threads (`states_threads`) and the size, where it is known (`states_size`).
    """

    name: str
    other: ProbeTest
    tests: tuple[ProbeTest, ...] = ()
    option: str = "test"
    states_threads: bool = False
    states_size: bool = False
    _by_name: Mapping[str, ProbeTest] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_name", {test.name: test for test in self.tests})

    def test(self, name: str) -> ProbeTest:
        """The test of this name."""
        return self._by_name.get(name) or replace(self.other, name=name)

    def test_of(self, options: Mapping[str, object]) -> ProbeTest:
        """The test that recorded options name."""
        return self.test(str(options.get(self.option) or ""))

    @property
    def test_names(self) -> tuple[str, ...]:
        """Names of its tests; empty if it has but one."""
        return tuple(self._by_name)


_ARRAY = ProbeTest("", ("mib_per_s",), counted_size="size")
_PLACES = ProbeTest("", ("iops",))
_REQUESTS = ProbeTest("", ("transactions_per_s", "mbit_per_s"))

CPU = Probe("cpu", ProbeTest("", ("events_per_s",)), states_threads=True)
MEMORY = Probe(
    "memory",
    _ARRAY,
    (
        # it goes over one block again and again
        ProbeTest("sysbench", ("mib_per_s",), working_set="block"),
        # mbw and STREAM have several arrays of their size, which they use at once
        *(replace(_ARRAY, name=name, arrays=2) for name in ("memcpy", "dumb", "mcblock", "copy", "scale")),
        *(replace(_ARRAY, name=name, arrays=3) for name in ("add", "triad")),
    ),
    states_threads=True,
    states_size=True,
)
LATENCY = Probe("latency", ProbeTest("", ("access_ns",)), states_size=True)
#: At random places operations are counted, of reads or writes in order bytes; blocks count whatever their
#: size, as IOPS are everywhere.
DISK = Probe(
    "disk",
    _PLACES,
    (
        replace(_PLACES, name="randread"),
        *(replace(_PLACES, name=name, writes=True) for name in ("randwrite", "randrw")),
        ProbeTest("read", ("read_mib_per_s",)),
        ProbeTest("write", ("write_mib_per_s",), writes=True),
        replace(_PLACES, name="readwrite", writes=True),
    ),
    option="access",
)
NETWORK = Probe(
    "network",
    replace(_REQUESTS, counted_size="block"),
    (
        *(replace(_REQUESTS, name=name) for name in ("rr", "crr")),
        replace(_REQUESTS, name="stream", counted_size="block"),
    ),
)

#: All probes by name, in the order of reports.
PROBES: Mapping[str, Probe] = MappingProxyType(
    {probe.name: probe for probe in (CPU, MEMORY, LATENCY, DISK, NETWORK)}
)
#: All scores.
SCORES: tuple[str, ...] = (
    *dict.fromkeys(
        score
        for probe in PROBES.values()
        for test in (*probe.tests, probe.other)
        for score in test.scores
    ),
    SYNC_SCORE,
)  # fmt: skip


def section_of(options: Mapping[str, object]) -> tuple[Probe, Mapping[str, object]] | None:
    """The probe that recorded options of the workload set, with its section; None if they set none or two."""
    sections = [
        (probe, section)
        for name, probe in PROBES.items()
        if isinstance(section := options.get(name), Mapping)
    ]
    return sections[0] if len(sections) == 1 else None


def quantity(options: Mapping[str, object]) -> tuple[str, ...]:
    """Quantity measured with recorded options: probe, test, and the size of a counted thing."""
    if (section := section_of(options)) is None:
        return ()
    probe, settings = section
    test = probe.test_of(settings)
    size = () if test.counted_size is None else (str(settings.get(test.counted_size) or ""),)
    return (probe.name, test.name, *size)

"""Capabilities of a machine by probes: one score per probe and metric, with the values of its repeats; and
rooflines of them (Williams et al. 2009).

A roofline is the number of accesses a second each layer of a machine can serve at most, by their size. Small
accesses are limited by how long one takes, large ones by bandwidth: `min(1 / latency, bandwidth / size)`. The
original has floating-point work on its axes; with bytes an access and accesses a second, memory, disk and
network stand in one picture.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from loadcell.analysis.hosts.facts import cache_sizes
from loadcell.model import probes
from loadcell.model.json import JsonObject
from loadcell.model.message import Count, Message, MessageCode, MessageError
from loadcell.model.probes import PROBES, Probe, ProbeTest
from loadcell.model.run_record import RunRecord, TreatmentRecord
from loadcell.model.trial_record import Status, TrialRecord
from loadcell.plan import problems, units
from loadcell.stats.repeats import Repeats, summarise

SCORE_NO_MAPPING = MessageCode("score.no-mapping", number=Count)
SCORE_NO_ID = MessageCode("score.no-id", number=Count)
SCORE_NO_METRIC = MessageCode("score.no-metric", score=str, metric=str, metrics=list)
SCORE_NO_PROBE = MessageCode("score.no-probe", score=str, probe=str, probes=list)
SCORE_VALUES = MessageCode("score.values", score=str)


class ScoreError(MessageError, ValueError):
    """A score in JSON that cannot be read."""


@dataclass(frozen=True)
class Score:
    """One figure of one probe. `values` are those of its repeats, in the figure's own unit.

    `id` is what two machines' scores are matched by; `section` and `test` are the probe's (`memory`,
    `memcpy`), `size_bytes` and `block_bytes` what it works on, where its plan says so; `fdatasync` is after
    how many writes a disk has to flush (0: never), `depth` how much each thread has under way at once.
    `same_as` is the id of another that was made by the same settings: of a machine with one processor those
    of all of its processors are that of one.
    """

    id: str
    section: str
    test: str
    figure: str
    values: tuple[float, ...]
    threads: int = 1
    size_bytes: int | None = None
    block_bytes: int | None = None
    fdatasync: int = 0
    depth: int = 1
    same_as: str = ""

    @property
    def higher_is_better(self) -> bool:
        """True if more of it is faster."""
        return self.figure not in probes.LOWER_IS_BETTER

    @property
    def definition(self) -> ProbeTest:
        """Its test."""
        return PROBES[self.section].test(self.test)

    @cached_property
    def repeats(self) -> Repeats:
        """Median, extremes and, from six values on, the median's interval."""
        return summarise(self.values)

    @property
    def median(self) -> float:
        """The figure itself."""
        assert self.repeats.median is not None  # there is no score without a value
        return self.repeats.median

    def document(self) -> JsonObject:
        """As plain JSON: what `of_document` reads."""
        document: JsonObject = {
            "id": self.id, "probe": self.section, "test": self.test, "figure": self.figure,
            "threads": self.threads,
            "size_bytes": self.size_bytes, "block_bytes": self.block_bytes,
            "fdatasync": self.fdatasync or None,
            "depth": self.depth if self.depth > 1 else None, "same_as": self.same_as or None,
            "values": list(self.values),
            "median": self.median, "higher_is_better": self.higher_is_better,
        }  # fmt: skip
        return {key: value for key, value in document.items() if value is not None}


def probed(run: RunRecord) -> bool:
    """True if every treatment of a run (run.json) is a probe of its machine."""
    return bool(run.treatments) and all(_probe(treatment) is not None for treatment in run.treatments)


def of_run(run: RunRecord, records: Sequence[TrialRecord]) -> tuple[Score, ...]:
    """Scores of a run in the plan's order, from its run.json and its succeeded trials."""
    scores: list[Score] = []
    made: dict[str, str] = {}
    for treatment in run.treatments:
        trials = [
            record for record in records if record.treatment == treatment.id and record.status is Status.OK
        ]
        name = name_of(treatment)
        first = made.setdefault(json.dumps(treatment.settings, sort_keys=True), name)
        for probe in asked_for(treatment):
            values = tuple(value for record in trials if (value := _value(record, probe.figure)) is not None)
            if values:
                same_as = "" if first == name else f"{first}/{probe.figure}"
                scores.append(replace(probe, values=values, same_as=same_as))
    return tuple(scores)


def asked_for(treatment: TreatmentRecord) -> Iterator[Score]:
    """The scores that a treatment is to give, without values yet; none of a treatment that is no probe."""
    probe = _probe(treatment)
    if probe is None:
        return
    section, options = probe
    test = section.test_of(options)
    threads = _integer((treatment.settings.get("load") or {}).get("clients")) or 1
    # a test of blocks works on its block, whatever the size of other tests
    size = _bytes(options.get("size")) if test.sized else None
    synced = (probes.SYNC_SCORE,) if options.get(probes.SYNC) else ()
    for figure in (*test.scores, *synced):
        yield Score(
            f"{name_of(treatment)}/{figure}", section.name, test.name, figure, (), threads, size,
            _bytes(options.get("block")),
            _integer(options.get(probes.SYNC)) or 0, _integer(options.get("depth")) or 1,
        )  # fmt: skip


def name_of(treatment: TreatmentRecord) -> str:
    """Label of the scores of a treatment: its levels, or its name if nothing was varied."""
    return ",".join(treatment.levels.values()) or treatment.id


def of_document(documents: Sequence[Any]) -> tuple[Score, ...]:
    """Scores from JSON (`loadcell host --baseline --json`, or written by hand).

    Raises ScoreError.
    """
    return tuple(_read(index, document) for index, document in enumerate(documents, 1))


def _probe(treatment: TreatmentRecord) -> tuple[Probe, Mapping[str, object]] | None:
    """Name and options of a treatment's probe; None for a treatment that is no probe."""
    workload = treatment.settings.get("workload")
    options = workload.get(probes.WORKLOAD) if isinstance(workload, Mapping) else None
    return probes.section_of(options) if isinstance(options, Mapping) else None


def _value(record: TrialRecord, figure: str) -> float | None:
    value: float | None
    if figure == probes.SYNC_SCORE:
        sync = record.operations.get(probes.SYNC)
        value = sync.response.percentile_ms("50") if sync and sync.response else None
    else:
        value = record.totals.figures.get(figure) if record.totals else None
    return float(value) if isinstance(value, int | float) and math.isfinite(value) and value > 0 else None


def _integer(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _bytes(value: Any) -> int | None:
    """A size as a plan writes it (`256MiB`)."""
    try:
        return int(units.Size.read(value))
    except problems.SettingError:
        return None


def _read(index: int, item: Any) -> Score:
    if not isinstance(item, Mapping):
        raise ScoreError(SCORE_NO_MAPPING(number=index))
    name = item.get("id")
    if not isinstance(name, str) or not name:
        raise ScoreError(SCORE_NO_ID(number=index))
    figure, section, values = item.get("figure"), item.get("probe"), item.get("values")
    if figure not in probes.SCORES:
        raise ScoreError(SCORE_NO_METRIC(score=name, metric=repr(figure), metrics=list(probes.SCORES)))
    if section not in PROBES:
        raise ScoreError(SCORE_NO_PROBE(score=name, probe=repr(section), probes=list(PROBES)))
    good = isinstance(values, list) and all(
        isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value > 0
        for value in values
    )
    if not values or not good:
        raise ScoreError(SCORE_VALUES(score=name))
    threads = _integer(item.get("threads")) or 1
    return Score(
        id=name,
        section=str(section),
        test=str(item.get("test") or ""),
        figure=str(figure),
        values=tuple(map(float, values)),
        threads=threads,
        size_bytes=_integer(item.get("size_bytes")),
        block_bytes=_integer(item.get("block_bytes")),
        fdatasync=_integer(item.get(probes.SYNC)) or 0,
        depth=_integer(item.get("depth")) or 1,
        same_as=str(item.get("same_as") or ""),
    )


_MIB = 2**20
#: What is in a cache must leave room for what else is: no more than this share of it counts as in it.
_FITS = 0.75
_BITS = 8

LAYER_CACHE = MessageCode("hosts.layer.cache", level=Count)
LAYER_MEMORY = MessageCode("hosts.layer.memory")
LAYER_DISK_READ = MessageCode("hosts.layer.disk-read")
LAYER_DISK_SYNC = MessageCode("hosts.layer.disk-sync")
LAYER_NETWORK = MessageCode("hosts.layer.network")


@dataclass(frozen=True)
class Roof:
    """One layer, one thread of work: `most_per_s` accesses a second however small, `bytes_per_s` however
    large.
    """

    name: Message
    most_per_s: float
    bytes_per_s: float

    @property
    def knee_bytes(self) -> float:
        """The size of an access from which on bandwidth is the limit."""
        return self.bytes_per_s / self.most_per_s

    def at(self, size_bytes: float) -> float:
        """Accesses a second of this size."""
        return min(self.most_per_s, self.bytes_per_s / size_bytes)

    def points(self, sizes: Sequence[float]) -> list[tuple[float, float]]:
        """The roof at these sizes, its knee among them where it lies between."""
        inside = [self.knee_bytes] if sizes[0] < self.knee_bytes < sizes[-1] else []
        return [(size, self.at(size)) for size in sorted([*sizes, *inside])]


def roofs(host: JsonObject, scores: Sequence[Score]) -> list[Roof]:
    """Every layer of which both latency and bandwidth were measured, the quickest first."""
    all_roofs = [*_of_memory(host, scores), *_of_disk(scores), *_of_network(scores)]
    return sorted(all_roofs, key=lambda roof: -roof.most_per_s)


def _of_memory(host: JsonObject, scores: Sequence[Score]) -> Iterator[Roof]:
    below = 0
    for level, size in cache_sizes(host).items():
        yield from _layer(LAYER_CACHE(level=level), scores, below, size * _FITS)
        below = size
    yield from _layer(LAYER_MEMORY(), scores, below, math.inf)


def _layer(name: Message, scores: Sequence[Score], above: float, most: float) -> Iterator[Roof]:
    """From what was measured on working sets larger than `above` bytes and not larger than `most`, by one
    thread.
    """
    single = [score for score in scores if score.threads == 1 and above < _working_set(score) <= most]
    access = [score for score in single if score.section == probes.LATENCY.name]
    moved = [score.median for score in single if score.section == probes.MEMORY.name]
    if access and moved:
        slowest = max(access, key=_working_set)
        yield Roof(name, 1e9 / slowest.median, max(moved) * _MIB)


def _working_set(score: Score) -> float:
    """Number of bytes in use at once."""
    test = score.definition
    size = score.size_bytes if test.sized else score.block_bytes
    return (size or 0) * test.arrays


def _of_disk(scores: Sequence[Score]) -> Iterator[Roof]:
    by_disk = {
        (score.test, score.figure): score
        for score in scores
        if score.section == probes.DISK.name and score.threads == score.depth == 1
    }
    small, large = by_disk.get(("randread", "iops")), by_disk.get(("read", "read_mib_per_s"))
    if small and large:
        yield Roof(LAYER_DISK_READ(), small.median, large.median * _MIB)
    synced = next((score for score in scores if score.figure == probes.SYNC_SCORE), None)
    large = by_disk.get(("write", "write_mib_per_s"))
    if synced and large:
        yield Roof(LAYER_DISK_SYNC(), 1e3 / synced.median, large.median * _MIB)


def _of_network(scores: Sequence[Score]) -> Iterator[Roof]:
    by_network = {
        (score.test, score.figure): score
        for score in scores
        if score.section == probes.NETWORK.name and score.threads == 1
    }
    small, large = by_network.get(("rr", "transactions_per_s")), by_network.get(("stream", "mbit_per_s"))
    if small and large:
        yield Roof(LAYER_NETWORK(), small.median, large.median * 1e6 / _BITS)

"""Results of every treatment: the values of its trials combined, its label, its unit, and the quantity that
its throughput measures.

Of treatments that measure different quantities none is the highest, none is to be chosen, and there is no
effect of going from one to the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TypeVar

from loadcell.analysis.trials import QUANTILES, STATUSES, OfType, Trial, over_repeats
from loadcell.model import (
    catalogue,
    fault_metrics,
    gc_pauses,
    jvm_samples,
    python_metrics,
    stream_metrics,
    tools,
    write_metrics,
)
from loadcell.model.json import JsonObject
from loadcell.model.run_record import RunRecord, TreatmentRecord
from loadcell.model.trial_record import TrialRecord
from loadcell.plan.treatment import BASELINE
from loadcell.plan.workload import have_equal_workloads, quantities_of
from loadcell.stats.repeats import Repeats, summarise

#: Factors of where something runs: `target`, `client`, `memory` behind it name the subject, and alone would
#: be that itself.
PLACING = "affinity."
#: The factor of imported outputs whose levels are what a tool reports separately (fio's reads and writes).
PART = "part"


def quantity_of(described: TreatmentRecord, counting: Iterable[Trial]) -> str:
    """The quantity that a treatment of run.json measures, by its trials that count: equal texts for equal
    quantities.
    """
    return "; ".join([*_units(counting), *quantities_of(described.settings), *_part(described)])


def _units(counting: Iterable[Trial]) -> list[str]:
    return sorted({trial.unit for trial in counting if trial.unit})


def _part(described: TreatmentRecord) -> list[str]:
    settings = described.settings.get(tools.WORKLOAD)
    if settings is None:
        return []
    suite = settings.get(tools.PYTEST) if isinstance(settings, Mapping) else None
    part = described.levels.get(PART) or (_test(described, suite) if isinstance(suite, Mapping) else None)
    return [str(part)] if part else []


def _test(described: TreatmentRecord, settings: Mapping[str, object]) -> object:
    """The group of a test that pytest ran: tests of one group do the same in different ways. Without a group,
    the test.
    """
    return settings.get("group") or described.levels.get(tools.TEST)


def quantities(treatments: Iterable[Treatment]) -> int:
    """Number of different quantities measured; values of more than one cannot be compared.

    Equal workloads measure equal quantities: their modules, which take long to load, are not imported.
    """
    measured = [
        (item.described, [trial for trial in item.trials if trial.counts])
        for item in treatments
        if item.measured
    ]
    if have_equal_workloads(described.settings for described, _ in measured):
        return len({(*_units(counting), *_part(described)) for described, counting in measured})
    return len({quantity_of(*item) for item in measured})


T = TypeVar("T")


def alike_groups(items: Iterable[T], alike: Callable[[T, T], bool]) -> list[list[T]]:
    """Items in groups of which each is `alike` to every other: in the order given, each in the first group
    that it fits.
    """
    classes: list[list[T]] = []
    for item in items:
        home = next((group for group in classes if all(alike(item, other) for other in group)), None)
        if home is None:
            classes.append([item])
        else:
            home.append(item)
    return classes


#: Metrics that reports have in tables of their own.
_IN_TABLES = frozenset(
    (
        *fault_metrics.KEYS,
        *write_metrics.KEYS,
        *gc_pauses.KEYS,
        *jvm_samples.KEYS,
        *stream_metrics.KEYS,
    )
)
#: What is moved, and not done: there is more or less of it, but none that fails.
DATA = "MiB"
#: Of a store or of anything else; also what stands for units of several kinds.
OPERATION = "operation"


def unit_of(records: Iterable[TrialRecord]) -> str:
    """The unit of these trials; `operation` where they have different ones, or one there is no word for.

    Records that do not say it are of databases: there was nothing else then.
    """
    units = {record.unit or "transaction" for record in records} or {"transaction"}
    unit = units.pop()
    return OPERATION if units or f"unit.{unit}" not in catalogue.texts() else unit


#: Response-time statistics of a treatment, by their key in a trial's record.
LATENCIES = ("mean_ms", *QUANTILES, "max_ms")


@dataclass(frozen=True, eq=False)
class Treatment:
    """One treatment over all its repeats.

    `index` counts from 1 in the plan's order; `label` names factors and levels, `brief` leaves out the
    factors where every treatment has the same ones; `levels` maps factor keys to labels and `values` plan
    paths to values.
    `throughput`, `queries` (per second) and `latency` (response time in ms, by key of `LATENCIES`) hold
    trials that succeeded, and no others, and so do `figures` of the workload's own (not those of faults,
    but those of profiles), `types` and `outcomes`;
    `failed` and `retried` count transactions of all its trials.
    """

    index: int
    id: str
    label: str
    brief: str
    levels: Mapping[str, str]
    values: JsonObject
    trials: tuple[Trial, ...]
    throughput: Repeats
    queries: Repeats
    latency: Mapping[str, Repeats]
    failed: int
    retried: int
    statuses: Mapping[str, int]
    figures: Mapping[str, Repeats]
    types: tuple[OfType, ...]
    outcomes: tuple[OfType, ...]
    #: as in run.json
    described: TreatmentRecord

    @property
    def fairness(self) -> float | None:
        """Median of Jain's index of the clients' successes, over the trials that count."""
        values = [trial.fairness for trial in self.trials if trial.counts and trial.fairness is not None]
        return median(values) if values else None

    @property
    def measured(self) -> bool:
        """True if at least one trial has a value."""
        return self.throughput.median is not None

    def latency_ms(self, key: str) -> float | None:
        """The median over repeats of a response-time figure."""
        return self.latency[key].median


def short_keys(keys: Sequence[str]) -> dict[str, str]:
    """Factor keys by the names people use: the last segment, or the whole path where that is ambiguous or
    says another thing
    (`affinity.target` is no target)."""
    last = {key: key if key.startswith(PLACING) else key.rsplit(".", 1)[-1] for key in keys}
    often = Counter(last.values())
    return {key: short if often[short] == 1 else key for key, short in last.items()}


def treatments(
    run: RunRecord, trials: Iterable[Trial], profiles: Sequence[TrialRecord] = ()
) -> tuple[Treatment, ...]:
    """Every treatment of a run in the plan's order; those that only trials know come last.

    `profiles` are the trials that only profile, some of which have a metric of their treatment.
    """
    profiled = _profiled(profiles)
    by_treatment: dict[str, list[Trial]] = {}
    for trial in trials:
        by_treatment.setdefault(trial.treatment, []).append(trial)
    planned = {entry.id: entry for entry in run.treatments}
    unplanned = [TreatmentRecord(name) for name in by_treatment if name not in planned]
    records = [*planned.values(), *unplanned]
    keys = list(dict.fromkeys(key for record in records for key in record.levels))
    names = labels(records)
    changes = _changes(run, records)
    alike = bool(keys) and all(set(record.levels) == set(keys) for record in records)
    return tuple(
        _treatment(
            index,
            record,
            changes.get(record.id, names[record.id]),
            alike and record.id not in changes,
            by_treatment.get(record.id, []),
            profiled.get(record.id, {}),
        )
        for index, record in enumerate(records, 1)
    )


def _changes(run: RunRecord, records: Sequence[TreatmentRecord]) -> dict[str, str]:
    """Names of the treatments of a one-at-a-time design by id, without its baseline: the level that differs.
    Empty for other designs, and if something is combined with all levels.
    """
    if run.design != "one-at-a-time":
        return {}
    baselines = [record for record in records if record.id == BASELINE]
    others = [record for record in records if record.id != BASELINE]
    if not baselines:
        return {}
    usual = baselines[0].levels
    changed = {
        record.id: {key: level for key, level in record.levels.items() if level != usual.get(key)}
        for record in others
    }
    if any(record.levels.keys() != usual.keys() or len(changed[record.id]) != 1 for record in others):
        return {}
    short = short_keys(list(usual))
    return {name: _stated(levels, short) for name, levels in changed.items()}


def shared_factors(treatments: Sequence[Treatment]) -> tuple[str, ...]:
    """The factors that `brief` leaves out, by their short names: none where treatments differ in what they
    set.
    """
    first = treatments[0].levels.keys() if treatments else set[str]()
    if any(treatment.levels.keys() != first for treatment in treatments):
        return ()
    return tuple(short_keys(list(first)).values())


def labels(records: Sequence[TreatmentRecord]) -> dict[str, str]:
    """Names of treatments by id: their factors with levels, or the id of one that has none."""
    short = short_keys(list(dict.fromkeys(key for record in records for key in record.levels)))
    return {record.id: _stated(record.levels, short) or record.id for record in records}


def _stated(levels: Mapping[str, str], short: Mapping[str, str]) -> str:
    """Levels with the short names of their factors."""
    return ", ".join(f"{short[key]} = {level}" for key, level in levels.items())


def _treatment(
    index: int,
    record: TreatmentRecord,
    label: str,
    alike: bool,
    trials: Sequence[Trial],
    profiled: Mapping[str, float],
) -> Treatment:
    name, levels = record.id, dict(record.levels)
    in_order = tuple(sorted(trials, key=lambda trial: trial.repeat))
    counting = [trial for trial in in_order if trial.counts]
    states = Counter(trial.status for trial in in_order)
    succeeded = sum(trial.succeeded for trial in counting)
    return Treatment(
        index=index,
        id=name,
        label=label,
        brief=", ".join(levels.values()) if alike else label,
        levels=levels,
        values=record.values,
        trials=in_order,
        throughput=summarise([trial.throughput_per_s for trial in counting]),
        queries=summarise([trial.queries_per_s for trial in counting]),
        latency=_latency(counting),
        failed=sum(trial.failed for trial in in_order),
        retried=sum(trial.retried for trial in in_order),
        statuses={status: states[status] for status in STATUSES if states[status]},
        figures={
            name: summarise([trial.figures.get(name) for trial in counting])
            for name in dict.fromkeys(name for trial in counting for name in trial.figures)
            if name not in _IN_TABLES
        }
        | {name: summarise([value]) for name, value in profiled.items()},
        types=over_repeats([trial.types for trial in counting], succeeded),
        outcomes=over_repeats([trial.outcomes for trial in counting], succeeded),
        described=record,
    )


def _profiled(profiles: Sequence[TrialRecord]) -> dict[str, dict[str, float]]:
    """Metrics that only profiles have, by treatment."""
    figures: dict[str, dict[str, float]] = {}
    for record in profiles:
        findings = None if record.profile is None else record.profile.python
        if findings is not None and findings.allocations is not None:
            figures[record.treatment] = {
                python_metrics.ALLOCATED_PEAK: float(findings.allocations.peak_bytes)
            }
            measured = {} if record.totals is None else record.totals.figures
            if (size := measured.get(python_metrics.RESULT_SIZE)) is not None:
                figures[record.treatment][python_metrics.RESULT_SIZE] = size
    return figures


def _latency(trials: Sequence[Trial]) -> dict[str, Repeats]:
    """Response times over the trials; a percentile only where every trial with response times has it.

    The median of the few repeats that carry a percentile may lie below that of a lower one over all.
    """
    responses = [trial.response for trial in trials if trial.response]
    values = {key: [response.get(key) for response in responses] for key in LATENCIES}
    return {
        key: summarise([] if key in QUANTILES and None in of_key else of_key)
        for key, of_key in values.items()
    }

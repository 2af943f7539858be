"""Results of every treatment: the values of its trials combined, its label, and the quantity that its
throughput measures, which says what treatments can be compared.

A disk's reads and the passes over a memory are no more and no less than each other, whatever a plan makes of
them: of such treatments none is the highest, none is to be chosen, and there is no effect of going from one
to the other. What counts is what is measured (the unit, the workload, the test of a probe or a tool, what one
pass of it goes over), not under which conditions: a number of clients.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from loadcell.analysis.finding import Concern, Finding, FindingCode, Subject
from loadcell.analysis.trials import QUANTILES, STATUSES, OfType, Trial, over_repeats
from loadcell.model import catalogue, probes, tools
from loadcell.model.json import JsonObject
from loadcell.model.run_record import RunRecord, TreatmentRecord
from loadcell.model.trial_record import TrialRecord
from loadcell.stats.repeats import Repeats, summarise

if TYPE_CHECKING:
    from loadcell.analysis.trials import Trial


#: Factors of where something runs: `target`, `client`, `memory` behind it name the subject, and alone would
#: be that itself.
PLACING = "affinity."
#: The factor of imported outputs whose levels are what a tool reports apart.
PART = "part"
#: What a client group has beside its workload.
_OF_A_GROUP = ("share", "load")


def quantity(settings: JsonObject, units: Iterable[str], levels: Mapping[str, str] | None = None) -> str:
    """The quantity measured with these settings of a treatment, counted in these units: equal texts for equal
    quantities.

    Of an imported output `levels` say which of the things it is that the tool reports apart (fio's reads and
    writes).
    """
    kinds = {_kind(workload) for workload in _workloads(settings)}
    part = str((levels or {}).get(PART) or "") if tools.WORKLOAD in settings else ""
    return "; ".join([*sorted(set(units)), *sorted(kinds), *([part] if part else [])])


def quantity_of(described: TreatmentRecord, counting: Iterable[Trial]) -> str:
    """The same of a treatment as run.json describes it, by its trials that count."""
    units = (trial.unit for trial in counting if trial.unit)
    return quantity(described.settings, units, described.levels)


def quantities(treatments: Iterable[Treatment]) -> int:
    """Number of different quantities measured; values of more than one cannot be compared."""
    return len({treatment.measures for treatment in treatments if treatment.measured})


def _workloads(settings: JsonObject) -> Iterator[JsonObject]:
    """The only one, those of client groups, or the tool whose output was imported."""
    imported = {tools.WORKLOAD: settings[tools.WORKLOAD]} if tools.WORKLOAD in settings else None
    for section in (settings.get("workload"), imported, *_values(settings.get("workloads"))):
        if isinstance(section, dict):
            yield section


def _values(groups: Any) -> Iterable[Any]:
    return groups.values() if isinstance(groups, Mapping) else ()


def _kind(workload: JsonObject) -> str:
    """Its name, and which of the things it is that go by this name."""
    name = next((key for key in workload if key not in _OF_A_GROUP), "")
    options = workload.get(name)
    unit = _OF.get(name)
    return name if unit is None or not isinstance(options, dict) else " ".join([name, *unit(options)])


#: The quantity of workloads that measure several, by their options.
_OF = {probes.WORKLOAD: probes.quantity, tools.WORKLOAD: tools.quantity}


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


#: Where everything of a trial was: processors of the target and of the client, and whose memory each had.
Place = tuple[Any, ...]

SAME_PLACE = FindingCode(
    "found.same-place", Subject.PLACEMENTS, "caution", (Concern.TRUST, 10), cpus=str, factor=str, levels=list
)
SAME_PLACE_MEMORY = FindingCode(
    "found.same-place.memory", Subject.PLACEMENTS, "caution", (Concern.TRUST, 10), factor=str, levels=list
)


def placement_findings(run: RunRecord, records: Sequence[TrialRecord]) -> Iterator[Finding]:
    """For each factor that places: its levels that were equal on this machine, from run.json and each
    trial.json.
    """
    placed = {trial.treatment: _place(trial.affinity) for trial in records if trial.affinity}
    treatments = [treatment for treatment in run.treatments if treatment.id in placed]
    for factor in run.factors:
        key = factor.key
        if not key.startswith(PLACING):
            continue
        labels = [level.label for level in factor.levels]
        places = {label: _places(treatments, placed, key, label) for label in labels}
        for group in _alike(labels, places):
            cpus = _cpus(places[group[0]])
            yield (SAME_PLACE if cpus else SAME_PLACE_MEMORY).finding(factor=key, levels=group, cpus=cpus)


def _place(affinity: JsonObject) -> Place:
    sides = [affinity.get(side) or {} for side in ("target", "client")]
    return tuple(side.get(kind) for side in sides for kind in ("cpus", "memory"))


def _places(
    treatments: Sequence[TreatmentRecord], placed: Mapping[str, Place], key: str, label: str
) -> dict[tuple[tuple[str, str], ...], Place]:
    """Where a level put things, by the levels of the other factors beside it."""
    return {
        tuple((other, level) for other, level in treatment.levels.items() if other != key): placed[
            treatment.id
        ]
        for treatment in treatments
        if treatment.levels.get(key) == label
    }


def _alike(
    labels: Sequence[str], places: Mapping[str, Mapping[tuple[tuple[str, str], ...], Place]]
) -> list[list[str]]:
    """Levels in groups of two and more that were the same place, whatever stood beside them."""
    ran = [label for label in labels if places[label]]
    same = alike_groups(ran, lambda first, other: places[first] == places[other])
    return [group for group in same if len(group) > 1]


def _cpus(places: Mapping[tuple[tuple[str, str], ...], Place]) -> str:
    """The target's processors, or the client's if it has none; empty if they differ between trials."""
    cpus = {str(position[0] or position[2] or "") for position in places.values()}
    return cpus.pop() if len(cpus) == 1 else ""


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
    trials that succeeded, and no others, and so do `figures` of the workload's own, `types` and `outcomes`;
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
    #: the quantity that its throughput measures, as `quantity_of` has it
    measures: str

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


def treatments(run: RunRecord, trials: Iterable[Trial]) -> tuple[Treatment, ...]:
    """Every treatment of a run in the plan's order; those that only trials know come last."""
    by_treatment: dict[str, list[Trial]] = {}
    for trial in trials:
        by_treatment.setdefault(trial.treatment, []).append(trial)
    planned = {entry.id: entry for entry in run.treatments}
    unplanned = [TreatmentRecord(name) for name in by_treatment if name not in planned]
    records = [*planned.values(), *unplanned]
    keys = list(dict.fromkeys(key for record in records for key in record.levels))
    names = labels(records)
    alike = bool(keys) and all(set(record.levels) == set(keys) for record in records)
    return tuple(
        _treatment(index, record, names[record.id], alike, by_treatment.get(record.id, []))
        for index, record in enumerate(records, 1)
    )


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
    return {
        record.id: ", ".join(f"{short[key]} = {level}" for key, level in record.levels.items()) or record.id
        for record in records
    }


def _treatment(
    index: int, record: TreatmentRecord, label: str, alike: bool, trials: Sequence[Trial]
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
        },
        types=over_repeats([trial.types for trial in counting], succeeded),
        outcomes=over_repeats([trial.outcomes for trial in counting], succeeded),
        measures=quantity_of(record, counting),
    )


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

"""The quantity that the throughput of a treatment measures, and so which treatments can be compared.

A disk's reads and the passes over a memory are no more and no less than each other, whatever a plan makes of
them: of such treatments none is the highest, none is to be chosen, and there is no effect of going from one
to the other. What counts is what is measured (the unit, the workload, the test of a probe or a tool, what one
pass of it goes over), not under which conditions: a number of clients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from loadcell.analysis.finding import Concern, Finding, FindingCode, Subject
from loadcell.model import catalogue, probes, tools
from loadcell.model.json import JsonObject
from loadcell.model.run_record import RunRecord, TreatmentRecord
from loadcell.model.trial_record import TrialRecord

if TYPE_CHECKING:
    from loadcell.analysis.treatments import Treatment
    from loadcell.analysis.trials import Trial

#: Factors of where something runs: `target`, `client`, `memory` behind it name the subject, and alone would
#: be that itself.
PLACING = "affinity."
#: The factor of imported outputs whose levels are what a tool reports apart.
PART = "part"
#: What a client group has beside its workload.
_OF_A_GROUP = ("share", "load")


def of(settings: JsonObject, units: Iterable[str], levels: Mapping[str, str] | None = None) -> str:
    """The quantity measured with these settings of a treatment, counted in these units: equal texts for equal
    quantities.

    Of an imported output `levels` say which of the things it is that the tool reports apart (fio's reads and
    writes).
    """
    kinds = {_kind(workload) for workload in _workloads(settings)}
    part = str((levels or {}).get(PART) or "") if tools.WORKLOAD in settings else ""
    return "; ".join([*sorted(set(units)), *sorted(kinds), *([part] if part else [])])


def of_treatment(described: TreatmentRecord, counting: Iterable[Trial]) -> str:
    """The same of a treatment as run.json describes it, by its trials that count."""
    units = (trial.unit for trial in counting if trial.unit)
    return of(described.settings, units, described.levels)


def count(treatments: Iterable[Treatment]) -> int:
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

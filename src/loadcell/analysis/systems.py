"""Systems under test of a run: a factor can switch the target, or its version."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from loadcell.analysis.treatments import labels, short_keys
from loadcell.model.json import JsonObject, JsonValue
from loadcell.model.run_record import RunRecord, TreatmentRecord
from loadcell.model.trial_record import TrialRecord

#: Facts by which systems differ; in others, such as its settings, one system may differ between treatments.
_IDENTITY = ("server", "product", "version", "software", "library", "command", "url")
#: A server that loadcell starts has another port at each start.
_PORT = re.compile(r":\d+")
#: Treatments that are named where they share no level.
_MOST_NAMED = 3


@dataclass(frozen=True)
class System:
    """Treatments that have one system under test.

    `target` is the target's name in the plan, `label` the levels that these treatments share and others do
    not have; empty where all treatments have this system. `treatments` are ids, `records` their trials.
    """

    target: str
    label: str
    treatments: tuple[TreatmentRecord, ...]
    records: tuple[TrialRecord, ...]

    @property
    def described(self) -> list[JsonObject]:
        """The facts that the target reported, by trial."""
        return [record.target for record in self.records if record.target is not None]


def systems(run: RunRecord, records: Sequence[TrialRecord]) -> tuple[System, ...]:
    """The systems under test of a run, in the order of the plan's treatments."""
    trials: dict[str, list[TrialRecord]] = {}
    for record in records:
        trials.setdefault(record.treatment, []).append(record)
    planned = {treatment.id: treatment for treatment in run.treatments}
    unplanned = (
        TreatmentRecord(name, of_treatment[0].levels, settings=of_treatment[0].settings)
        for name, of_treatment in trials.items()
        if name not in planned
    )
    groups: dict[tuple[str, ...], list[TreatmentRecord]] = {}
    open_groups: list[TreatmentRecord] = []
    for treatment in (*planned.values(), *unplanned):
        facts = _identity(record.target for record in trials.get(treatment.id, ()))
        if facts:
            groups.setdefault((target_name(treatment.settings), *facts), []).append(treatment)
        else:
            open_groups.append(treatment)
    for treatment in open_groups:  # not measured: a system of the same target that was
        name = target_name(treatment.settings)
        key = next((key for key in groups if key[0] == name), (name,))
        groups.setdefault(key, []).append(treatment)
    everything = [treatment for group in groups.values() for treatment in group]
    return tuple(
        System(
            key[0],
            _shared_levels(group, everything) if len(groups) > 1 else "",
            tuple(group),
            tuple(record for treatment in group for record in trials.get(treatment.id, ())),
        )
        for key, group in groups.items()
    )


@dataclass(frozen=True)
class PlannedPart:
    """A target or workload of the plan: its `name`, the `label` of the levels that have it (empty where all
    do), and its options at each of these treatments.
    """

    name: str
    label: str
    options: tuple[JsonObject, ...]


def planned_parts(run: RunRecord, section: str) -> tuple[PlannedPart, ...]:
    """The targets (`target`) or workloads (`workload`) that treatments have, in the plan's order."""
    named: dict[str, list[tuple[TreatmentRecord, JsonObject]]] = {}
    for treatment in run.treatments:
        part = treatment.settings.get(section)
        if isinstance(part, dict) and len(part) == 1:
            name, options = next(iter(part.items()))
            named.setdefault(name, []).append((treatment, options if isinstance(options, dict) else {}))
    everything = [treatment for group in named.values() for treatment, _ in group]
    return tuple(
        PlannedPart(
            name,
            _shared_levels([treatment for treatment, _ in group], everything) if len(named) > 1 else "",
            tuple(options for _, options in group),
        )
        for name, group in named.items()
    )


def target_name(settings: JsonObject) -> str:
    """Name of the target in a treatment's settings; empty where they have none, as of an import."""
    target = settings.get("target")
    return next(iter(target), "") if isinstance(target, Mapping) else ""


def _identity(described: Iterable[JsonObject | None]) -> tuple[str, ...]:
    """Facts by which the trials of a treatment identify their system; empty if they reported nothing."""
    documents = [document for document in described if document]
    return tuple(sorted({repr([_fact(document.get(name)) for name in _IDENTITY]) for document in documents}))


def _fact(value: JsonValue) -> JsonValue:
    return _PORT.sub("", value) if isinstance(value, str) else value


def _shared_levels(group: Sequence[TreatmentRecord], everything: Sequence[TreatmentRecord]) -> str:
    """`system = postgres`: the levels of these treatments by which they differ from the others."""
    keys = short_keys(list(dict.fromkeys(key for treatment in everything for key in treatment.levels)))
    shared = {
        short: group[0].levels.get(key)
        for key, short in keys.items()
        if len({treatment.levels.get(key) for treatment in group}) == 1
        and len({treatment.levels.get(key) for treatment in everything}) > 1
    }
    named = [f"{short} = {level}" for short, level in shared.items() if level is not None]
    if not named:
        names = [*labels(group).values()]
        named = [*names[:_MOST_NAMED], *(["…"] if len(names) > _MOST_NAMED else [])]
    return ", ".join(named)

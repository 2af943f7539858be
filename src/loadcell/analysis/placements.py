"""Findings on placements: levels of a placing factor that were one place on this machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from loadcell.analysis.finding import Concern, Finding, FindingCode, Subject
from loadcell.analysis.treatments import PLACING, alike_groups
from loadcell.model.json import JsonObject
from loadcell.model.run_record import RunRecord, TreatmentRecord
from loadcell.model.trial_record import TrialRecord

#: Where everything of a trial was: processors of the target and of the client, and whose memory each had.
Place = tuple[Any, ...]

SAME_PLACE = FindingCode(
    "found.same-place", Subject.PLACEMENTS, "caution", (Concern.TRUST, 10), cpus=str, factor=str, levels=list
)
SAME_PLACE_MEMORY = FindingCode(
    "found.same-place.memory", Subject.PLACEMENTS, "caution", (Concern.TRUST, 10), factor=str, levels=list
)


def findings(run: RunRecord, records: Sequence[TrialRecord]) -> Iterator[Finding]:
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

"""Systems under test of runs in which a factor switches the target."""

from __future__ import annotations

from typing import Any

import pytest

from loadcell.analysis.compare.differences import targets
from loadcell.analysis.systems import planned_parts, systems
from loadcell.model.run_record import RunRecord, TreatmentRecord
from loadcell.model.trial_record import Status, TrialRecord


def treatment(levels: dict[str, str], target: dict[str, Any]) -> TreatmentRecord:
    name = ",".join(f"{key}={level}" for key, level in levels.items()) or "baseline"
    return TreatmentRecord(name, levels, settings={"target": target})


def trial(number: int, of: TreatmentRecord, facts: dict[str, Any] | None) -> TrialRecord:
    return TrialRecord(
        number, str(number), of.id, 1, Status.OK, levels=of.levels, settings=of.settings, target=facts
    )


POSTGRES, MARIA = {"server": "embedded", "version": "18.4"}, {"product": "MariaDB", "version": "10.11"}


def crossed() -> list[TreatmentRecord]:
    return [
        treatment({"system": system, "load.clients": clients}, {system: {"settings": {"a": clients}}})
        for system in ("postgres", "mysql")
        for clients in ("1", "2")
    ]


def test_a_switched_target_makes_a_system_for_each_of_its_levels() -> None:
    treatments = crossed()
    facts = [POSTGRES, POSTGRES, MARIA, None]
    records = [trial(number, *pair) for number, pair in enumerate(zip(treatments, facts, strict=True), 1)]
    results = systems(RunRecord(treatments=tuple(treatments)), records)
    assert [(system.target, system.label) for system in results] == [
        ("postgres", "system = postgres"),
        ("mysql", "system = mysql"),
    ]
    assert [system.described for system in results] == [[POSTGRES, POSTGRES], [MARIA]]
    assert [len(system.treatments) for system in results] == [2, 2]


@pytest.mark.parametrize(
    ("first", "other", "count"),
    [
        ({"server": "local", "version": "15.1"}, {"server": "local", "version": "17.2"}, 2),
        ({"server": "command", "command": "./a"}, {"server": "command", "command": "./b"}, 2),
        ({"server": "external", "url": "http://a:80"}, {"server": "external", "url": "http://b:80"}, 2),
        ({"server": "command", "url": "http://a:4001"}, {"server": "command", "url": "http://a:4002"}, 1),
        ({"server": "local", "settings": {"a": 1}}, {"server": "local", "settings": {"a": 2}}, 1),
    ],
)
def test_systems_differ_by_what_they_are_not_by_settings(
    first: dict[str, Any], other: dict[str, Any], count: int
) -> None:
    treatments = [treatment({"v": level}, {"any": {"v": level}}) for level in ("x", "y")]
    records = [trial(1, treatments[0], first), trial(2, treatments[1], other)]
    results = systems(RunRecord(treatments=tuple(treatments)), records)
    assert [system.label for system in results] == (["v = x", "v = y"] if count == 2 else [""])


def test_parts_of_the_plan_are_named_with_their_levels() -> None:
    parts = planned_parts(RunRecord(treatments=tuple(crossed())), "target")
    assert [(part.name, part.label, len(part.options)) for part in parts] == [
        ("postgres", "system = postgres", 2),
        ("mysql", "system = mysql", 2),
    ]


def test_a_comparison_of_runs_compares_each_system_with_itself() -> None:
    first, other = (treatment({"system": name}, {name: {}}) for name in ("postgres", "mysql"))
    before = [trial(1, first, POSTGRES), trial(2, other, MARIA)]
    after = [trial(1, first, POSTGRES), trial(2, other, {**MARIA, "version": "11.4"})]
    assert [item.path for item in targets([before], [after])] == ["mysql.version"]
    assert [item.path for item in targets([before[1:]], [after[1:]])] == ["version"]

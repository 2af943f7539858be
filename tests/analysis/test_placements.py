"""Levels of a placement that are one place on this machine."""

from __future__ import annotations

from itertools import product

from loadcell.analysis import placements
from loadcell.model.run_record import FactorRecord, LevelRecord, RunRecord, TreatmentRecord
from loadcell.model.trial_record import TrialRecord
from loadcell.report.texts import Texts
from records import trial

CPUS = {"one node": "0-1", "half the cores": "0", "all": "0-1"}


def run(**more: list[str]) -> RunRecord:
    """A run with placements of the target, and whatever else is varied beside them."""
    levels = {"affinity.target": list(CPUS), **more}
    matches = [dict(zip(levels, item, strict=True)) for item in product(*levels.values())]
    return RunRecord(
        factors=tuple(FactorRecord(key, tuple(map(LevelRecord, labels))) for key, labels in levels.items()),
        treatments=tuple(TreatmentRecord(",".join(item.values()), item) for item in matches),
    )


def records(of: RunRecord, **memory: str) -> list[TrialRecord]:
    """Placements as trials recorded them, with memory by the level of `affinity.memory`."""
    results = []
    for item in of.treatments:
        result = memory.get(item.levels.get("affinity.memory", ""))
        side = {"cpus": CPUS[item.levels["affinity.target"]], "memory": result}
        results.append(trial(treatment=item.id, affinity={"asked": {}, "client": side}))
    return results


def sentences_of(of: RunRecord, placed: list[TrialRecord], language: str = "en") -> list[str]:
    return [Texts(language).message(finding.message) for finding in placements.findings(of, placed)]


def test_levels_that_are_the_same_processors_are_named() -> None:
    of = run(threads=["1", "2"])
    assert sentences_of(of, records(of)) == [
        "On this machine, the levels one node and all of affinity.target mean the same CPUs (0-1). "
        "Differences between them are chance."
    ]
    assert "one node 和 all" in sentences_of(of, records(of), "zh")[0]


def test_what_is_placed_elsewhere_by_another_factor_is_still_distinguished_by_it() -> None:
    of = run(**{"affinity.memory": ["near", "far"]})
    apart = records(of, near="bind:0", far="bind:1")
    assert [finding.message.arguments["factor"] for finding in placements.findings(of, apart)] == [
        "affinity.target"
    ]
    adjacent = records(of, near="bind:0", far="bind:0")
    memory = [
        finding
        for finding in placements.findings(of, adjacent)
        if finding.message.arguments["factor"] == "affinity.memory"
    ]
    assert [entry.message.code for entry in memory] == ["found.same-place.memory"]


def test_levels_of_which_nothing_ran_and_other_factors_are_not_judged() -> None:
    of = run(threads=["1", "2"])
    ran = [record for record in records(of) if not record.treatment.startswith("all")]
    assert sentences_of(of, ran) == []
    assert sentences_of(RunRecord(factors=(FactorRecord("threads", (LevelRecord("1"),)),)), []) == []

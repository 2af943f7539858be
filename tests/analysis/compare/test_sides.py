"""Sides of a comparison: levels, arms and runs, and one clear sentence where that cannot be."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analysis.compare.simulated_runs import Records, record, run_of
from loadcell.analysis.compare import findings, sides
from loadcell.analysis.compare.compare import compare
from loadcell.analysis.compare.metrics import CannotCompareError
from loadcell.analysis.compare.sides import Sides
from loadcell.model.run_record import ImportedFile

TWO_FACTORS = {
    f"{fsync}-{clients}": {"target.fsync": fsync, "load.clients": clients}
    for fsync in ("on", "off")
    for clients in ("4", "16")
}


def shape(compared: Sides) -> dict[str, dict[str, list[int]]]:
    return {
        side.label: {context: [trial.block for trial in trials] for context, trials in side.trials.items()}
        for side in compared.sides
    }


def test_levels_are_compared_where_all_else_is_the_same() -> None:
    run = run_of({name: [1.0, 2.0] for name in TWO_FACTORS}, levels=TWO_FACTORS)
    side_pair = sides.levels(*run, factor="fsync")
    assert (side_pair.kind, side_pair.factor, side_pair.paired) == ("levels", "target.fsync", True)
    assert list(side_pair.contexts) == ["clients = 4", "clients = 16"]
    assert shape(side_pair) == {
        "on": {"clients = 4": [1, 2], "clients = 16": [1, 2]},
        "off": {"clients = 4": [1, 2], "clients = 16": [1, 2]},
    }


def test_the_first_level_named_is_the_base() -> None:
    run = run_of({"1": [1.0], "2": [1.0], "4": [1.0]}, factor="load.clients")
    assert [side.label for side in sides.levels(*run, wanted=("4", "1")).sides] == ["4", "1"]
    assert [side.label for side in sides.levels(*run).sides] == ["1", "2", "4"]


def test_one_at_a_time_compares_each_factor_round_the_baseline() -> None:
    levels = {"baseline": {"a": "1", "b": "x"}, "a=2": {"a": "2", "b": "x"}, "b=y": {"a": "1", "b": "y"}}
    run = run_of({name: [1.0] for name in levels}, levels=levels)
    assert list(sides.levels(*run, factor="a").contexts) == ["b = x"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "the run varies 2 factors. Name one with --factor: target.fsync, load.clients."),
        ({"factor": "nothing"}, "the run has no factor 'nothing'. Its factors: target.fsync, "
        "load.clients."),
        ({"factor": "fsync", "wanted": ("on", "maybe")}, "factor target.fsync has no level 'maybe'. Its "
        "levels are: on, off."),
        ({"factor": "fsync", "wanted": ("on",)}, "factor target.fsync has only the level 'on' to compare."),
    ],
)  # fmt: skip
def test_levels_that_cannot_be_compared(arguments: dict[str, object], message: str) -> None:
    run = run_of({name: [1.0] for name in TWO_FACTORS}, levels=TWO_FACTORS)
    with pytest.raises(CannotCompareError) as error:
        sides.levels(*run, **arguments)  # type: ignore[arg-type]
    assert str(error.value).startswith(message)


def probed(accesses: dict[str, str]) -> Records:
    """A run of the disk's probe, a level for each of these accesses; one without any failed."""
    throughputs = {level: [1.0 if access else None] for level, access in accesses.items()}
    settings = {
        level: {"workload": {"probe": {"disk": {"access": access}}}} for level, access in accesses.items()
    }
    run, records = run_of(throughputs, "probe", settings=settings)
    return run, [replace(record, unit="MiB") for record in records]


UNLIKE = probed({"scan": "read", "shuffle": "write", "jump": "read", "broken": ""})


def test_levels_that_measure_unlike_things_are_not_compared_with_each_other() -> None:
    with pytest.raises(CannotCompareError) as error:
        sides.levels(*UNLIKE)
    assert str(error.value) == (
        "the levels of probe measure different quantities, which cannot be compared:\n"
        "  scan, jump, broken: MiB; probe disk read\n"
        "  shuffle: MiB; probe disk write\n"
        "Name levels that measure the same quantity: --levels scan,jump,broken."
    )
    alike = sides.levels(*UNLIKE, wanted=("jump", "scan"))
    assert [side.label for side in alike.sides] == ["jump", "scan"]


def test_where_no_two_levels_measure_the_same_another_run_is_asked_for() -> None:
    with pytest.raises(CannotCompareError) as error:
        sides.levels(*UNLIKE, wanted=("scan", "shuffle"))
    assert (
        error.value.advice == "Compare each with the same treatment of another run: `loadcell compare A B`."
    )


def test_a_level_of_which_nothing_was_measured_is_not_unlike_any() -> None:
    assert len(sides.levels(*UNLIKE, wanted=("shuffle", "broken")).sides) == 2


def test_a_run_that_varied_nothing() -> None:
    with pytest.raises(CannotCompareError, match="only one run, and it varies no factor"):
        sides.levels(*run_of({"base": [1.0]}, levels={"base": {}}))


def test_arms_of_a_run_are_pairs_within_its_blocks() -> None:
    run, _ = run_of({"base": [1.0]}, levels={"base": {}})
    records = [
        record(2 * block + item, "base", block, 100.0, arm=arm)
        for block in (1, 2, 3)
        for item, arm in enumerate("ab")
    ]
    side_pair = sides.arms(run, records)
    assert (side_pair.kind, side_pair.paired) == ("arms", True)
    assert shape(side_pair) == {"a": {"base": [1, 2, 3]}, "b": {"base": [1, 2, 3]}}


def test_a_run_without_arms() -> None:
    with pytest.raises(CannotCompareError, match="no arms") as error:
        sides.arms(*run_of({"base": [1.0]}))
    assert "--aa" in error.value.advice


def test_runs_are_matched_by_treatment() -> None:
    first, second = run_of({"1": [1.0], "2": [1.0]}), run_of({"2": [1.0], "4": [1.0]})
    side_pair = sides.runs([("a", *first), ("b", *second)])
    assert (side_pair.kind, side_pair.paired) == ("runs", False)
    assert list(side_pair.contexts) == ["2"]


def test_runs_with_nothing_in_common() -> None:
    first, second = run_of({"1": [1.0]}), run_of({"2": [1.0]})
    with pytest.raises(CannotCompareError, match="no treatment in common"):
        sides.runs([("a", *first), ("b", *second)])
    anyway = sides.runs([("a", *first), ("b", *second)], anyway=True)
    assert shape(anyway) == {"a": {"": [1]}, "b": {"": [1]}}


@pytest.mark.parametrize(
    ("options", "one_server"),
    [
        (({"fresh": False}, {"fresh": False}), True),
        (({"fresh": True}, {"fresh": True}), False),
        (({"fresh": False, "storage": "a"}, {"fresh": False, "storage": "b"}), False),  # started for each
        (({}, {}), False),
    ],
)
def test_one_process_of_the_server_for_all_trials_is_noticed(
    options: tuple[dict[str, object], dict[str, object]], one_server: bool
) -> None:
    settings = {
        name: {"target": {"postgres": option}} for name, option in zip(("off", "on"), options, strict=True)
    }
    throughputs = {"off": [1.0] * 6, "on": [1.1] * 6}
    chosen = sides.levels(*run_of(throughputs, settings=settings))
    assert chosen.one_server is one_server
    codes = {finding.message.code for finding in findings.find(compare(chosen), None)}
    assert ("compare.one-server" in codes) is one_server


def test_imports_and_orders_as_written_are_no_pairs() -> None:
    run, records = run_of({"off": [1.0] * 6, "on": [1.1] * 6})
    assert sides.levels(run, records).paired
    imported = replace(run, imported=(ImportedFile("ab.txt", "ab"),))
    for unshuffled in (replace(run, order="as-written"), imported):
        chosen = sides.levels(unshuffled, records)
        assert (chosen.paired, chosen.lack(1)) == (False, "order")

"""Recoveries in the tables of faults: seen, missing, or from an earlier fault."""

from __future__ import annotations

from dataclasses import replace

import pytest

from loadcell.model.fault_judgement import (
    Censored,
    Effect,
    Recovery,
)
from loadcell.model.trial_record import ExpectationResult, TrialRecord
from loadcell.report.blocks import Table, unfolded
from loadcell.report.build import build
from loadcell.store.read import StoredRun
from report.fault_runs import (
    AT_S,
    first_row,
    judged_as,
    section,
)


@pytest.mark.parametrize(("lang", "text"), [("en", "more than 90.0 s"), ("zh", "90.0 s 以上")])
def test_a_recovery_that_was_not_seen_has_its_lower_bound(broken: StoredRun, lang: str, text: str) -> None:
    unseen = ExpectationResult("recovery < 30s", "missed", at_least=90_000.0)
    trials = tuple(replace(trial, expect=(unseen,)) for trial in broken.trials)
    tables, _ = section(build(replace(broken, trials=trials), lang))
    assert [row[2].text for row in tables["table-fault-expectations"].rows] == [text]


@pytest.mark.parametrize(
    ("effect", "censored", "shown"),
    [
        ("outage", "not-recovered", "not recovered"),
        ("outage", "too-short", "unknown (under 10 s judged)"),
        ("none", "too-short", "–"),
    ],
)
def test_a_missing_recovery_has_its_reason(
    broken: StoredRun, effect: Effect, censored: Censored, shown: str
) -> None:
    """Nothing recovers from a fault without effect."""

    def without(trial: TrialRecord) -> TrialRecord:
        (fault,) = trial.faults or ()
        assert fault.judgement is not None
        judged = replace(fault.judgement, effect=effect, recovery=Recovery(censored=censored))
        return replace(trial, faults=(replace(fault, judgement=judged),))

    tables, _ = section(build(replace(broken, trials=tuple(map(without, broken.trials)))))
    assert first_row(tables["table-fault-extent"])["Recovery from injection"] == shown


@pytest.mark.parametrize(
    ("recovered_s", "censored", "shown"),
    [
        ((2.0, 3.0), ("not-recovered",), "3,000 ms (2,000 ms – 3,000 ms); no recovery seen in 1 of 3"),
        ((2.0,), ("not-recovered",) * 2, "recovered in 1 of 3: 2,000 ms"),
        ((2.0, 3.0), ("not-recovered",) * 2, "recovered in 2 of 4: 2,000 ms to 3,000 ms"),
        ((2.0, 3.0), ("too-short",), "2,500 ms (2,000 ms – 3,000 ms); no recovery seen in 1 of 3"),
        ((2.0, 3, 4, 5, 6, 7), ("too-short",), "4,500 ms (2,000 ms – 7,000 ms); no recovery seen in 1 of 7"),
    ],
)
def test_a_missing_recovery_is_longer_than_all_others(
    broken: StoredRun, recovered_s: tuple[float, ...], censored: tuple[Censored, ...], shown: str
) -> None:
    """There is no interval of repeats of which some are unknown."""
    recoveries = [Recovery(AT_S + value_s, value_s, value_s) for value_s in recovered_s]
    recoveries += [Recovery(censored=reason) for reason in censored]
    treatment = broken.run.treatments[0].id
    (first, *_) = (trial for trial in broken.trials if trial.treatment == treatment)
    (fault,) = first.faults or ()
    assert fault.judgement is not None
    trials = [
        replace(
            first,
            name=f"{first.name}-{number}",
            faults=(replace(fault, judgement=replace(fault.judgement, recovery=recovery)),),
        )
        for number, recovery in enumerate(recoveries)
    ]
    sections = build(replace(broken, trials=tuple(trials))).sections
    blocks = [block for section in sections for block in unfolded(section.blocks)]
    [table] = [block for block in blocks if isinstance(block, Table) and block.id == "table-fault-extent"]
    assert " ".join(first_row(table)["Recovery from injection"].split()) == shown


def test_nothing_recovers_where_no_repeat_had_an_effect(broken: StoredRun) -> None:
    tables, _ = section(build(judged_as(broken, effect="none", recovery=Recovery(AT_S, 0.0, 0.0))))
    row = first_row(tables["table-fault-extent"])
    assert (row["Recovery from injection"], row["Recovery from undo"]) == ("–", "–")


def test_a_fault_without_effect_has_a_recovery_from_an_earlier_one(broken: StoredRun) -> None:
    """The load recovers after a promotion, whose outage belongs to the end of the primary."""
    tables, _ = section(build(judged_as(broken, effect="none", recovery=Recovery(AT_S + 2.5, 2.5, None))))
    assert first_row(tables["table-fault-extent"])["Recovery from injection"] == "2,500 ms"


@pytest.mark.parametrize(
    ("recovery", "shown"),
    [(Recovery(AT_S, 0.0, 0.0), "0 ms"), (Recovery(censored="not-recovered"), "not recovered")],
)
def test_a_recovery_that_is_expected_is_shown(broken: StoredRun, recovery: Recovery, shown: str) -> None:
    run = judged_as(broken, effect="none", recovery=recovery)
    expected = ExpectationResult("recovery < 20s", "met", 0.0, fault=0)
    trials = tuple(replace(trial, expect=(expected,)) for trial in run.trials)
    tables, _ = section(build(replace(run, trials=trials)))
    assert first_row(tables["table-fault-extent"])["Recovery from injection"] == shown


@pytest.mark.parametrize(("lang", "text"), [("en", "300 ms before"), ("zh", "撤销前 300 ms")])
def test_a_recovery_before_the_undo_is_named(broken: StoredRun, lang: str, text: str) -> None:
    """0 ms would be one at the instant of the undo."""
    (fault,) = broken.trials[0].faults or ()
    assert fault.undone is not None
    recovery = Recovery(fault.undone.ended_s - 0.3, 0.7, 0.0)
    tables, _ = section(build(judged_as(broken, recovery=recovery), lang))
    assert text in [cell.text for cell in tables["table-fault-extent"].rows[0]]

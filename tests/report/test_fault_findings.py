"""Findings on faults, their order and their links in the summary; no choice between faults."""

from __future__ import annotations

from dataclasses import replace

import pytest

from loadcell.analysis import effects, recommend
from loadcell.analysis.analyse import analyse
from loadcell.analysis.faults import lost_writes
from loadcell.analysis.finding import FindingCode, Subject
from loadcell.analysis.sweep import speed_of
from loadcell.model.fault_judgement import (
    Failed,
    Management,
    ManagementJudgement,
    Recovery,
)
from loadcell.model.trial_record import Status, TrialRecord
from loadcell.model.write_metrics import ACKNOWLEDGED, LOST, RECOVERED, UNCERTAIN, UNEXPECTED
from loadcell.report.blocks import Sentences, Tile, Tiles
from loadcell.report.build import build
from loadcell.report.texts import Texts
from loadcell.store.read import StoredRun
from report.fault_runs import (
    in_groups,
    in_terminal,
    judged_as,
    repeats,
)


def tiles(run: StoredRun) -> list[Tile]:
    """The cards at the top of the page."""
    [cards] = [block for block in build(run).sections[0].blocks if isinstance(block, Tiles)]
    return [*cards.tiles]


def test_a_repeat_without_recovery_is_counted(broken: StoredRun) -> None:
    treatment = broken.run.treatments[0].id
    of_treatment = [trial.name for trial in broken.trials if trial.treatment == treatment]

    def without(trial: TrialRecord, names: list[str]) -> TrialRecord:
        (fault,) = trial.faults or ()
        assert fault.judgement is not None
        judged = replace(fault.judgement, recovery=Recovery(censored="not-recovered"))
        return replace(trial, faults=(replace(fault, judgement=judged),)) if trial.name in names else trial

    for names, text in (
        (of_treatment, " without recovery,"),
        (of_treatment[:1], " without recovery in 1 of "),
    ):
        judged = replace(broken, trials=tuple(without(trial, names) for trial in broken.trials))
        assert text in " ".join(in_terminal(judged, "en").split())


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        ("en", "(pause of 8,000 ms in 1 of {of} trials) without recovery in 1 of {of} trials"),
        ("zh", "（停顿 8,000 ms，{of} 次试验中有 1 次），{of} 次试验中有 1 次未恢复"),
    ],
)
def test_an_outage_of_one_repeat_has_its_own_pause(broken: StoredRun, lang: str, text: str) -> None:
    """Not the median of all repeats: 25 ms are no outage."""
    treatment = broken.run.treatments[0].id
    first = next(trial.name for trial in broken.trials if trial.treatment == treatment)

    def without(trial: TrialRecord) -> TrialRecord:
        (fault,) = trial.faults or ()
        assert fault.judgement is not None
        judged = replace(fault.judgement, effect="none", pause_s=0.025)
        if trial.name == first:
            censored = Recovery(censored="not-recovered")
            judged = replace(judged, effect="outage", pause_s=8.0, recovery=censored)
        return replace(trial, faults=(replace(fault, judgement=judged),))

    judged = replace(broken, trials=tuple(map(without, broken.trials)))
    assert text.format(of=repeats(broken)) in " ".join(in_terminal(judged, lang).split())


def test_a_fault_that_made_operations_fail_is_not_without_effect(broken: StoredRun) -> None:
    """The share is the median over the repeats."""

    def failing(trial: TrialRecord) -> TrialRecord:
        (fault,) = trial.faults or ()
        assert fault.judgement is not None
        judged = replace(fault.judgement, effect="errors", failed=Failed(0.09, 0.085))
        return replace(trial, faults=(replace(fault, judgement=judged),))

    judged = replace(broken, trials=tuple(failing(trial) for trial in broken.trials))
    sentences = in_terminal(judged, "en")
    assert "made operations fail: " in sentences
    assert "(9.0% failed)" in sentences
    assert "had no effect on throughput" not in sentences


def test_a_trial_that_is_not_ok_shows_no_absence_of_effects(broken: StoredRun) -> None:
    def without(trial: TrialRecord, status: Status) -> TrialRecord:
        (fault,) = trial.faults or ()
        assert fault.judgement is not None
        judged = replace(fault.judgement, effect="none")
        return replace(trial, status=status, faults=(replace(fault, judgement=judged),))

    for status, shown in ((Status.OK, True), (Status.INVALID, False)):
        judged = replace(broken, trials=tuple(without(trial, status) for trial in broken.trials))
        assert ("had no effect" in in_terminal(judged, "en")) == shown


def test_a_trial_that_is_not_ok_does_not_count_as_one_without_lost_writes(broken: StoredRun) -> None:
    def results(status: str, lost: float) -> list[FindingCode]:
        treatments = [
            replace(
                treatment,
                trials=tuple(
                    replace(trial, status=status, figures={LOST: lost, ACKNOWLEDGED: 100.0})
                    for trial in treatment.trials
                ),
            )
            for treatment in analyse(broken.run, broken.trials).treatments
        ]
        return [finding.code for finding in lost_writes.findings(treatments)]

    assert results("ok", 0.0) == [lost_writes.NO_LOSS]
    assert results("invalid", 0.0) == []
    assert results("invalid", 1.0) == results("ok", 1.0) != []


def test_the_summary_begins_with_the_effect_of_the_fault(broken: StoredRun) -> None:
    """Not the target's rate: with a fault it is no capacity."""
    shown = in_terminal(broken, "en")
    assert "faults caused an outage: " in shown
    assert "(pause of 1,00" in shown
    assert "sustain" not in shown


def test_levels_of_faults_are_no_choice(broken: StoredRun) -> None:
    """A treatment per fault, none of which is recommended or fastest; each has its name."""
    treatments = analyse(broken.run, broken.trials).treatments
    assert recommend.is_choice(treatments)
    of_faults = [replace(treatment, levels={"faults": treatment.id}) for treatment in treatments]
    assert not recommend.is_choice(of_faults)
    by_setting = [replace(treatment, values={"faults": []}) for treatment in treatments]
    assert not recommend.is_choice(by_setting)
    assert effects.find(treatments, speed_of, "full").changes
    for treatments_of_faults in (of_faults, by_setting):
        assert effects.find(treatments_of_faults, speed_of, "full").changes == ()


def test_nothing_is_recommended_by_response_times_under_faults(broken: StoredRun) -> None:
    """Treatments differ by a setting, and the fault is the same in all: 1,986 ms are no better than 1,988."""
    assert analyse(broken.run, broken.trials).recommendation is None
    without = [replace(trial, faults=None) for trial in broken.trials]
    assert analyse(broken.run, without).recommendation is not None


def test_no_card_names_a_fault_as_the_best(broken: StoredRun) -> None:
    treatments = [replace(treatment, values={"faults": []}) for treatment in broken.run.treatments]
    of_faults = replace(broken, run=replace(broken.run, treatments=tuple(treatments)))
    for run, shown in ((broken, True), (of_faults, False)):
        titles = [tile.name for tile in tiles(run)]
        assert any("hroughput" in title for title in titles) == shown, titles
        assert "Successful trials" in titles


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        ("en", "hang postgres: read was not affected, write had an outage (pause of 3,120 ms)"),
        ("zh", "hang postgres：read 未受影响、write 服务中断（停顿 3,120 ms）"),
    ],
)
def test_the_summary_has_the_effects_on_each_client_group(broken: StoredRun, lang: str, text: str) -> None:
    run = in_groups(broken)
    first = [trial for trial in run.trials if trial.treatment == run.run.treatments[0].id]
    assert text in " ".join(in_terminal(replace(run, trials=tuple(first)), lang).split())
    assert "Client groups" not in in_terminal(broken, "en")


@pytest.mark.parametrize(
    ("verdict", "lang", "text"),
    [
        ("slow", "en", "The management plane answered slowly: hang postgres (mount after 3,095 ms)."),
        ("down", "en", "The management plane was down: hang postgres (mount after 3,095 ms)."),
        ("slow", "zh", "管理面响应变慢：hang postgres（mount，3,095 ms）。"),
    ],
)
def test_the_summary_has_the_management_plane(
    broken: StoredRun, verdict: Management, lang: str, text: str
) -> None:
    run = judged_as(broken, management=ManagementJudgement(verdict, 3, 3.095, "mount"))
    first = [trial for trial in run.trials if trial.treatment == run.run.treatments[0].id]
    assert text in " ".join(in_terminal(replace(run, trials=tuple(first)), lang).split())


def with_writes(run: StoredRun, uncertain: float) -> StoredRun:
    """The run with numbered writes in the trials of its first treatment, none of them lost."""
    first = run.run.treatments[0].id
    values = {ACKNOWLEDGED: 100.0, LOST: 0.0, UNCERTAIN: uncertain, RECOVERED: uncertain - 1, UNEXPECTED: 0.0}

    def written(trial: TrialRecord) -> TrialRecord:
        if trial.treatment != first or trial.totals is None:
            return trial
        return replace(trial, totals=replace(trial.totals, figures={**trial.totals.figures, **values}))

    return replace(run, trials=tuple(map(written, run.trials)))


@pytest.mark.parametrize(
    ("lang", "text"),
    [("en", "Writes were not acknowledged, so that"), ("zh", "有写入未获确认，客户端无从得知其结果：")],
)
def test_writes_without_acknowledgement_are_a_caution(broken: StoredRun, lang: str, text: str) -> None:
    """One write is on the way when a server ends."""
    run = with_writes(broken, 85.0)
    [finding] = lost_writes.uncertain(analyse(run.run, run.trials).treatments)
    assert finding.severity == "caution"
    assert Texts(lang).message(finding.message).startswith(text)
    few = with_writes(broken, 1.0)
    assert [*lost_writes.uncertain(analyse(few.run, few.trials).treatments)] == []


def test_findings_on_faults_and_writes_lead_to_their_tables(broken: StoredRun) -> None:
    report = build(with_writes(broken, 85.0))
    [sentences] = [block for block in report.sections[0].blocks if isinstance(block, Sentences)]
    anchors = {
        finding.subject: link.anchor
        for finding, link in zip(sentences.findings, sentences.links, strict=True)
        if link
    }
    assert anchors[Subject.FAULTS] == "table-faults"
    assert anchors[Subject.WRITES] == "table-writes"

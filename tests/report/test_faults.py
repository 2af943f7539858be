"""Section on faults: expected against observed, and the load around each fault, on page and terminal."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from analysis.faults.made import constant, fault, queue, stop, timeline
from fake_runs import Shape, write_run
from loadcell.analysis import effects, recommend
from loadcell.analysis.analyse import analyse
from loadcell.analysis.faults import lost_writes
from loadcell.analysis.faults.completions import Completions
from loadcell.analysis.faults.judge import judge
from loadcell.analysis.finding import FindingCode, Subject
from loadcell.analysis.sweep import speed_of
from loadcell.model import numbers
from loadcell.model.fault_judgement import (
    Censored,
    Effect,
    Failed,
    HungClients,
    Management,
    ManagementJudgement,
    Recovery,
)
from loadcell.model.fault_record import FaultRecord
from loadcell.model.json import JsonObject, document
from loadcell.model.trial_record import ExpectationResult, Status, TrialRecord
from loadcell.model.write_metrics import ACKNOWLEDGED, LOST, RECOVERED, UNCERTAIN, UNEXPECTED
from loadcell.report import brief
from loadcell.report.blocks import Cell, Chart, Column, Report, Sentences, Table, Tile, Tiles, unfolded
from loadcell.report.build import build
from loadcell.report.render import html, terminal
from loadcell.report.sections import check_evidence
from loadcell.report.texts import Texts
from loadcell.store import timeline_files
from loadcell.store.read import StoredRun, read_run
from loadcell.store.write import TrialWriter

AT_S, FOR_S, UNTIL_S, RATE_PER_S = 10.0, 1.0, 30.0, 200.0
EXPECTED = "pause < 2s"
MISSED = "effect == none"
OF_PLAN = "lost_operations < 100"


class Files(TrialWriter):
    """Writes files into the directory of a finished trial."""

    def __init__(self, path: Path) -> None:
        self.path, self._files = path, {}

    def _field(self, value: object, *, words: bool) -> object:
        return "" if value is None else value


def judged(path: Path) -> FaultRecord:
    """A hang that is judged on the timeline that is written there."""
    lines = timeline(queue(constant(RATE_PER_S, UNTIL_S), 0.001, stop(AT_S, FOR_S)))
    writer = Files(path)
    timeline_files.write([lines], writer)
    for file in writer._files.values():
        file.close()
    assert timeline_files.read(path)[0].slots == lines.slots
    hang = replace(fault(AT_S, FOR_S), subject="postgres")
    (judgement,) = judge([hang], Completions.of([lines], UNTIL_S), 8)
    return replace(hang, judgement=replace(judgement, errors={"timeout": 3}))


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> StoredRun:
    """A run with a fault in each trial."""
    path = write_run(tmp_path_factory.mktemp("faults") / "run", Shape(monitors=False, intervals=False))
    for file in path.glob("trials/*/trial.json"):
        record = json.loads(file.read_text(encoding="utf-8"))
        record["faults"] = [document(judged(file.parent))]
        record["measure"]["duration_s"] = UNTIL_S
        record["settings"]["faults"] = [{"hang": {"subject": "postgres"}, "at": "10s", "for": "1s"}]
        record["expect"] = [
            {"expression": EXPECTED, "verdict": "met", "value": 1005.0, "fault": 0},
            {"expression": MISSED, "verdict": "missed", "value": 2.0, "fault": 0},
            {"expression": OF_PLAN, "verdict": "missed", "value": 201.0},
        ]
        file.write_text(json.dumps(record), encoding="utf-8")
    return read_run(path)


def in_terminal(run: StoredRun, lang: str) -> str:
    """The summary of a run on a wide terminal."""
    out = io.StringIO()
    console = Console(file=out, width=160, highlight=False, color_system=None)
    terminal.render(brief.of_run(run, lang), console)
    return out.getvalue()


def judged_as(run: StoredRun, **values: Any) -> StoredRun:
    """The run with these values in the judgement of each fault."""

    def changed(trial: TrialRecord) -> TrialRecord:
        (fault,) = trial.faults or ()
        assert fault.judgement is not None
        return replace(trial, faults=(replace(fault, judgement=replace(fault.judgement, **values)),))

    return replace(run, trials=tuple(map(changed, run.trials)))


def section(report: Report) -> tuple[dict[str, Table], Chart]:
    """The tables by name, and the chart."""
    [of_faults] = [section for section in report.sections if section.id == "faults"]
    blocks = [*unfolded(of_faults.blocks)]
    [chart] = [block for block in blocks if isinstance(block, Chart)]
    return {block.id: block for block in blocks if isinstance(block, Table)}, chart


def first_row(table: Table) -> dict[str, str]:
    """Cells of the first row by heading."""
    titles = [column.title for column in table.columns]
    return dict(zip(titles, (cell.text for cell in table.rows[0]), strict=True))


def repeats(run: StoredRun) -> int:
    """Trials of a treatment."""
    return len(run.trials) // len(run.run.treatments)


def tiles(run: StoredRun) -> list[Tile]:
    """The cards at the top of the page."""
    [cards] = [block for block in build(run).sections[0].blocks if isinstance(block, Tiles)]
    return [*cards.tiles]


def test_expected_stands_against_observed(broken: StoredRun) -> None:
    tables, _ = section(build(broken))
    row = {**first_row(tables["table-faults"]), **first_row(tables["table-fault-extent"])}
    assert row["Fault"] == "hang postgres"
    assert row["Planned"] == "at 10s for 1s"
    assert row["Expected"] == f"{EXPECTED}; {MISSED}"
    assert row["Verdict"] == f"missed ({MISSED})"
    assert row["Effect"] == "outage"
    assert row["Pause"].startswith("1,00")
    assert row["Dip"] == "100%"
    assert row["Missing operations"] == "201"
    assert row["of these made up later"].startswith(("20", "19")), "an open loop"
    assert row["Recovery from injection"].startswith("1,25")
    assert row["Errors"] == f"timeout × {numbers.whole(3 * repeats(broken))}", "those of all repeats"
    assert len(tables["table-fault-trials"].rows) == len(broken.trials)
    assert first_row(tables["table-fault-trial-values"])["Errors"] == "timeout × 3"
    assert "timeout × " in in_terminal(broken, "en")


@pytest.mark.parametrize(("lang", "verdict"), [("en", "missed"), ("zh", "未满足")])
def test_expectations_of_the_plan_are_listed_once_below_the_faults(
    broken: StoredRun, lang: str, verdict: str
) -> None:
    """They are judged by all faults of a trial together, and belong to no row."""
    tables, _ = section(build(broken, lang))
    [row] = tables["table-fault-expectations"].rows
    assert [cell.text for cell in row[:3]] == [OF_PLAN, verdict, "201"]
    assert not any(OF_PLAN in cell.text for row in tables["table-faults"].rows for cell in row)
    assert OF_PLAN in in_terminal(broken, lang).partition("hang postgres")[2]


@pytest.mark.parametrize(("lang", "text"), [("en", "more than 90.0 s"), ("zh", "90.0 s 以上")])
def test_a_recovery_that_was_not_seen_has_its_lower_bound(broken: StoredRun, lang: str, text: str) -> None:
    unseen = ExpectationResult("recovery < 30s", "missed", at_least=90_000.0)
    trials = tuple(replace(trial, expect=(unseen,)) for trial in broken.trials)
    tables, _ = section(build(replace(broken, trials=trials), lang))
    assert [row[2].text for row in tables["table-fault-expectations"].rows] == [text]


def test_the_chart_overlays_the_repeats_and_shades_the_phases(broken: StoredRun) -> None:
    _, chart = section(build(broken))
    assert {row["trial"] for row in chart.data["load"]} == {trial.name for trial in broken.trials}
    before = [row["rate"] for row in chart.data["load"] if row["t"] < -0.2]
    paused = [row for row in chart.data["load"] if 0.2 < row["t"] < 0.8]
    assert min(before) == pytest.approx(RATE_PER_S, rel=0.06)
    assert {row["rate"] for row in paused} == {0}
    assert {row["p99"] for row in paused} == {None}
    assert max(row["p99"] for row in chart.data["load"] if row["p99"]) == pytest.approx(1000, rel=0.07)
    phases = [row["phase"] for row in chart.data["spans"] if row["treatment"] == chart.chosen[0]]
    assert phases == ["before", "held", "undone", "recovered"]


def test_the_chart_begins_with_a_fault_that_had_an_effect(broken: StoredRun) -> None:
    first = broken.run.treatments[0].id

    def without(trial: TrialRecord) -> TrialRecord:
        (fault,) = trial.faults or ()
        assert fault.judgement is not None
        effect: Effect = "none" if trial.treatment == first else "outage"
        return replace(trial, faults=(replace(fault, judgement=replace(fault.judgement, effect=effect)),))

    _, chart = section(build(replace(broken, trials=tuple(map(without, broken.trials)))))
    names = [name for name, _ in chart.choices]
    assert list(chart.chosen) == [names[1]]
    assert len(names) == len(broken.run.treatments)


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


@pytest.mark.parametrize(("lang", "title", "effect"), [("en", "Fault", "outage"), ("zh", "故障", "中断")])
def test_the_terminal_has_the_table(broken: StoredRun, lang: str, title: str, effect: str) -> None:
    shown = in_terminal(broken, lang)
    assert title in shown
    assert effect in shown
    assert "hang postgres" in shown


def test_the_chooser_of_the_chart_names_faults(broken: StoredRun) -> None:
    _, chart = section(build(broken))
    assert chart.chooser == "faults"
    assert "Faults shown (up to " in html.render(build(broken))


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


def test_a_longest_request_is_one_over_a_second(broken: StoredRun) -> None:
    tables, _ = section(build(judged_as(broken, hung=HungClients(2, 0.25, 1.2))))
    assert first_row(tables["table-fault-trial-values"])["Longest request over 1 s"] == "1.2 s"


def in_groups(run: StoredRun) -> StoredRun:
    """Each fault judged for two client groups: an outage of `write`, and no effect on `read`."""

    def grouped(trial: TrialRecord) -> TrialRecord:
        (fault,) = trial.faults or ()
        assert fault.judgement is not None
        total = replace(fault.judgement, effect="dip", pause_s=0.05)
        groups = {
            "read": replace(total, effect="none"),
            "write": replace(total, effect="outage", pause_s=3.12),
        }
        return replace(trial, faults=(replace(fault, judgement=total, groups=groups),))

    return replace(run, trials=tuple(map(grouped, run.trials)))


@pytest.mark.parametrize(
    ("lang", "effects"), [("en", ["dip", "none", "outage"]), ("zh", ["下降", "无", "中断"])]
)
def test_each_client_group_has_a_row(broken: StoredRun, lang: str, effects: list[str]) -> None:
    """All clients together had a dip with a pause of 50 ms."""
    tables, _ = section(build(in_groups(broken), lang))
    titles = [column.title for column in tables["table-faults"].columns]
    rows = tables["table-faults"].rows[:3]
    at = titles.index("Effect" if lang == "en" else "影响")
    assert [row[at].text for row in rows] == effects
    assert [row[2].text for row in rows][1:] == ["read", "write"]
    assert not rows[1][3].text, "planned once"
    assert "3,120 ms" in [cell.text for cell in tables["table-fault-extent"].rows[2]]
    assert "3,120 ms" in in_terminal(in_groups(broken), lang)


@pytest.mark.parametrize("width", [100, 80])
def test_tables_of_faults_fit_the_terminal(
    broken: StoredRun, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    """Expectations are broken at spaces only."""
    monkeypatch.setenv("COLUMNS", str(width))
    out = io.StringIO()
    console = Console(file=out, width=width, highlight=False, color_system=None)
    terminal.render(brief.of_run(in_groups(broken), "en"), console)
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    assert any("pause" in line for line in lines)


def test_words_of_folded_columns_are_not_broken() -> None:
    columns = [
        Column("Expected", folds=True),
        Column("Text", many=True),
        Column("Recovery", figure=True, folds=True),
    ]
    row = [
        Cell("latency.p99 < 5s; lost_writes == 0"),
        Cell("word " * 20),
        Cell("unknown (under 10 s judged)"),
    ]
    widths = terminal.column_widths(columns, [row], 34, complete=True)
    assert widths == [11, 10, 10]


@pytest.mark.parametrize(("lang", "text"), [("en", "at 10s for 1s"), ("zh", "第 10 s 注入，持续 1 s")])
def test_the_planned_time_is_in_words(broken: StoredRun, lang: str, text: str) -> None:
    tables, _ = section(build(broken, lang))
    assert text in [cell.text for cell in tables["table-faults"].rows[0]]


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


def test_chinese_evidence_and_expressions_have_no_english_states(broken: StoredRun) -> None:
    detail: JsonObject = {"faults": ["hang storage.brick-2: undone"], "groups": {"read": "noticed"}}
    shown = check_evidence.written("faults", detail, Texts("zh"))
    assert "hang storage.brick-2：已撤销" in shown
    assert "read 有警告" in shown
    tables, _ = section(build(broken, "zh"))
    row = first_row(tables["table-faults"])
    assert row["预期"] == f"{EXPECTED}; {MISSED}"
    assert row["判定"] == f"未满足（{MISSED}）"

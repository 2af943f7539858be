"""Incidents in the logs and samples of a run: diagnoses, findings of its report, marks of its charts."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

import fake_runs
from incidents.gc_texts import Log
from lines import CliRunner
from loadcell.analysis.findings import HIGHEST_NO_LATENCY
from loadcell.cli import main
from loadcell.incidents.base import Diagnosis, examine
from loadcell.incidents.evidence.gluster import GlusterNames, LostName
from loadcell.incidents.record import ExaminationRecord
from loadcell.incidents.runs import base, findings
from loadcell.incidents.runs import findings as incident_findings
from loadcell.model import json as model_json
from loadcell.model.message import Message
from loadcell.model.resources import ControlGroupUse, HostUse, ProcessUse, Resources
from loadcell.report.charts import series
from loadcell.report.context import ReportContext
from loadcell.report.texts import Texts
from loadcell.store.read import read_run

#: Full collections of a spiral: seconds from the begin of the measurement.
BEGIN_S = 4.0
#: Columns that the samples of a fake run lack.
COLUMNS = (
    "clock_offset_step_s", "memory_used_bytes", "memory_available_bytes", "swap_used_bytes", "swap_in_per_s",
    "swap_out_per_s", "pressure_memory_some_percent", "pressure_io_some_percent", "pressure_cpu_some_percent",
)  # fmt: skip


def spiral() -> Log:
    """Full collections that free nothing, one a second."""
    log = Log()
    for index in range(6):
        log.full(BEGIN_S + index + 0.9, 995, 990, 800)
    return log


def with_logs(home: Path, logs: Mapping[str, Log], status: str = "ok") -> Path:
    """A run whose trials have GC logs with UTC instants; `status` is that of these trials."""
    run = fake_runs.write_run(home, fake_runs.two_treatments())
    for name, log in logs.items():
        directory = run / "trials" / name
        record = json.loads((directory / "trial.json").read_text())
        began = record["measure"]["started_utc"]
        record["monitors"]["gc"] = {"samples": 0, "notes": None}
        record["status"] = status
        (directory / "trial.json").write_text(json.dumps(record))
        (directory / "gc.log").write_text("".join(dated(line, began) for line in log.lines))
    return run


def dated(line: str, began: str) -> str:
    """A line whose time since the start becomes a date."""
    seconds, _, text = line.removeprefix("[").partition("s]")
    at = datetime.fromisoformat(began) + timedelta(seconds=float(seconds))
    return f"[{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}+0000]{text}"


def trial_names(home: Path) -> list[str]:
    run = fake_runs.write_run(home / "names", fake_runs.two_treatments())
    return [trial.name for trial in read_run(run).trials]


def doctor(*words: str | Path) -> Result:
    return CliRunner().invoke(main, ["doctor", *map(str, words)], catch_exceptions=False)


def record(run: Path) -> ExaminationRecord:
    return model_json.read(ExaminationRecord, doctor(run, "--json").stdout)


def context(run: Path) -> ReportContext:
    return ReportContext.of(read_run(run), "en")


def texts(run: Path, code: str) -> list[str]:
    """Findings on the spiral; its heap is exhausted, too."""
    matches = (item.message.text for item in context(run).findings if item.message.code == code)
    return [text for text in matches if text.startswith("Full GC spiral")]


def test_a_spiral_in_a_trial_is_a_finding_at_its_time(tmp_path: Path) -> None:
    name = trial_names(tmp_path)[0]
    run = with_logs(tmp_path / "run", {name: spiral()})
    assert doctor(run).exit_code == 1
    [subject] = record(run).subjects
    assert (subject.source, subject.diagnoses[0].incident) == (name, "full-gc-spiral")
    [finding] = texts(run, "found.incident.of-trial")
    assert finding.startswith(f"Full GC spiral in trial `{name}`, 4")
    mark = next(mark for mark in context(run).marks[name] if mark.kind == "incident")
    assert mark.begin_s == pytest.approx(BEGIN_S + 0.1, abs=0.01)
    assert mark.about == "Full GC spiral"


def test_several_trials_are_one_finding_on_the_worst(tmp_path: Path) -> None:
    names = trial_names(tmp_path)[:2]
    run = with_logs(tmp_path / "run", dict.fromkeys(names, spiral()))
    [finding] = texts(run, "found.incident.of-trials")
    assert finding.startswith("Full GC spiral in 2 trials;")


@pytest.mark.parametrize(("timeout", "level"), [("500ms", "critical"), ("1min", None)])
def test_a_pause_longer_than_the_clients_wait(tmp_path: Path, timeout: str, level: str | None) -> None:
    name = trial_names(tmp_path)[0]
    log = Log()
    for index in range(10):
        log.young(1 + index, 500, 100, 600 if index == 5 else 10)
    run = with_logs(tmp_path / "run", {name: log})
    path = run / "trials" / name / "trial.json"
    trial = json.loads(path.read_text())
    trial["settings"].setdefault("load", {})["timeout"] = timeout
    path.write_text(json.dumps(trial))
    assert diagnosed(run).get("long-pause", (name, None)) == (name, level)


def test_an_invalid_trial_is_explained(tmp_path: Path) -> None:
    name = trial_names(tmp_path)[0]
    run = with_logs(tmp_path / "run", {name: spiral()}, "invalid")
    [finding] = texts(run, "found.incident.explains")
    assert finding.startswith("Full GC spiral is probably the reason that 1 trial failed")
    page = run / "page.html"
    assert CliRunner().invoke(main, ["report", str(run), "--out", str(page)]).exit_code == 0
    assert "Incidents: Full GC spiral, Heap exhausted." in page.read_text()


def test_the_log_of_a_trial_without_metrics_of_it_is_examined(tmp_path: Path) -> None:
    name = trial_names(tmp_path)[0]
    run = with_logs(tmp_path / "run", {name: spiral()}, "failed")
    path = run / "trials" / name / "trial.json"
    trial = json.loads(path.read_text())
    trial["monitors"], trial["measure"], trial["totals"] = {}, None, None
    path.write_text(json.dumps(trial))
    [subject] = record(run).subjects
    assert (subject.source, subject.diagnoses[0].incident) == (name, "full-gc-spiral")


def test_a_run_without_an_incident_has_no_finding(tmp_path: Path) -> None:
    name = trial_names(tmp_path)[0]
    log = Log()
    for index in range(20):
        log.young(1 + index / 2, 500, 100)
    run = with_logs(tmp_path / "run", {name: log})
    assert doctor(run).exit_code == 0
    assert not context(run).incidents
    assert not [item for item in context(run).findings if item.message.code.startswith("found.incident")]


def test_sampled_pauses_serve_where_there_is_no_log(tmp_path: Path) -> None:
    name = trial_names(tmp_path)[0]
    run = fake_runs.write_run(tmp_path / "run", fake_runs.two_treatments())
    directory = run / "trials" / name
    trial = json.loads((directory / "trial.json").read_text())
    trial["monitors"]["gc"] = {
        "samples": 6,
        "tables": {"pauses": "gc-pauses.csv"},
        "text_columns": {"gc-pauses.csv": ["cause", "kind", "name"]},
    }
    (directory / "trial.json").write_text(json.dumps(trial))
    head = (
        "t_s,mono_ns,utc,duration_ms,kind,name,cause,before_bytes,after_bytes,capacity_bytes,promoted_bytes"
    )
    rows = [
        f"{BEGIN_S + index},0,,800,full,Full,G1 Compaction Pause,995000000,990000000,1000000000,"
        for index in range(6)
    ]
    (directory / "gc-pauses.csv").write_text("\n".join([head, *rows]) + "\n")
    examined = base.examined(read_run(run))
    assert [item.incident for _, item in examined.diagnoses][:1] == ["full-gc-spiral"]
    [mark] = [mark for mark in findings.marks(examined, read_run(run), str) if mark.about == "full-gc-spiral"]
    assert mark.begin_s == pytest.approx(BEGIN_S, abs=0.01)


@pytest.mark.parametrize(("share", "is_slow"), [(0.85, True), (0.95, False)])
def test_a_trial_far_below_its_repeats_is_slow(tmp_path: Path, share: float, is_slow: bool) -> None:
    shape = fake_runs.Shape(factors={"load.clients": [4]}, repeats=5)
    [treatment] = context(fake_runs.write_run(tmp_path, shape)).analysis.treatments
    first, *others = (replace(trial, throughput_per_s=100.0) for trial in treatment.trials)
    first = replace(first, throughput_per_s=100 * share)
    slow = findings.slow_trials([replace(treatment, trials=(first, *others))])
    assert slow == ([first.name] if is_slow else [])
    assert findings.slow_trials([replace(treatment, trials=(first, *others[:1]))]) == []


def with_samples(home: Path, columns: Mapping[str, Mapping[int, float]]) -> tuple[Path, str]:
    """A run whose first trial has these values in samples of the host, by number of the sample."""
    run = fake_runs.write_run(home, fake_runs.Shape(seconds=30))
    name = read_run(run).trials[0].name
    path = run / "trials" / name / "host.csv"
    zeros = dict.fromkeys(COLUMNS, "0")
    rows = [zeros | row for row in csv.DictReader(path.read_text().splitlines())]
    for column, values in columns.items():
        for number, value in values.items():
            rows[number][column] = str(value)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return run, name


def diagnosed(run: Path) -> dict[str, tuple[str, str]]:
    """Trial and level of each incident."""
    examined = base.examined(read_run(run))
    return {item.incident: (subject.evidence.source, item.level) for subject, item in examined.diagnoses}


def test_steps_of_the_wall_clock_that_take_each_other_back(tmp_path: Path) -> None:
    run, name = with_samples(tmp_path, {"clock_offset_step_s": {10: 7.3, 20: -7.2}})
    assert diagnosed(run) == {"fighting-clocks": (name, "critical")}
    [mark] = [mark for mark in context(run).marks[name] if mark.about == "Clocks that fight"]
    rows = list(csv.DictReader((run / "trials" / name / "host.csv").read_text().splitlines()))
    begin = read_run(run).trials[0].measure
    assert begin is not None
    assert begin.started_mono_ns is not None
    at_s = (int(rows[10]["mono_ns"]) - begin.started_mono_ns) / 1e9
    assert mark.begin_s == pytest.approx(at_s + 7.3, abs=0.01), "by the wall clock after the step"


def test_a_single_step_and_slewing(tmp_path: Path) -> None:
    run, name = with_samples(tmp_path / "step", {"clock_offset_step_s": {10: 0.6}})
    assert diagnosed(run) == {"clock-step": (name, "warning")}
    slewed, _ = with_samples(tmp_path / "slew", {"clock_offset_step_s": dict.fromkeys(range(30), 0.0005)})
    assert diagnosed(slewed) == {}


@pytest.mark.parametrize(("mib", "is_storm"), [(12, True), (8, False)])
def test_swapping_in_and_out_for_seconds(tmp_path: Path, mib: int, is_storm: bool) -> None:
    pages = mib * 256
    rates = dict.fromkeys(range(5, 20), float(pages))
    run, _ = with_samples(tmp_path, {"swap_in_per_s": rates, "swap_out_per_s": rates})
    assert ("swap-storm" in diagnosed(run)) is is_storm


@pytest.mark.parametrize(("share", "level"), [(0.9, "critical"), (0.3, "warning"), (0.2, None)])
def test_a_target_at_its_processor_limit(tmp_path: Path, share: float, level: str | None) -> None:
    run = fake_runs.write_run(tmp_path, fake_runs.two_treatments())
    name = read_run(run).trials[0].name
    group = ControlGroupUse(0.5, share)
    use = Resources(10.0, HostUse(2), ProcessUse(1, 1, 0.5, control_group=group))
    path = run / "trials" / name / "trial.json"
    trial = json.loads(path.read_text()) | {"resources": asdict(use)}
    path.write_text(json.dumps(trial))
    assert diagnosed(run).get("throttled-container") == (None if level is None else (name, level))


@pytest.mark.parametrize(
    ("condition", "incident"),
    [("listed_twice == 0", "gluster-doubled-names"), ("wrong_directory_mode == 0", "gluster-lost-modes")],
)
def test_files_on_glusterfs_that_are_not_as_written(tmp_path: Path, condition: str, incident: str) -> None:
    run = fake_runs.write_run(tmp_path, fake_runs.two_treatments())
    name = read_run(run).trials[0].name
    path = run / "trials" / name / "trial.json"
    trial = json.loads(path.read_text())
    check = {"name": "files", "verdict": "noticed", "detail": {condition: 3, "first": "d2: mode 40000"}}
    trial["checks"].append(check)
    trial["settings"]["target"] = {"directory": {"storage": {"gluster": {"hosts": 4}}}}
    path.write_text(json.dumps(trial))
    assert diagnosed(run) == {incident: (name, "critical")}
    trial["settings"]["target"] = {"directory": {}}
    path.write_text(json.dumps(trial))
    assert diagnosed(run) == {}


def test_the_example_of_a_check_belongs_to_its_first_violated_condition(tmp_path: Path) -> None:
    detail = {
        "missing == 0": 4, "listed_twice == 0": 0, "two_names == 0": 2, "wrong_directory_mode == 0": 3,
        "unreadable == 0": 1, "first": "f17-1",
    }  # fmt: skip
    names = gluster_names(tmp_path / "first", detail)
    assert (names.doubled, names.without_mode, names.lost) == ((), (), ())
    assert (names.further_doubled, names.further_without_mode, names.further_lost) == (2, 3, 1)
    assert names.names == 96, "a missing file has no name"
    texts = [item.summary.text for item in examine(names) if isinstance(item, Diagnosis)]
    assert sorted(texts) == [
        f"1 name on {names.source} has no readable file",
        f"2 names are there twice on {names.source}",
        f"3 directories on {names.source} have the mode 0000 and belong to root",
    ]
    names = gluster_names(tmp_path / "lost", {"unreadable == 0": 2, "first": "f7-1: Input/output error"})
    assert names.lost == (LostName("f7-1", "Input/output error"),)
    assert names.further_lost == 1
    names = gluster_names(tmp_path / "missing", {"missing == 0": 4, "first": "f1"})
    assert not [item for item in examine(names) if isinstance(item, Diagnosis)]


def gluster_names(directory: Path, detail: dict[str, Any]) -> GlusterNames:
    """Evidence of a trial on GlusterFS with this detail of its comparison of files."""
    run = fake_runs.write_run(directory, fake_runs.two_treatments())
    path = run / "trials" / read_run(run).trials[0].name / "trial.json"
    trial = json.loads(path.read_text())
    trial["checks"] = [{"name": "files", "verdict": "noticed", "detail": detail}]
    trial["settings"]["target"] = {"directory": {"storage": {"gluster": {"hosts": 4}}}}
    trial["settings"]["workload"] = {"files": {"count": 100, "directories": 10}}
    path.write_text(json.dumps(trial))
    (names,) = (item for item in base.gathered(read_run(run)) if isinstance(item, GlusterNames))
    return names


@pytest.mark.parametrize(
    ("words", "reason"),
    [(["no-such-run"], "no-such-run"), (["a", "b"], "one run at a time")],
    ids=["missing", "several"],
)
def test_a_run_that_is_none_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], reason: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result = doctor(*words)
    assert result.exit_code == 2
    assert reason in " ".join(result.stderr.split())


def test_a_log_in_place_of_a_run_names_the_option(tmp_path: Path) -> None:
    path = tmp_path / "gc.log"
    path.write_text("".join(spiral().lines))
    result = doctor(path)
    assert result.exit_code == 2
    assert f"--gc-log {path}" in " ".join(result.stderr.split())


def test_the_chart_over_time_shows_the_trial_with_the_worst_incident(tmp_path: Path) -> None:
    names = trial_names(tmp_path)
    slow = Log()
    for index in range(10):
        slow.young(1 + index, 500, 100, 1200 if index == 5 else 10)
    run = with_logs(tmp_path / "run", {names[1]: slow, names[2]: spiral()})
    shown = series.draw(context(run))
    assert shown is not None
    assert shown.chosen == [names[2]]
    page = run / "page.html"
    assert CliRunner().invoke(main, ["report", str(run), "--out", str(page)]).exit_code == 0
    links = re.findall(r'class="evidence" href="#chart-series" data-trial="([^"]+)"', page.read_text())
    assert {names[1], names[2]} == set(links)


def test_the_doctor_details_the_worst_trials_first(tmp_path: Path) -> None:
    names = trial_names(tmp_path)
    slow = Log()
    for index in range(10):
        slow.young(1 + index, 500, 100, 1200 if index == 5 else 10)
    run = with_logs(tmp_path / "run", {names[0]: slow, names[1]: slow, names[2]: slow, names[3]: spiral()})
    titles = re.findall(r"^(\S+): Collections$", doctor(run).stdout, re.MULTILINE)
    assert titles[0] == names[3]


def test_the_highest_throughput_with_a_critical_incident_is_not_praised() -> None:
    highest = HIGHEST_NO_LATENCY.finding(("two",), None, treatment="sources = two", throughput_per_s=196.0)
    title = Message("incident.log-clock-steps.title")
    assert list(incident_findings.without_praise([highest], {"sources = one": title})) == [highest]
    [item] = incident_findings.without_praise([highest], {"sources = two": title})
    assert item.severity == "caution"
    shown = Texts("en").message(item.message)
    assert "sources = two" in shown
    assert "Clock steps in the log" in shown

"""Logs that the trials of a run retained as evidence, and what a run cannot show."""

from __future__ import annotations

import gzip
import json
from datetime import datetime
from pathlib import Path

import pytest

import fake_runs
from incidents.gc_texts import Log
from incidents.log_texts import BEGIN_S, ServiceLog
from incidents.test_runs import context, dated, doctor, record
from loadcell.incidents.base import registered
from loadcell.incidents.evidence.application_log import ApplicationLog
from loadcell.incidents.record import SubjectRecord
from loadcell.incidents.runs import application_logs, base
from loadcell.store.read import read_run


def with_log(home: Path, log: ServiceLog, name: str = "service.log") -> tuple[Path, str]:
    """A run whose first trial retained this log, which begins with the measurement."""
    run = fake_runs.write_run(home, fake_runs.two_treatments())
    trial = read_run(run).trials[0]
    assert trial.measure is not None
    assert trial.measure.started_utc is not None
    shift_s = datetime.fromisoformat(trial.measure.started_utc).timestamp() - BEGIN_S
    clock = log.clock
    log.clock = lambda at_s: clock(at_s) + shift_s
    (run / "trials" / trial.name / name).write_text("".join(log.lines()))
    return run, trial.name


def two_sources() -> ServiceLog:
    """A clock that is set 7.3 s forth after 20 s, and 7.2 s back after 40 s."""
    log = ServiceLog(lambda at_s: at_s + 7.3 * (at_s >= 20) - 7.2 * (at_s >= 40))
    for number in range(4):
        log.thread(f"pool-1-thread-{number}", 0, 60, 0.1, seed=number)
    return log


def logs_of(run: Path) -> list[SubjectRecord]:
    return [subject for subject in record(run).subjects if subject.kind == "application-log"]


def test_steps_of_the_clock_in_a_retained_log(tmp_path: Path) -> None:
    run, name = with_log(tmp_path, two_sources())
    assert doctor(run).exit_code == 1
    [subject] = logs_of(run)
    assert (subject.source, subject.diagnoses[0].incident) == (name, "log-clock-steps")
    assert subject.diagnoses[0].lines[0].file == f"{name}/service.log"
    [mark] = [mark for mark in context(run).marks[name] if mark.about == "Clock steps in the log"]
    assert mark.begin_s == pytest.approx(20, abs=0.3)


def test_a_silence_and_errors_in_a_retained_log(tmp_path: Path) -> None:
    log = ServiceLog()
    log.thread("pool-1-thread-1", 0, 300, 0.2, quiet=((100, 130),))
    for index in range(400):
        log.add(200 + index / 4, "pool-1-thread-2", "ERROR", "no connection")
    run, name = with_log(tmp_path, log)
    [subject] = logs_of(run)
    assert subject.source == name
    assert {item.incident for item in subject.diagnoses} == {"silent-threads", "error-growth"}


def test_an_even_log_is_healthy(tmp_path: Path) -> None:
    log = ServiceLog()
    log.thread("main", 0, 60, 0.2)
    run, _ = with_log(tmp_path, log)
    assert doctor(run).exit_code == 0
    [subject] = logs_of(run)
    assert {item.incident for item in subject.healthy} >= {"log-clock-steps", "silent-threads"}


@pytest.mark.parametrize("name", ["service.txt", "gc.log", "output.log"])
def test_other_files_of_a_trial_are_no_logs_of_services(tmp_path: Path, name: str) -> None:
    run, _ = with_log(tmp_path, two_sources(), name)
    assert not logs_of(run)


def test_a_file_without_time_stamps_beside_a_log(tmp_path: Path) -> None:
    run, name = with_log(tmp_path, two_sources())
    (run / "trials" / name / "fio.log").write_text("jobs=4\nbw=17\n" * 50)
    [subject] = logs_of(run)
    assert subject.log is not None
    assert [service.name for service in subject.log.services] == ["service.log"]


def test_logs_beyond_the_limit_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(application_logs, "MOST_BYTES", 1000)
    run, name = with_log(tmp_path, two_sources())
    assert not logs_of(run)
    reasons = {item.incident: item.text for item in record(run).unseen}
    assert f"loadcell doctor {run} --log {run}/trials/{name}/service.log" in reasons["log-clock-steps"]


def test_the_limit_is_that_of_unpacked_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, name = with_log(tmp_path, two_sources())
    log = run / "trials" / name / "service.log"
    packed = gzip.compress(log.read_bytes())
    monkeypatch.setattr(application_logs, "MOST_BYTES", len(packed) + 1000)
    assert log.stat().st_size > len(packed) + 1000
    log.unlink()
    (log.parent / "service.log.gz").write_bytes(packed)
    assert not logs_of(run)
    reasons = {item.incident: item.text for item in record(run).unseen}
    assert f"--log {run}/trials/{name}/service.log.gz" in reasons["log-clock-steps"]


@pytest.mark.parametrize("name", ["catalog.bin", "large.log"])
def test_a_file_beyond_the_limit_leaves_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    run, trial = with_log(tmp_path, two_sources())
    log = run / "trials" / trial / "service.log"
    large = b"\0\1" * 10**6 if name.endswith(".bin") else log.read_bytes() * 3
    (log.parent / name).write_bytes(large)
    monkeypatch.setattr(application_logs, "MOST_BYTES", log.stat().st_size)
    [subject] = logs_of(run)
    assert subject.log is not None
    assert [service.name for service in subject.log.services] == ["service.log"]


@pytest.mark.parametrize(("name", "is_read"), [("gcp-service.log", True), ("gc.log.1", False)])
def test_names_of_gc_logs_are_exact(tmp_path: Path, name: str, is_read: bool) -> None:
    run, _ = with_log(tmp_path, two_sources(), name)
    assert bool(logs_of(run)) is is_read


def test_a_run_lists_what_it_cannot_show(tmp_path: Path) -> None:
    run = fake_runs.write_run(tmp_path, fake_runs.two_treatments())
    reasons = {item.incident: item.text for item in record(run).unseen}
    assert "`loadcell doctor --live` during the run" in reasons["hung-mount"]
    assert "`loadcell doctor --live` during the run" in reasons["disk-errors"]
    assert "`files`" in reasons["log-clock-steps"]
    assert "GC log" in reasons["full-gc-spiral"]
    shown = " ".join(doctor(run).stdout.split())
    title = "Hung remote mount"
    assert title in shown.partition("Not visible")[2]
    assert f"{len(reasons)} known incidents are not visible" in shown


def test_every_incident_of_a_run_is_judged_or_not_visible(tmp_path: Path) -> None:
    run, _ = with_log(tmp_path, two_sources())
    examined = base.examined(read_run(run))
    judged = {item.incident for subject in examined.subjects for item in subject.judgements}
    unseen = {item.incident for item in examined.unseen}
    assert not judged & unseen
    others = set(registered()) - judged - unseen
    assert all(name.startswith("gluster-") for name in others)


def test_a_log_of_the_call_is_evidence_too(tmp_path: Path) -> None:
    log = ServiceLog()
    log.thread("main", 0, 60, 0.2)
    run = fake_runs.write_run(tmp_path / "run", fake_runs.two_treatments())
    path = tmp_path / "app.log"
    path.write_text("".join(log.lines()))
    document = json.loads(doctor(run, "--log", path, "--json").stdout)
    assert "error-growth" not in {item["incident"] for item in document["unseen"]}
    assert document["title"].endswith(str(path))


def test_long_pauses_of_a_trial_are_compared_with_its_log(tmp_path: Path) -> None:
    run, name = with_log(tmp_path, two_sources())
    trial = read_run(run).trials[0]
    assert trial.measure is not None
    began = str(trial.measure.started_utc)
    pauses = Log()
    for index in range(20):
        pauses.full(1 + index, 995, 990, 800)
    (run / "trials" / name / "gc.log").write_text("".join(dated(line, began) for line in pauses.lines))
    [log] = [item for item in base.gathered(read_run(run)) if isinstance(item, ApplicationLog)]
    [spans] = log.others
    assert (spans.kind, spans.source, len(spans.spans)) == ("gc-pause", name, 20)

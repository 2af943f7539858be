"""Examinations of a live host that trials retained (`doctor.json`)."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

import fake_runs
from incidents.test_gc_incidents import evidence as collections
from incidents.test_gc_incidents import exhausting
from incidents.test_runs import context, doctor, record
from loadcell.incidents.evidence.base import Evidence, Missing
from loadcell.incidents.evidence.jvms import JvmCounters
from loadcell.incidents.evidence.kernel_log import KernelLine, KernelLog
from loadcell.incidents.evidence.mounts import Mounts, RemoteMount
from loadcell.incidents.examination import examination
from loadcell.incidents.live import run_processes
from loadcell.incidents.record import record as record_of
from loadcell.incidents.runs import not_recorded
from loadcell.model import json as model_json
from loadcell.report.context import ReportContext
from loadcell.store.read import read_run
from truth.incidents.log_replays import REPLAYS as OF_LOGS

HUNG = Mounts("host", (RemoteMount(("/data",), "nfs4", "filer:/export", None, 5.1),))
HEALTHY = Mounts("host", (RemoteMount(("/data",), "nfs4", "filer:/export", 0.001),))


def with_examination(
    home: Path, evidence: Evidence, at_s: float = 7.0, of_run: frozenset[int] = frozenset()
) -> tuple[Path, str]:
    """A run whose first trial retained an examination of this time after the start of its measurement."""
    run = fake_runs.write_run(home, fake_runs.two_treatments())
    trial = read_run(run).trials[0]
    examined = examination("vm", [evidence])
    examined = replace(examined, utc_ns=start_ns(run) + round(at_s * 1e9), of_run=of_run)
    text = json.dumps(model_json.document(record_of(examined)))
    (run / "trials" / trial.name / "doctor.json").write_text(text)
    return run, trial.name


def start_ns(run: Path) -> int:
    measure = read_run(run).trials[0].measure
    assert measure is not None
    return int(datetime.fromisoformat(str(measure.started_utc)).timestamp()) * 10**9


def test_a_retained_diagnosis_has_the_time_of_its_trial(tmp_path: Path) -> None:
    run, name = with_examination(tmp_path, HUNG)
    called = doctor(run)
    assert called.exit_code == 1
    assert "From 0 s to 0 s" not in called.stdout
    assert "Time: " in called.stdout
    [subject] = [subject for subject in record(run).subjects if subject.kind == "retained"]
    assert (subject.source, [item.incident for item in subject.diagnoses]) == (name, ["hung-mount"])
    [finding] = [item.message for item in context(run).findings if item.message.code.startswith("found.inc")]
    assert finding.text.startswith(f"Hung remote mount in trial `{name}`, 7 s after the start")
    [mark] = [mark for mark in context(run).marks[name] if mark.about == "Hung remote mount"]
    assert mark.begin_s == pytest.approx(7, abs=1)


def test_a_trial_with_several_findings_is_no_other(tmp_path: Path) -> None:
    mounts = tuple(
        RemoteMount((f"/data{number}",), "nfs4", "filer:/export", None, 5.1) for number in range(3)
    )
    run, _ = with_examination(tmp_path, Mounts("host", mounts))
    assert "The same in" not in doctor(run).stdout


@pytest.mark.parametrize("is_of_run", [True, False])
def test_a_process_explains_trials_of_its_run_alone(tmp_path: Path, is_of_run: bool) -> None:
    jvm = JvmCounters("V (7)", 7, 100.0, 1.0, 60.0, 0.5, 9, 0, 1 << 30, 2 << 30)
    run, _ = with_examination(tmp_path, jvm, of_run=frozenset({7} if is_of_run else {8}))
    codes = [item.message.code for item in context(run).findings]
    assert any(code.startswith("found.incident") for code in codes) == is_of_run
    shown = " ".join(doctor(run).stdout.split())
    assert ("V (7): collections took 60% of" in shown) == is_of_run
    assert ("V (7), a process that this run did not start" in shown) != is_of_run


def test_a_log_that_the_examination_was_to_read_is_no_process(tmp_path: Path) -> None:
    run, name = with_examination(tmp_path / "run", collections(tmp_path, exhausting()))
    path = run / "trials" / name / "doctor.json"
    document = json.loads(path.read_text())
    assert document["subjects"][0]["is_of_run"] is None
    for item in document["subjects"][0]["diagnoses"]:
        item["begin_utc"] = item["end_utc"] = None  # that of the examination
    path.write_text(json.dumps(document))
    findings = [item.message for item in context(run).findings if item.message.code.startswith("found.inc")]
    assert any(message.text.startswith("Memory leak in trial") for message in findings)
    assert "did not start" not in doctor(run).stdout


@pytest.mark.parametrize("has_key", [True, False])
def test_consequences_of_a_retained_examination_have_their_cause(tmp_path: Path, has_key: bool) -> None:
    """As in the examination itself, also where another version recorded none."""
    jvm = collections(tmp_path, exhausting())
    direct = {item.incident: (item.level, item.explained_by) for _, item in examination("", [jvm]).diagnoses}
    run, name = with_examination(tmp_path / "run", jvm)
    path = run / "trials" / name / "doctor.json"
    document = json.loads(path.read_text())
    document["subjects"][0]["is_of_run"] = True
    for item in document["subjects"][0]["diagnoses"]:
        item["begin_utc"] = item["end_utc"] = None  # that of the examination
        if not has_key:
            del item["explained_by"]
    path.write_text(json.dumps(document))
    [subject] = [subject for subject in record(run).subjects if subject.kind == "retained"]
    assert {item.incident: (item.level, item.explained_by) for item in subject.diagnoses} == direct
    assert subject.diagnoses[0].incident == "memory-leak"
    assert "consequence of the incident “Memory leak”" in " ".join(doctor(run).stdout.split())
    messages = [item.message for item in context(run).findings if item.message.code.startswith("found.inc")]
    [text] = [message.text for message in messages if message.text.startswith("Full GC spiral in trial")]
    assert "consequence of the incident “Memory leak”" in text


def test_processes_of_a_run_descend_from_it(tmp_path: Path) -> None:
    parents = {1: ("init", 0), 5: ("loadcell-run", 1), 6: ("sh", 5), 7: ("java", 6), 8: ("java", 1)}
    for pid, (name, parent) in parents.items():
        (tmp_path / f"proc/{pid}").mkdir(parents=True)
        (tmp_path / f"proc/{pid}/stat").write_text(f"{pid} ({name}) S {parent} " + "0 " * 40)
    assert run_processes.of_run((7, 8), tmp_path, caller=6) == {7}
    assert run_processes.of_run((7, 8), tmp_path, caller=8) == set()


def test_it_is_shown_in_the_language_of_the_reader(tmp_path: Path) -> None:
    run, _ = with_examination(tmp_path, HUNG)
    shown = "".join(doctor("--lang", "zh", run).stdout.split())
    assert "filer:/export（nfs4，挂载于/data）在5.1s内没有响应" in shown


def test_a_message_of_another_version_is_shown_as_recorded(tmp_path: Path) -> None:
    run, name = with_examination(tmp_path, HUNG)
    path = run / "trials" / name / "doctor.json"
    document = json.loads(path.read_text())
    document["subjects"][0]["diagnoses"][0] |= {"code": "of-the-future", "summary": "the mount is gone"}
    path.write_text(json.dumps(document))
    assert "the mount is gone" in " ".join(doctor(run).stdout.split())


def test_a_message_within_a_message_is_shown(tmp_path: Path) -> None:
    [replay] = [item for item in OF_LOGS if item.incident == "error-growth"]
    run, name = with_examination(tmp_path, replay.seen(random.Random(1), tmp_path).evidence)
    path = run / "trials" / name / "doctor.json"
    document = json.loads(path.read_text())
    for item in document["subjects"][0]["diagnoses"]:
        item["begin_utc"] = item["end_utc"] = None  # that of the examination
    path.write_text(json.dumps(document))
    for lang, text in (("en", "totheendofthelog"), ("zh", "持续到日志结束")):
        assert text in "".join(doctor("--lang", lang, run).stdout.split())


def test_a_healthy_examination_is_no_incident_and_no_longer_unseen(tmp_path: Path) -> None:
    run, _ = with_examination(tmp_path, HEALTHY)
    examined = record(run)
    assert doctor(run).exit_code == 0
    assert "hung-mount" not in {item.incident for item in examined.unseen}
    assert "disk-errors" in {item.incident for item in examined.unseen}


def kills(run_start_ns: int, *ats_s: float) -> KernelLog:
    """Processes that the kernel killed, by seconds from the start of the measurement."""
    lines = tuple(
        KernelLine(
            run_start_ns + round(at_s * 1e9),
            f"Out of memory: Killed process {17 + number} (java) total-vm:1kB, anon-rss:1kB, file-rss:0kB",
        )
        for number, at_s in enumerate(ats_s)
    )
    return KernelLog("host", run_start_ns + 10 * 10**9, lines, "/dev/kmsg")


@pytest.mark.parametrize(("at_s", "is_of_trial"), [(-3600.0, False), (4.0, True)])
def test_an_incident_before_the_trial_is_none_of_it(tmp_path: Path, at_s: float, is_of_trial: bool) -> None:
    start = start_ns(fake_runs.write_run(tmp_path / "times", fake_runs.two_treatments()))
    run, _ = with_examination(tmp_path / "run", kills(start, at_s))
    diagnosed = {item.incident for subject in record(run).subjects for item in subject.diagnoses}
    assert ("oom-kill" in diagnosed) is is_of_trial


@pytest.mark.parametrize(
    ("at_s", "text"), [(-0.5, "since before the measurement: "), (4.0, "4 s after the start")]
)
def test_a_finding_has_no_negative_time(tmp_path: Path, at_s: float, text: str) -> None:
    start = start_ns(fake_runs.write_run(tmp_path / "times", fake_runs.two_treatments()))
    run, name = with_examination(tmp_path / "run", kills(start, at_s, 5.0))
    path = run / "trials" / name / "trial.json"
    trial = json.loads(path.read_text())
    trial["started_utc"] = "2020-01-01T00:00:00Z"
    path.write_text(json.dumps(trial))
    findings = ReportContext.of(read_run(run), "en").findings
    (finding,) = (item.message.text for item in findings if item.message.code.startswith("found.incident"))
    assert text in finding


@pytest.mark.parametrize("text", ["", "{", '{"schema": 1}', "[]", "\0\0"])
def test_other_contents_are_left_out(tmp_path: Path, text: str) -> None:
    run, name = with_examination(tmp_path, HUNG)
    (run / "trials" / name / "doctor.json").write_text(text)
    assert doctor(run).exit_code == 0


@pytest.mark.parametrize(
    "value", [None, "abc", 1e308, True, [1], {}, {"code": None, "args": {}, "finding": 3}, 10**18 * 10.0]
)
@pytest.mark.parametrize("part", ["diagnoses", "healthy"])
def test_values_of_other_types_are_shown_as_recorded(tmp_path: Path, value: object, part: str) -> None:
    start = start_ns(fake_runs.write_run(tmp_path / "times", fake_runs.two_treatments()))
    evidence = kills(start, 4.0) if part == "diagnoses" else HEALTHY
    run, name = with_examination(tmp_path / "run", evidence)
    path = run / "trials" / name / "doctor.json"
    document = json.loads(path.read_text())
    for item in document["subjects"][0][part]:
        item["summary" if part == "diagnoses" else "text"] = "in the words of the record"
        item["values"] = dict.fromkeys(item["values"], value)
    path.write_text(json.dumps(document))
    for lang in ("en", "zh"):
        done = doctor("--lang", lang, run)
        assert done.exit_code == (part == "diagnoses")
        assert "in the words of the record" in " ".join(done.stdout.split())
    [subject] = [subject for subject in record(run).subjects if subject.kind == "retained"]
    assert getattr(subject, part)[0].values == {}


@pytest.mark.parametrize("utc", ["9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+14:00", "x", "1066-10-14"])
def test_instants_without_a_meaning_are_left_out(tmp_path: Path, utc: str) -> None:
    run, name = with_examination(tmp_path, HUNG)
    path = run / "trials" / name / "doctor.json"
    document = json.loads(path.read_text())
    document["utc"] = document["subjects"][0]["diagnoses"][0]["end_utc"] = utc
    path.write_text(json.dumps(document))
    assert doctor(run).exit_code == 1


def test_the_files_are_named_and_bounded(tmp_path: Path) -> None:
    run, name = with_examination(tmp_path, HUNG)
    path = run / "trials" / name / "doctor.json"
    for number in range(24):
        path.with_name(f"{number:02}-doctor.json").write_text(path.read_text())
    path.with_name("00-doctor.json").write_text("{}")
    shown = " ".join(doctor(run).stdout.split())
    assert f"{name}/00-doctor.json is no examination" in shown
    assert f"Examinations that trials retained: {name}/01-doctor.json" in shown
    assert f"5 further examinations of trial {name} were not read: at most 20" in shown
    assert len([item for item in record(run).subjects if item.diagnoses]) == 19


def test_a_directory_of_that_name_is_left_out(tmp_path: Path) -> None:
    run, name = with_examination(tmp_path, HUNG)
    path = run / "trials" / name / "doctor.json"
    path.unlink()
    path.mkdir()
    assert doctor(run).exit_code == 0


def test_missing_evidence_is_reported_once() -> None:
    [*missing] = not_recorded.missing([HUNG, Missing(KernelLog, not_recorded.LIVE_ONLY())])
    assert {Mounts, KernelLog}.isdisjoint(item.needs for item in missing)

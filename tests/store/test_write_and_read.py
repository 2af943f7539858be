"""A run directory: what is written is read back, damage is reported, and a kill at any instant loses no
finished trial.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import textwrap
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from loadcell.model.json import document
from loadcell.model.run_record import FactorRecord, LevelRecord, PlannedTrial, RunRecord, TreatmentRecord
from loadcell.model.trial_record import MonitorRecord, Status, TrialRecord, Window
from loadcell.plan.secrets import Secrets
from loadcell.store import layout
from loadcell.store.find import find_run, runs_under
from loadcell.store.frames import Frame
from loadcell.store.layout import StoreError
from loadcell.store.read import read_run
from loadcell.store.redaction import redacted_event
from loadcell.store.write import RunWriter, TrialWriter

NAMES = ("001-clients=2-r1", "002-clients=4-r1")
RUN = RunRecord(
    plan_name="plan",
    state="running",
    trials=tuple(PlannedTrial(number, name, "t", 1) for number, name in enumerate(NAMES, 1)),
)


def row(t_s: float, **values: Any) -> dict[str, Any]:
    return {"t_s": t_s, "mono_ns": 10**9, "utc": "2026-01-01T00:00:00.000000Z", "phase": "measure", **values}


def record(name: str) -> TrialRecord:
    return TrialRecord(
        int(name[:3]), name, treatment=name[4:-3], repeat=1, block=1, status=Status.OK,
        measure=Window(1.0, started_mono_ns=0), monitors={"host": MonitorRecord(file="host.csv")},
    )  # fmt: skip


def fill(trial: TrialWriter) -> None:
    trial.intervals([row(float(t), operation="transaction", succeeded=10 + t) for t in range(3)])
    trial.rows("host.csv", ["t_s", "mono_ns", "utc", "cpu_busy_percent"], [row(0.5, cpu_busy_percent=12.5)])
    trial.event({"mono_ns": 5 * 10**8, "utc": "u", "event": "phase", "phase": "measure"})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "plan" / "20260101T000000Z-ab12"


@pytest.fixture
def run(path: Path) -> Path:
    """A run with both of its trials finished."""
    writer = RunWriter(path)
    writer.write_plan("title: x\n")
    writer.write_run(replace(RUN, state="finished"))
    writer.write_environment({"hosts": []})
    for name in NAMES:
        trial = writer.trial(name)
        fill(trial)
        trial.finish(record(name))
    writer.close()
    return path


def rows_of(frame: Frame, number: int) -> Frame:
    """Rows of the trial with this number."""
    return frame.take(frame.numbers("number") == number)


class TestReadingBack:
    def test_everything_written_is_there(self, run: Path) -> None:
        stored = read_run(run)
        assert [trial.name for trial in stored.trials] == list(NAMES)
        assert (stored.state, stored.missing, stored.unfinished, stored.damage) == ("finished", [], [], [])
        assert stored.plan_text() == "title: x\n"
        assert stored.short_id == "ab12"

    def test_frames_name_the_trial_of_every_row(self, run: Path) -> None:
        intervals = read_run(run).intervals()
        assert list(intervals.columns)[:5] == ["trial", "number", "treatment", "repeat", "block"]
        assert intervals.text("trial").tolist() == [NAMES[0]] * 3 + [NAMES[1]] * 3
        assert intervals.numbers("succeeded").tolist() == [10, 11, 12] * 2
        assert np.isnan(intervals.numbers("response_p99.9_ms")).sum() == 6, "no value is an empty field"

    def test_samples_and_events(self, run: Path) -> None:
        stored = read_run(run)
        assert stored.samples("host").numbers("cpu_busy_percent").tolist() == [12.5, 12.5]
        assert len(stored.samples("jvm")) == 0
        events = stored.events()
        assert events.numbers("t_s").tolist() == [0.5, 0.5]
        detail, *_ = events.text("detail").tolist()
        assert json.loads(detail or "") == {"phase": "measure"}

    def test_a_histogram_log_gets_its_head_last_and_has_it_first(self, path: Path) -> None:
        trial = RunWriter(path).trial(NAMES[0])
        trial.latency(["Tag=a,0,1,2,X"])
        trial.latency(["Tag=b,0,1,2,Y"])
        trial.latency_head(["#[Histogram log format version 1.3]"])
        done = trial.finish(record(NAMES[0]))
        assert (done / "latency.hlog").read_text().splitlines() == [
            "#[Histogram log format version 1.3]", "Tag=a,0,1,2,X", "Tag=b,0,1,2,Y",
        ]  # fmt: skip

    def test_a_histogram_log_without_a_head_is_no_log(self, path: Path) -> None:
        trial = RunWriter(path).trial(NAMES[0])
        trial.latency(["Tag=a,0,1,2,X"])
        assert list(trial.finish(record(NAMES[0])).iterdir()) == [path / "trials" / NAMES[0] / "trial.json"]


class TestBeingKilled:
    def test_an_unfinished_trial_is_named_as_such(self, run: Path) -> None:
        writer = RunWriter(run)
        shutil.rmtree(run / "trials" / NAMES[1])
        begun = writer.trial(NAMES[1])
        fill(begun)
        begun.abandon()
        stored = read_run(run)
        assert stored.unfinished == [NAMES[1]]
        assert stored.missing == [NAMES[1]]
        assert [trial.name for trial in stored.trials] == [NAMES[0]]
        writer.close()

    def test_a_run_whose_writer_is_gone_was_killed(self, path: Path) -> None:
        writer = RunWriter(path)
        writer.write_run(RUN)
        assert read_run(path).state == "running"
        writer.close()
        assert read_run(path).state == "killed"

    def test_numbers_keep_their_digits_at_any_size(self, path: Path) -> None:
        values = [2.5e-7, -1e-12, 1.5e300, 0.125, 3.0, 0.0, 123456.654321]
        trial = RunWriter(path).trial("001-a-r1")
        trial.rows("p.csv", ["value"], [{"value": value} for value in values])
        written = (trial.path / "p.csv").read_text().split()[1:]
        trial.abandon()
        assert [float(text) for text in written] == values
        assert written == ["2.5e-07", "-1e-12", "1.5e+300", "0.125", "3", "0", "123456.654321"]

    def test_what_a_killed_attempt_left_is_thrown_away_by_the_next(self, path: Path) -> None:
        writer = RunWriter(path)
        begun = writer.trial(NAMES[0])
        fill(begun)
        begun.abandon()
        writer.close()
        again = RunWriter(path)
        again.trial(NAMES[0]).finish(record(NAMES[0]))
        assert sorted(file.name for file in (path / "trials" / NAMES[0]).iterdir()) == ["trial.json"]
        again.close()

    @pytest.mark.parametrize("seconds", [0.0, 0.003, 0.01, 0.03, 0.1])
    def test_sigkill_at_any_instant_leaves_whole_trials_only(self, tmp_path: Path, seconds: float) -> None:
        code = f"""
            import sys; sys.path.insert(0, {str(Path(__file__).parent.parent)!r})
            from pathlib import Path
            from store.test_write_and_read import RUN, fill, record
            from loadcell.store.write import RunWriter
            writer = RunWriter(Path(sys.argv[1]))
            writer.write_run(RUN)
            writer.write_environment({{}})
            print(flush=True)
            for number in range(1, 999):
                trial = writer.trial(f"{{number:03d}}-a-r1")
                fill(trial)
                trial.finish(record(trial.name))
        """
        run = tmp_path / "run"
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(code), str(run)], stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(seconds)
        process.kill()
        process.communicate()
        stored = read_run(run)
        assert [trial.number for trial in stored.trials] == list(range(1, len(stored.trials) + 1))
        assert len(stored.unfinished) <= 1
        assert len(stored.intervals()) == 3 * len(stored.trials)
        assert stored.damage == []
        writer = RunWriter(run)
        recovered = writer.recover()
        writer.close()
        assert len(read_run(run).trials) == len(stored.trials) + len(recovered)


class TestDamage:
    def test_a_cut_csv_is_reported_and_used_up_to_its_last_whole_line(self, run: Path) -> None:
        file = run / "trials" / NAMES[0] / "intervals.csv"
        total = file.read_bytes()
        file.write_bytes(total[:-9])
        stored = read_run(run)
        assert rows_of(stored.intervals(), 1).numbers("succeeded").tolist() == [10, 11]
        assert [damage.file for damage in stored.damage] == [f"trials/{NAMES[0]}/intervals.csv"]
        assert f"is truncated ({len(total) - 9} of {len(total)} bytes)" in str(stored.damage[0])

    def test_a_csv_cut_at_a_line_is_noticed_too(self, run: Path) -> None:
        file = run / "trials" / NAMES[0] / "host.csv"
        file.write_bytes(file.read_bytes().split(b"\n")[0] + b"\n")
        stored = read_run(run)
        assert stored.samples("host").text("trial").tolist() == [NAMES[1]]
        assert len(stored.damage) == 1

    def test_a_csv_that_is_gone(self, run: Path) -> None:
        (run / "trials" / NAMES[0] / "host.csv").unlink()
        stored = read_run(run)
        assert len(stored.samples("host")) == 1
        assert "shown without the file" in str(stored.damage[0])

    @pytest.mark.parametrize(
        "rubbish", [b"", b"\xff\xfe\x00", b"t_s,mono_ns\n1,2,3,4\n", b"\n\n\n", b"\x00\n1\n"]
    )
    def test_rubbish_in_a_csv_costs_that_file_alone(self, run: Path, rubbish: bytes) -> None:
        (run / "trials" / NAMES[0] / "host.csv").write_bytes(rubbish)
        stored = read_run(run)
        assert len(rows_of(stored.samples("host"), 2)) == 1
        assert stored.damage

    def test_an_event_that_is_not_json(self, run: Path) -> None:
        with (run / "trials" / NAMES[0] / "events.jsonl").open("a") as file:
            file.write('{"mono_ns": 1, "ev')
        stored = read_run(run)
        assert len(stored.events()) == 2
        assert "line 2 is not JSON" in str(stored.damage[0])

    def test_a_torn_trial_json_makes_its_trial_unfinished(self, run: Path) -> None:
        file = run / "trials" / NAMES[0] / "trial.json"
        file.write_bytes(file.read_bytes()[:50])
        stored = read_run(run)
        assert stored.unfinished == [NAMES[0]]
        assert [trial.name for trial in stored.trials] == [NAMES[1]]
        assert "counts as unfinished" in str(stored.damage[0])

    @pytest.mark.parametrize("content", ["", '{"schema": 1, "sta', "[]", "null"])
    def test_a_torn_run_json_is_one_clear_error(self, run: Path, content: str) -> None:
        (run / "run.json").write_text(content)
        with pytest.raises(StoreError, match=r"run\.json is not") as caught:
            read_run(run)
        assert "are unaffected" in caught.value.advice

    def test_a_run_of_a_newer_loadcell(self, run: Path) -> None:
        (run / "run.json").write_text(json.dumps({**document(RUN), "schema": 99}))
        with pytest.raises(StoreError, match="newer loadcell"):
            read_run(run)

    def test_a_torn_environment_is_reported(self, run: Path) -> None:
        (run / "environment.json").write_text("{")
        stored = read_run(run)
        assert stored.environment == {}
        assert "environment.json" in str(stored.damage[0])


class TestSecrets:
    def test_all_text_passes_the_redactor(self, path: Path) -> None:
        secret = 'hunter"2'
        writer = RunWriter(path, lambda text: text.replace(secret, "${env:PW}"))
        writer.write_plan(f"password: {secret}\n")
        writer.write_run(RunRecord(command=("x", secret), reason_args={secret: 1}))
        writer.write_environment({"env": [{"a": secret}]})
        writer.output([f"said {secret}"])
        trial = writer.trial(NAMES[0])
        trial.event({"event": "trouble", "message": f"no {secret}"})
        trial.output(f"password {secret}")
        trial.rows("p.csv", ["role"], [{"role": f"psql {secret}"}])
        trial.finish(replace(record(NAMES[0]), reason=f"{secret} is wrong"))
        writer.close()
        stored = [file for file in path.rglob("*") if file.is_file()]
        assert len(stored) == 8
        for file in stored:
            text = file.read_text()
            assert "hunter" not in text, file
            assert "${env:PW}" in text, file

    @pytest.mark.parametrize("key", ["levels", "event", "files", "kind", "tables"])
    def test_a_mapping_is_redacted_whatever_its_key(self, key: str) -> None:
        secrets = Secrets({"PW": "s3cretpw"})
        secrets.reveal("${env:PW}")
        statement = "SELECT 's3cretpw'"
        stored = redacted_event({key: {"q": statement, statement: {"name": statement}}}, secrets.redact)
        assert "s3cretpw" not in json.dumps(stored)
        assert stored[key]["q"] == "SELECT '${env:PW}'"

    def test_labels_of_factors_and_treatments_stay_alike(self, path: Path) -> None:
        secrets = Secrets({"PW": "s3cretpw"})
        secrets.reveal("${env:PW}")
        labels = ["s3cretpw", "SELECT 's3cretpw'"]
        treatments = [TreatmentRecord(label, {"q": label}) for label in labels]
        factor = FactorRecord("q", tuple(LevelRecord(label, label) for label in labels))
        with closing(RunWriter(path, secrets.redact)) as writer:
            writer.write_run(RunRecord(factors=(factor,), treatments=tuple(treatments)))
        run = read_run(path).run
        stored = [level.label for level in run.factors[0].levels]
        assert [treatment.levels["q"] for treatment in run.treatments] == stored
        assert stored == [labels[0], "SELECT '${env:PW}'"]

    @pytest.mark.parametrize("secret", ["measure", "clients", "2026", "0.25", "status", "throughput_per_s"])
    def test_words_and_numbers_of_records_stay(self, secret: str, path: Path) -> None:
        """A password may be any word; records and tables still have their keys, words and numbers."""
        secrets = Secrets({"PW": secret})
        secrets.reveal("${env:PW}")
        writer = RunWriter(path, secrets.redact)
        plan = f"load: {{clients: [1, 2], duration: 20260s}}\nmonitors: [host, {secret}]\n# not {secret}\n"
        writer.write_plan(plan)
        writer.write_run(RUN)
        writer.write_environment({"schema": 1, "hosts": []})
        trial = writer.trial(NAMES[0])
        row = {"t_s": 0.25, "utc": "2026-01-01T00:00:00Z", "phase": "measure", "operation": "clients"}
        trial.intervals([row])
        trial.event({"event": "phase", "phase": "measure", "mono_ns": 1, "utc": "2026-01-01T00:00:00Z"})
        trial.output(f"login with {secret} failed")
        trial.finish(record(NAMES[0]))
        writer.close()
        stored = read_run(path)
        assert not stored.damage
        assert stored.run == RUN
        [finished] = stored.trials
        assert finished == replace(record(NAMES[0]), files=finished.files)
        assert list(stored.intervals().rows("t_s", "phase", "operation")) == [(0.25, "measure", "clients")]
        log = (stored.directory(NAMES[0]) / "output.log").read_text()
        assert log == "login with ${env:PW} failed\n"
        stored_plan = (path / "plan.yaml").read_text()
        assert stored_plan.startswith(plan.partition("\n#")[0])
        assert f"not {secret}" not in stored_plan


class TestPlaces:
    def test_one_writer_at_a_time(self, path: Path) -> None:
        first = RunWriter(path)
        with pytest.raises(StoreError, match="another loadcell is writing"):
            RunWriter(path)
        first.close()
        RunWriter(path).close()

    def test_a_place_below_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(StoreError, match="cannot write") as caught:
            RunWriter(tmp_path / "file" / "run")
        assert "--out" in caught.value.advice

    def test_a_place_that_may_not_be_written(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        closed = OSError(errno.EROFS, os.strerror(errno.EROFS))
        monkeypatch.setattr(Path, "touch", lambda *_: (_ for _ in ()).throw(closed))
        with pytest.raises(StoreError, match="Read-only file system") as caught:
            RunWriter(tmp_path / "run")
        assert "name another directory with --out" in caught.value.advice
        (tmp_path / "run" / layout.RUN).write_text("{}")  # one to resume, which excludes --out
        with pytest.raises(StoreError) as caught:
            RunWriter(tmp_path / "run")
        assert "copy the run to a directory that you can write" in caught.value.advice

    def test_runs_are_found_by_path_short_id_beginning_and_last(self, tmp_path: Path) -> None:
        names = ("a/20260101T000000Z-ab12", "b/20260102T000000Z-ab34", "b/20260103T000000Z-cd56")
        for name in names:
            (tmp_path / name).mkdir(parents=True)
            (tmp_path / name / "run.json").write_text("{}")
        assert runs_under(tmp_path) == [tmp_path / name for name in names]
        for typed, meant in (
            (str(tmp_path / names[0]), 0),
            ("cd", 2),
            ("20260102", 1),
            ("ab12", 0),
            ("last", 2),
        ):
            assert find_run(typed, tmp_path) == tmp_path / names[meant]
        with pytest.raises(StoreError, match="matches 2 runs"):
            find_run("ab", tmp_path)
        with pytest.raises(StoreError, match="there is no run 'zz'"):
            find_run("zz", tmp_path)
        with pytest.raises(StoreError, match="there is no run 'b'; it is the name of a plan") as caught:
            find_run("b", tmp_path)
        assert caught.value.advice == "Its latest run is cd56."

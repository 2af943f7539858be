"""`loadcell run RUN_DIRECTORY`: the same plan, files, name and order, whatever became of the plan itself."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from lines import called
from linux.test_checkout import git
from loadcell.model.run_record import RepeatedRun, RunRecord
from loadcell.store import copies
from loadcell.store.read import StoredRun, read_run
from report.test_page import Page
from servers import PostgresServer

PLAN = """
target: {store: {sync: false}}
workload: {ycsb: {properties: small.properties}}
load: {clients: 1, warmup: 0s, duration: 200ms, interval: 100ms}
factors: {load.clients: [1, 2, 3]}
repeats: 1
monitors: []
labels: {branch: main}
about: {firmware: 2.4.1}
"""
PROPERTIES = "recordcount=100\nfieldcount=2\nreadproportion=1\nupdateproportion=0\n"


def run(home: Path, *words: str, **env: str) -> StoredRun:
    """The run that a command makes."""
    before = set((home / "results").glob("*/*"))
    done = called(home, "run", *words, "--no-report", "--quiet", **env)
    assert done.returncode == 0, done.stderr
    [path] = set((home / "results").glob("*/*")) - before
    return read_run(path)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a plan and the file that it names."""
    home = tmp_path_factory.mktemp("home")
    (home / "small.yaml").write_text(PLAN)
    (home / "small.properties").write_text(PROPERTIES)
    return home


@pytest.fixture(scope="module")
def first(home: Path) -> StoredRun:
    """A run of the plan, with changes of the command line."""
    return run(home, "small.yaml", "--set", "load.duration=150ms", "--only", "clients=1,3", "--label", "ci=7")


def settings(record: RunRecord) -> list[object]:
    """All settings of all treatments, and the order of the trials."""
    return [[treatment.settings for treatment in record.treatments], [trial.name for trial in record.trials]]


def test_the_record_has_labels_facts_and_files(first: StoredRun, home: Path) -> None:
    document = json.loads((first.path / "run.json").read_text())
    assert document["labels"] == {"branch": "main", "ci": "7"}
    assert document["about"] == {"firmware": "2.4.1"}
    [file] = document["files"]
    assert file["path"] == str(home / "small.properties")
    assert (first.path / file["copy"]).read_text() == PROPERTIES


def test_the_same_is_done_again_without_the_plan_and_its_files(
    first: StoredRun, home: Path, tmp_path: Path
) -> None:
    shutil.copytree(first.path, tmp_path / "copy")
    record = json.loads((tmp_path / "copy" / "run.json").read_text())
    (tmp_path / "copy" / "run.json").write_text(json.dumps({**record, "plan_directory": "/nowhere"}))
    again = run(tmp_path, "copy")
    assert again.path.parent.name == "small"
    assert (again.run.plan_name, again.run.title, again.run.seed) == ("small", "small", first.run.seed)
    assert settings(again.run) == settings(first.run)
    assert (again.run.sets, again.run.only) == (first.run.sets, first.run.only)
    assert again.run.labels == {"branch": "main"}, "labels of a command line are of its run alone"
    assert again.run.about == first.run.about
    assert [file.sha256 for file in again.run.files or ()] == [file.sha256 for file in first.run.files or ()]
    third = run(tmp_path, str(again.path), "--label", "ci=8")
    assert settings(third.run) == settings(first.run)
    assert third.run.labels == {"branch": "main", "ci": "8"}


def test_the_run_that_is_repeated_is_named(first: StoredRun, tmp_path: Path) -> None:
    assert first.run.repeats_run is None
    done = called(tmp_path, "run", str(first.path), "--quiet", "--out", "again")
    assert done.returncode == 0, done.stderr
    assert f"plan and files of run {first.short_id}" in done.stderr.splitlines()[0]
    assert read_run(tmp_path / "again").run.repeats_run == RepeatedRun(first.short_id, str(first.path))
    assert f"plan and files of run {first.short_id}" in called(tmp_path, "show", "again").stdout
    page = called(tmp_path, "report", "again", "--format", "md", "--out", "page.md")
    assert page.returncode == 0, page.stderr
    assert f"The plan and its files are those of run {first.short_id} (" in (tmp_path / "page.md").read_text()


def test_a_changed_plan_and_file_do_not_matter(first: StoredRun, tmp_path: Path, home: Path) -> None:
    changed = shutil.copytree(home, tmp_path / "home")
    (changed / "small.properties").write_text("recordcount=")
    (changed / "small.yaml").write_text("nonsense")
    path = changed / "results" / "small" / first.id
    record = json.loads((path / "run.json").read_text())
    (path / "run.json").write_text(json.dumps({**record, "plan_directory": str(changed)}))
    assert settings(run(changed, f"results/small/{first.id}").run) == settings(first.run)


def test_changes_of_the_command_line_come_on_top(first: StoredRun, home: Path) -> None:
    again = run(
        home, str(first.path), "--set", "load.interval=150ms", "--set", "seed=5", "--only", "clients=2"
    )
    assert again.run.seed == 5
    [treatment] = again.run.treatments
    load = treatment.settings["load"]
    assert (load["clients"], load["duration"], load["interval"]) == (2, "150ms", "150ms")


def test_such_a_run_can_be_resumed_without_the_files(first: StoredRun, tmp_path: Path) -> None:
    path = shutil.copytree(first.path, tmp_path / "results" / "small" / "one")
    record = json.loads((path / "run.json").read_text())
    (path / "run.json").write_text(
        json.dumps({**record, "plan_directory": "/nowhere", "state": "interrupted"})
    )
    shutil.rmtree(min((path / "trials").iterdir()))
    done = called(tmp_path, "run", "--resume", "one", "--no-report", "--label", "ci=9")
    assert done.returncode == 0, done.stderr
    resumed = read_run(path)
    assert resumed.state == "finished"
    assert len(resumed.trials) == len(first.trials)
    assert resumed.run.labels == {"branch": "main", "ci": "9"}


def interrupted(first: StoredRun, home: Path, **record: object) -> Path:
    """A copy of a run, in the directory of a plan of the same files, of which a trial has to be run again."""
    (home / "small.yaml").write_text(PLAN)
    (home / "small.properties").write_text(PROPERTIES)
    path = shutil.copytree(first.path, home / "results" / "small" / "one")
    document = json.loads((path / "run.json").read_text())
    changes = {"plan_directory": str(home), "state": "interrupted", **record}
    (path / "run.json").write_text(json.dumps({**document, **changes}))
    shutil.rmtree(min((path / "trials").iterdir()))
    return path


def test_a_run_is_not_resumed_with_another_file(first: StoredRun, tmp_path: Path) -> None:
    """Neither from a given plan, nor where the run has no undamaged copy."""
    path = interrupted(first, tmp_path)
    (tmp_path / "small.properties").write_text(PROPERTIES + "# of no effect\n")
    words = ("--resume", "one", "--no-report")
    done = called(tmp_path, "run", "small.yaml", *words)
    assert done.returncode == 2
    assert "small.properties has changed since the start of the run" in " ".join(done.stderr.split())
    [file] = first.run.files or ()
    (path / str(file.copy)).unlink()
    done = called(tmp_path, "run", *words)
    assert done.returncode == 2
    assert "small.properties has changed since the start of the run" in " ".join(done.stderr.split())
    (tmp_path / "small.properties").write_text(PROPERTIES)
    assert called(tmp_path, "run", *words).returncode == 0
    assert read_run(path).state == "finished"


def test_a_resumption_has_its_own_checkout(first: StoredRun, tmp_path: Path) -> None:
    before = {"commit": "a" * 40, "branch": "main", "dirty": False}
    path = interrupted(first, tmp_path, checkout=before)
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "--message=next")
    done = called(tmp_path, "run", "--resume", "one", "--no-report")
    assert done.returncode == 0, done.stderr
    commit = git(tmp_path, "rev-parse", "HEAD")
    assert f"the git checkout is at {commit[:10]}; the trials so far were run at {'a' * 10}" in done.stderr
    record = read_run(path).run
    assert [checkout.commit for checkout in record.checkouts] == ["a" * 40, commit]


def test_identical_arms_stay(home: Path) -> None:
    arms = run(home, "small.yaml", "--aa", "--only", "clients=1")
    assert run(home, str(arms.path)).run.aa


def test_a_file_with_a_secret_stays_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(PLAN)
    (tmp_path / "small.properties").write_text(PROPERTIES + "password=hunter22\n")
    done = called(tmp_path, "run", "small.yaml", "--no-report", "--only", "clients=1")
    assert "may hold a secret: small.properties" in " ".join(done.stderr.split()), done.stderr
    [path] = (tmp_path / "results" / "small").iterdir()
    for directory, _, names in os.walk(path):
        for name in names:
            assert b"hunter22" not in (Path(directory) / name).read_bytes(), name
    assert settings(run(tmp_path, str(path)).run) == settings(read_run(path).run)
    (tmp_path / "small.properties").write_text(PROPERTIES)
    done = called(tmp_path, "run", str(path))
    assert done.returncode == 2
    assert "has changed since the run used it as small.properties" in done.stderr


def test_secrets_are_asked_for_again(tmp_path: Path) -> None:
    plan = PLAN.replace("target: {store: {sync: false}}\n", "") + (
        "target: {postgres: {server: external, dsn: 'host=127.0.0.1 port=1 password=${env:DB_PASSWORD}'}}\n"
    )
    plan = plan.replace("{ycsb: {properties: small.properties}}", "{sysbench: {script: oltp_point_select}}")
    (tmp_path / "small.yaml").write_text(plan)
    done = called(tmp_path, "run", "small.yaml", "--only", "clients=1", DB_PASSWORD="opensesame")
    assert done.returncode == 3, done.stderr  # there is no such server
    [path] = (tmp_path / "results" / "small").iterdir()
    assert "${env:DB_PASSWORD}" in (path / "plan.yaml").read_text()
    done = called(tmp_path, "run", str(path))
    assert done.returncode == 2
    assert "the environment variable DB_PASSWORD is not set" in done.stderr


def test_damage_and_what_cannot_be_run_again_are_refused(
    first: StoredRun, tmp_path: Path, home: Path
) -> None:
    shutil.copytree(first.path, tmp_path / "run")
    [file] = first.run.files or ()
    (tmp_path / "run" / str(file.copy)).write_text(PROPERTIES.replace("100", "101"))
    done = called(tmp_path, "run", "run")
    assert done.returncode == 2
    assert "copy of small.properties, is damaged" in " ".join(done.stderr.split())

    (tmp_path / "run" / "plan.yaml").unlink()
    done = called(tmp_path, "run", "run")
    assert done.returncode == 2
    assert "plan.yaml is missing" in done.stderr

    done = called(home, "run", str(first.path), "--resume", "last")
    assert done.returncode == 2
    assert "use --resume alone" in " ".join(done.stderr.split())


def test_an_import_cannot_be_run_again(tmp_path: Path) -> None:
    (tmp_path / "dd.txt").write_text("104857600 bytes (105 MB, 100 MiB) copied, 0.5 s, 210 MB/s\n")
    done = called(tmp_path, "import", "dd", "dd.txt", "--out", "run", "--label", "disk=nvme")
    assert done.returncode == 0, done.stderr
    assert read_run(tmp_path / "run").run.labels == {"disk": "nvme"}
    done = called(tmp_path, "run", "run")
    assert done.returncode == 2
    assert "was imported, so it has no plan to run again" in done.stderr
    assert "import its output" in done.stderr


def test_a_large_file_that_changed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "MOST_COPIED_BYTES", 10)
    (tmp_path / "small.yaml").write_text(PLAN)
    (tmp_path / "small.properties").write_text(PROPERTIES)
    done = called(tmp_path, "run", "small.yaml", "--no-report", "--only", "clients=1")
    assert "larger than 64 MiB: small.properties" in " ".join(done.stderr.split())
    [path] = (tmp_path / "results" / "small").iterdir()
    (tmp_path / "small.properties").write_text(PROPERTIES.replace("100", "101"))
    done = called(tmp_path, "run", str(path))
    assert done.returncode == 2
    assert "has changed since the run used it as small.properties" in " ".join(done.stderr.split())


def test_the_report_names_the_command_that_does_it_again(first: StoredRun, home: Path) -> None:
    assert called(home, "report", str(first.path), "--format", "md").returncode == 0
    page = (first.path / "report.md").read_text()
    assert f"loadcell run results/small/{first.id}\n" in page
    shown = called(home, "show", str(first.path)).stdout
    assert "branch=main ci=7" in shown
    assert "firmware: 2.4.1" in shown
    for text in ("As stated in the plan", "firmware", "2.4.1", "branch"):
        assert text in page, text
    assert called(home, "report", str(first.path), "--format", "html").returncode == 0
    assert "small.properties" in Page((first.path / "report.html").read_text()).text


def test_data_files_are_loaded_from_their_copies(tmp_path: Path, postgres_server: PostgresServer) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "schema.sql").write_text("CREATE TABLE orders (id int PRIMARY KEY, amount int);\n")
    (tmp_path / "data" / "orders.csv").write_text("id,amount\n1,5\n2,6\n")
    (tmp_path / "orders.yaml").write_text(
        f"target: {{postgres: {{server: external, dsn: '{postgres_server.dsn()}'}}}}\n"
        "workload: {sql: {data: {files: [schema.sql, data/orders.csv]},\n"
        "  statements: ['SELECT amount FROM orders WHERE id = 1']}}\n"
        "load: {clients: 1, warmup: 0s, duration: 200ms, interval: 100ms}\nrepeats: 1\nmonitors: []\n"
    )
    first = run(tmp_path, "orders.yaml")
    for name in ("schema.sql", "data/orders.csv", "orders.yaml"):
        (tmp_path / name).unlink()
    again = run(tmp_path, str(first.path))
    assert [trial.status for trial in again.trials] == ["ok"]
    assert again.run.plan_name == "orders"
    [before], [after] = ([trial.data_set for trial in stored.trials] for stored in (first, again))
    assert before is not None
    assert after is not None
    assert after["fingerprint"] == before["fingerprint"], "the same contents are the same data set"


def test_a_program_that_changed_is_named_and_used(tmp_path: Path) -> None:
    program = tmp_path / "bench.sh"
    program.write_text("#!/bin/sh\necho tps = 7\n")
    program.chmod(0o755)
    (tmp_path / "own.yaml").write_text(
        "target: {host: {}}\n"
        "workload: {tool: {command: ./bench.sh, figures: {throughput: {pattern: 'tps = (.*)'}}}}\n"
        "load: {clients: 1, warmup: 0s, duration: 1s}\nrepeats: 1\nmonitors: []\n"
    )
    first = run(tmp_path, "own.yaml")
    [file] = first.run.files or ()
    assert (file.file, file.why_not) == ("./bench.sh", "program")
    program.write_text("#!/bin/sh\necho tps = 8\n")
    done = called(tmp_path, "run", str(first.path), "--no-report", "--out", "again")
    assert done.returncode == 0, done.stderr
    assert "programs that have changed since that run: ./bench.sh" in done.stderr
    [trial] = read_run(tmp_path / "again").trials
    assert trial.totals is not None
    assert trial.totals.throughput_per_s == 8

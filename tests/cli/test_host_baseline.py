"""`loadcell host --baseline`: a real one of a few short probes, its pages, and how it resumes."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import Result

from lines import CliRunner
from loadcell.cli import main
from loadcell.execution.progress import Progress
from loadcell.model.json import document
from loadcell.model.probes import PROBES
from loadcell.plan.ready import ready_plans
from loadcell.store.read import read_run
from nobody import nobody

#: One probe of each kind that costs nothing to set up, as short as can be.
SHORT = (
    "--only", "probe=cpu-1,copy-8KiB,latency-4KiB,latency-16KiB,latency-32KiB,network-rr",
    "--set", "repeats=1", "--set", "load.warmup=0s", "--set", "load.duration=100ms", "--quiet",
)  # fmt: skip


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["host", *arguments], prog_name="loadcell", env={"COLUMNS": "80"})


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    path = tmp_path_factory.mktemp("baseline") / "run"
    return path, call("--baseline", "--out", str(path), *SHORT)


#: The same, to be shared.
NAMELESS = (
    "--only", "probe=cpu-1", "--set", "repeats=1", "--set", "load.warmup=0s", "--set", "load.duration=100ms",
    "--quiet", "--anonymous",
)  # fmt: skip


#: Their names on the page.
NAMES = {
    "probe=cpu-1": "Primes, 1 thread",
    "probe=copy-8KiB": "STREAM Copy 8 KiB, 1 thread",
    "probe=latency-4KiB": "Access within 4 KiB",
    "probe=latency-16KiB": "Access within 16 KiB",
    "probe=latency-32KiB": "Access within 32 KiB",
    "probe=network-rr": "Request and response",
}


def good(path: Path) -> set[str]:
    """The probes that have a value: on a machine that others use, a trial so short may not be trusted, or
    end before a pass does.
    """
    trials = read_run(path).trials
    assert {trial.status for trial in trials} <= {"ok", "invalid"}
    return {trial.treatment for trial in trials if trial.status == "ok" and trial.totals.figures}


def test_it_measures_and_prints_one_page(measured: tuple[Path, Result]) -> None:
    path, result = measured
    trusted = all(trial.status == "ok" for trial in read_run(path).trials)
    assert result.exit_code == (0 if trusted else 3), result.output
    for treatment in good(path):
        assert NAMES[treatment] in result.stdout
    assert all(len(line) <= 80 for line in result.stdout.splitlines() if str(path) not in line)
    assert (path / "host.html").stat().st_size > 10_000
    assert (path / "report.html").is_file()


def test_it_is_a_run_like_any_other(measured: tuple[Path, Result]) -> None:
    stored = read_run(measured[0])
    assert stored.run.plan_name == "host-baseline"
    assert stored.run.resumed_by == "loadcell host --baseline"
    assert {trial.treatment for trial in stored.trials} == set(NAMES)


def test_interrupted_it_resumes_and_complete_it_only_writes_its_page_again(
    measured: tuple[Path, Result], tmp_path: Path
) -> None:
    path = tmp_path / "copy"
    shutil.copytree(measured[0], path)
    lost = next(path.glob("trials/*cpu-1*"))
    shutil.rmtree(lost)
    (path / "host.html").unlink()
    result = call("--baseline", "--resume", str(path), "--lang", "zh", "--quiet", "--json")
    assert result.exit_code in (0, 3), result.output
    assert lost.is_dir()
    assert "机器与基准" in (path / "host.html").read_text(encoding="utf-8")
    document = json.loads(result.stdout)
    scored = {score["id"].partition("/")[0] for score in document["scores"]}
    assert {f"probe={name}" for name in scored} == good(path)
    again = call("--baseline", "--resume", str(path), "--quiet", "--anonymous", "--json")
    assert again.exit_code in (0, 3), again.output
    assert "hostname" not in json.loads(again.stdout)["host"]


def test_the_page_of_another_machines_baseline_is_written_without_its_processors(
    measured: tuple[Path, Result], tmp_path: Path
) -> None:
    """A complete run is not compared with the plan as it would be here: `cpus` is another number on every
    machine.
    """
    path = tmp_path / "there"
    shutil.copytree(measured[0], path)
    run = json.loads((path / "run.json").read_text())
    for treatment in run["treatments"]:
        treatment["settings"]["load"]["clients"] = 128
    (path / "run.json").write_text(json.dumps(run))
    (path / "host.html").unlink()
    result = call("--baseline", "--resume", str(path), "--lang", "zh")
    assert result.exit_code in (0, 3), result.output
    assert "机器与基准" in (path / "host.html").read_text(encoding="utf-8")


def test_a_run_to_be_shared_has_no_name_of_the_machine_in_any_of_its_files(tmp_path: Path) -> None:
    path = tmp_path / "run"
    result = call("--baseline", "--out", str(path), *NAMELESS)
    assert result.exit_code in (0, 3), result.output
    [host] = json.loads((path / "environment.json").read_text())["hosts"]
    assert host["cpu"]["threads"] >= 1
    assert not {"hostname", "kernel_command_line"} & set(host)
    assert all(interface["addresses"] == [] for interface in host.get("network", ()))
    for page in ("host.html", "report.html"):
        assert f">{socket.gethostname()}<" not in (path / page).read_text(encoding="utf-8")


def test_the_plan_covers_every_part_of_a_machine() -> None:
    from loadcell.parts import installed
    from loadcell.plan.load import load_plan

    plan = load_plan(ready_plans()["host-baseline"], installed())
    probes = {
        (section, options.get("test") or options.get("access"))
        for treatment in plan.treatments
        for section, options in treatment.resolved.document()["workload"]["probe"].items()
        if options is not None
    }
    assert {section for section, _ in probes} == PROBES.keys()
    assert {("memory", test) for test in ("sysbench", "memcpy", "dumb", "mcblock", "triad")} <= probes
    assert {("disk", access) for access in ("randread", "randwrite", "readwrite", "read", "write")} <= probes
    assert {("network", test) for test in ("rr", "crr", "stream")} <= probes


def test_a_directory_is_meant_from_here(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    with contextlib.chdir(tmp_path):
        call("--baseline", "--directory", "here", "--out", "run", *NAMELESS[:-1])
    assert f"target.host.directory={tmp_path / 'here'}" in document(read_run(tmp_path / "run").run)["sets"]


def test_a_directory_that_nothing_can_be_written_to_is_known_before(tmp_path: Path) -> None:
    with contextlib.chdir(tmp_path):
        Path("file").write_text("")
        for name, message in (("gone", "gone does not exist"), ("file", "file is a file")):
            result = call("--baseline", "--directory", name, "--out", "run", *SHORT)
            assert result.exit_code == 2
            assert message in " ".join(result.output.split())
        assert not Path("run").exists()
    with nobody():
        result = call("--baseline", "--directory", "/usr", "--out", str(tmp_path / "run"), *SHORT)
    assert result.exit_code == 2
    assert "You cannot write to /usr" in " ".join(result.output.split())


def test_a_file_system_that_is_mounted_read_only_differs_from_a_directory_of_others(tmp_path: Path) -> None:
    """Where the whole file system is read-only, another directory on it is no way out."""
    disk = tmp_path / "disk"
    disk.mkdir()
    baseline = f"{sys.executable} -m loadcell host --baseline --directory {disk}"
    script = f"mount -t tmpfs -o ro none {disk} && exec {baseline}"
    result = subprocess.run(
        ["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert result.returncode == 2
    message = " ".join(result.stderr.split())
    assert f"{disk} is on a file system that is mounted read-only" in message
    assert "remount" in message


def test_why_a_probe_has_no_figure_is_on_the_page_itself(tmp_path: Path) -> None:
    run = tmp_path / "run"
    probe = ("--only", "probe=network-rr", *NAMELESS[2:-1])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        peer = f"127.0.0.1:{free.getsockname()[1]}"
    result = call("--baseline", "--peer", peer, "--out", str(run), *probe)
    assert result.exit_code == 3
    for text in (result.stdout, (run / "host.html").read_text(encoding="utf-8")):
        message = " ".join(re.sub(r"<[^>]+>", "", text).split())
        assert f"network-rr: no loadcell responds at {peer}" in message
        assert "loadcell host --serve" in message
    result = call("--baseline", "--resume", str(run), "--lang", "zh", "--quiet")
    assert "network-rr：" in result.stdout


def test_a_run_to_be_shared_has_no_place_no_peer_and_no_command_in_any_of_its_files(tmp_path: Path) -> None:
    secret, run = tmp_path / "customer-42", tmp_path / "run"
    secret.mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    probes = ("--only", "probe=cpu-1,network-rr", *NAMELESS[2:])
    arguments = ("--baseline", "--directory", str(secret), "--peer", f"127.0.0.1:{port}")
    result = call(*arguments, "--out", str(run), "--json", *probes)
    assert result.exit_code == 3
    texts = {str(file): file.read_text(encoding="utf-8") for file in run.rglob("*") if file.is_file()}
    for name, text in {**texts, "JSON": result.stdout}.items():
        assert not [word for word in ("customer-42", "127.0.0.1", str(tmp_path)) if word in text], name
    assert "run" not in json.loads(result.stdout)
    stored = read_run(run)
    assert document(stored.run)["command"] == []
    assert f"target.host.peer=peer.example:{port}" in document(stored.run)["sets"]
    assert any(f"peer.example:{port}" in str(trial.reason) for trial in stored.trials)
    again = call("--baseline", "--resume", str(run), "--anonymous", "--quiet")
    assert "Primes" in again.stdout, "its page can still be written"


def test_a_run_to_be_shared_has_no_names_while_it_is_interrupted_and_needs_them_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret, run = tmp_path / "customer 42", tmp_path / "run"
    secret.mkdir()
    probes = ("--only", "probe=cpu-1,latency-4KiB", *NAMELESS[2:])
    arguments = ("--directory", str(secret), "--peer", "db.example:7733")

    def named() -> set[str]:
        words = ("customer", "db.example", str(tmp_path))
        texts = {str(file): file.read_text(encoding="utf-8") for file in run.rglob("*") if file.is_file()}
        return {word for word in words for text in texts.values() if word in text}

    with monkeypatch.context() as patched:
        patched.setattr(Progress, "trial_began", lambda *_: os.kill(os.getpid(), signal.SIGINT))
        result = call("--baseline", *arguments, "--out", str(run), *probes)
    assert (result.exit_code, named()) == (130, set()), result.output
    again = (
        f"Resume with: loadcell host --baseline --resume {run} --anonymous "
        f"--directory '{secret}' --peer db.example:7733"
    )
    assert again in result.stderr
    stored = read_run(run)
    assert stored.run.resumed_by == "loadcell host --baseline"
    [trial] = stored.trials
    assert trial.advice == "Resume with `loadcell host --baseline --resume run`."

    refused = call("--baseline", "--resume", str(run), "--quiet")
    assert refused.exit_code == 2
    assert "give --directory and --peer again" in " ".join(refused.stderr.split())
    resumed = call("--baseline", "--resume", str(run), *arguments, "--quiet")
    assert (resumed.exit_code in (0, 3), named()) == (True, set()), resumed.output
    assert len(read_run(run).trials) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--directory", "/tmp"), "--directory goes with --baseline"),
        (("--resume", "last"), "--resume goes with --baseline"),
        (("--baseline", "--resume", "x", "--out", "y"), "--resume cannot be combined with other options"),
        (("--baseline", "--resume", "gone"), "there is no run 'gone'"),
        (("--baseline", "--only", "probe=cpu-2"), 'there is no level "cpu-2"'),
        (("--baseline", "--peer", "nowhere"), "is not HOST:PORT"),
    ],
)
def test_a_call_that_makes_no_sense_says_so(
    arguments: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = call(*arguments)
    assert result.exit_code == 2, result.output
    assert message in " ".join(result.output.split())

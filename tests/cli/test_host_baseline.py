"""`loadcell host --baseline`: a real one of a few short probes, its pages, and how it goes on after an interruption."""

from __future__ import annotations

import json
import shutil
import socket
from pathlib import Path

import pytest
from click.testing import Result

from lines import CliRunner
from loadcell.analysis.hosts.scores import SECTIONS
from loadcell.cli import main
from loadcell.plan.ready import ready_plans
from loadcell.store.read import read_run

#: One probe of each kind that costs nothing to set up, as short as can be.
SHORT = (
    "--only", "probe=cpu-1,copy-8KiB,latency-4KiB,latency-16KiB,latency-32KiB,network-rr", "--set", "repeats=1",
    "--set", "load.warmup=0s", "--set", "load.duration=100ms", "--quiet",
)  # fmt: skip


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["host", *arguments], prog_name="loadcell", env={"COLUMNS": "80"})


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    path = tmp_path_factory.mktemp("baseline") / "run"
    return path, call("--baseline", "--out", str(path), *SHORT)


#: The same, to be shared.
NAMELESS = (
    "--only", "probe=cpu-1", "--set", "repeats=1", "--set", "load.warmup=0s", "--set", "load.duration=100ms", "--quiet",
    "--anonymous",
)  # fmt: skip


#: What the page calls them.
NAMES = {
    "probe=cpu-1": "Primes, 1 thread",
    "probe=copy-8KiB": "STREAM Copy 8 KiB, 1 thread",
    "probe=latency-4KiB": "Access within 4 KiB",
    "probe=latency-16KiB": "Access within 16 KiB",
    "probe=latency-32KiB": "Access within 32 KiB",
    "probe=network-rr": "Request and response",
}


def good(path: Path) -> set[str]:
    """The probes that have a figure: on a machine that others use, a trial so short may not be trusted, or end before a pass does."""
    trials = read_run(path).trials
    assert {trial["status"] for trial in trials} <= {"ok", "invalid"}
    return {trial["treatment"] for trial in trials if trial["status"] == "ok" and trial["totals"]["figures"]}


def test_it_measures_and_prints_one_page(measured: tuple[Path, Result]) -> None:
    path, found = measured
    trusted = all(trial["status"] == "ok" for trial in read_run(path).trials)
    assert found.exit_code == (0 if trusted else 3), found.output
    for treatment in good(path):
        assert NAMES[treatment] in found.stdout
    assert all(len(line) <= 80 for line in found.stdout.splitlines() if str(path) not in line)
    assert (path / "host.html").stat().st_size > 10_000
    assert (path / "report.html").is_file()


def test_it_is_a_run_like_any_other(measured: tuple[Path, Result]) -> None:
    stored = read_run(measured[0])
    assert stored.run["plan_name"] == "host-baseline"
    assert {trial["treatment"] for trial in stored.trials} == set(NAMES)


def test_broken_off_it_goes_on_and_whole_it_only_writes_its_page_again(
    measured: tuple[Path, Result], tmp_path: Path
) -> None:
    path = tmp_path / "copy"
    shutil.copytree(measured[0], path)
    lost = next(path.glob("trials/*cpu-1*"))
    shutil.rmtree(lost)
    (path / "host.html").unlink()
    found = call("--baseline", "--resume", str(path), "--lang", "zh", "--quiet", "--json")
    assert found.exit_code in (0, 3), found.output
    assert lost.is_dir()
    assert "机器与基准" in (path / "host.html").read_text(encoding="utf-8")
    document = json.loads(found.stdout)
    scored = {score["id"].partition("/")[0] for score in document["scores"]}
    assert {f"probe={name}" for name in scored} == good(path)
    again = call("--baseline", "--resume", str(path), "--quiet", "--anonymous", "--json")
    assert again.exit_code in (0, 3), again.output
    assert "hostname" not in json.loads(again.stdout)["host"]


def test_a_run_to_be_shared_has_no_name_of_the_machine_in_any_of_its_files(tmp_path: Path) -> None:
    path = tmp_path / "run"
    found = call("--baseline", "--out", str(path), *NAMELESS)
    assert found.exit_code in (0, 3), found.output
    [host] = json.loads((path / "environment.json").read_text())["hosts"]
    assert host["cpu"]["threads"] >= 1
    assert not {"hostname", "kernel_command_line"} & set(host)
    assert all(one["addresses"] == [] for one in host.get("network", ()))
    for page in ("host.html", "report.html"):
        assert f">{socket.gethostname()}<" not in (path / page).read_text(encoding="utf-8")


def test_the_plan_covers_every_part_of_a_machine() -> None:
    from loadcell.parts import installed
    from loadcell.plan.load import load_plan

    plan = load_plan(ready_plans()["host-baseline"], installed())
    found = {
        (section, options.get("test") or options.get("access"))
        for one in plan.treatments
        for section, options in one.resolved.document()["workload"]["probe"].items()
        if options is not None
    }
    assert {section for section, _ in found} == set(SECTIONS)
    assert {("memory", test) for test in ("sysbench", "memcpy", "dumb", "mcblock", "triad")} <= found
    assert {("disk", access) for access in ("randread", "randwrite", "readwrite", "read", "write")} <= found
    assert {("network", test) for test in ("rr", "crr", "stream")} <= found


def test_a_directory_is_meant_from_here(tmp_path: Path) -> None:
    found = call("--baseline", "--directory", str(tmp_path / "gone"), "--out", str(tmp_path / "run"), *SHORT)
    assert found.exit_code == 3
    assert "there is no directory" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--directory", "/tmp"), "--directory goes with --baseline"),
        (("--resume", "last"), "--resume goes with --baseline"),
        (("--baseline", "--resume", "x", "--out", "y"), "--resume goes alone"),
        (("--baseline", "--resume", "gone"), "there is no run 'gone'"),
        (("--baseline", "--only", "probe=cpu-2"), 'there is no level "cpu-2"'),
        (("--baseline", "--peer", "nowhere"), "is no HOST:PORT"),
    ],
)
def test_a_call_that_makes_no_sense_says_so(
    arguments: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = call(*arguments)
    assert found.exit_code == 2, found.output
    assert said in " ".join(found.output.split())

"""`loadcell compare` with machines: what it takes for one, what it prints, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result

import fake_runs
import machines
from lines import CliRunner
from loadcell.cli import main
from report import comparisons


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("cli-hosts")
    runs = home / "results" / "host-baseline"
    few = ("cpu-1", "memory-memcpy-1", "latency-4KiB", "latency-256MiB", "disk-randread")
    machines.write_baseline(runs / "20260309T080000Z-aaaa", repeats=6, only=few)
    machines.write_baseline(runs / "20260310T080000Z-bbbb", repeats=6, seed=9, pace={"memory": 2.0}, only=few)
    machines.write_baseline(runs / "20260311T080000Z-cccc", failed=frozenset({"cpu-1"}), only=few)
    for name, pace in (("dada", 1.0), ("dbdb", 2.0)):
        comparisons.write(
            home / "results" / "db" / f"20260312T080000Z-{name}",
            fake_runs.Shape(repeats=6, pace=pace, monitors=False, intervals=False),
        )
    for name in ("KUNPENG", "M2"):
        (home / f"{name.lower()}.json").write_text(json.dumps(getattr(machines, name)))
    return home


@pytest.fixture
def home(written: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(written)
    return written


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["compare", *arguments], prog_name="loadcell")


def test_two_baselines_are_two_machines(home: Path) -> None:
    result = call("aaaa", "bbbb")
    assert result.exit_code == 0, result.output
    assert "bench-01 (bbbb) vs. bench-01 (aaaa)" in result.output
    assert "Hypothesis" not in result.output


def test_what_ran_on_both_says_what_it_follows(home: Path) -> None:
    result = call("aaaa", "bbbb", "--workload", "dada", "dbdb", "--json")
    assert result.exit_code == 0, result.output
    (workload,) = json.loads(result.stdout)["workloads"]
    assert "memory-memcpy-1/mib_per_s" in workload["hypothesis"]
    assert "cpu-1/events_per_s" not in workload["hypothesis"]


def test_files_of_json_are_machines_and_one_can_stand_beside_a_run(home: Path) -> None:
    result = call("kunpeng.json", "m2.json")
    assert result.exit_code == 3, result.output  # one baseline is of the first only
    assert "m2 vs. kunpeng" in result.output
    assert "×6.81" in result.output
    mixed = call("kunpeng.json", "aaaa", "--json")
    assert [machine["label"] for machine in json.loads(mixed.stdout)["machines"]] == ["kunpeng", "bench-01"]


@pytest.mark.parametrize("option", [("--least-effect", "3%"), ("--fail-on", "slower")])
def test_options_of_verdicts_are_refused(home: Path, option: tuple[str, str]) -> None:
    """A machine is one run: a gate could neither pass nor fail."""
    for arguments in (("aaaa", "bbbb"), ("aaaa", "bbbb", "--workload", "dada", "dbdb")):
        refused = call(*arguments, *option)
        assert refused.exit_code == 2
        assert f"{option[0]} needs verdicts, and two machines get none" in " ".join(refused.output.split())


@pytest.mark.parametrize(
    "option",
    [("--metric", "p99"), ("--factor", "a"), ("--levels", "a,b"), ("--noise", "dada"), ("--against", "dbdb")],
)
def test_options_of_runs_are_refused_with_workloads(home: Path, option: tuple[str, str]) -> None:
    refused = call("aaaa", "bbbb", "--workload", "dada", "dbdb", *option)
    assert refused.exit_code == 2
    assert f"{option[0]} is for runs, and --workload compares two machines" in " ".join(
        refused.output.split()
    )


def test_machines_have_no_verdict(home: Path) -> None:
    (row,) = [
        row for row in json.loads(call("aaaa", "bbbb", "--json").stdout)["rows"] if row["figure"] == "iops"
    ]
    assert row["interval"][0] < row["times"] < row["interval"][1]
    assert not {"verdict", "p"} & set(row)
    assert "insufficient" not in call("aaaa", "bbbb").stdout


def test_a_baseline_without_a_counterpart_ends_with_3(home: Path) -> None:
    assert call("aaaa", "cccc").exit_code == 3
    assert call("aaaa", "bbbb").exit_code == 0


def test_options_of_runs_keep_their_meaning(home: Path) -> None:
    result = call("aaaa", "bbbb", "--metric", "throughput", "--json")
    assert json.loads(result.stdout)["what"] == "runs"


def test_the_page_and_the_comment(home: Path, tmp_path: Path) -> None:
    result = call("aaaa", "bbbb", "--out", str(tmp_path / "two.html"), "--lang", "zh")
    assert result.exit_code == 0, result.output
    assert "两台机器对比" in (tmp_path / "two.html").read_text(encoding="utf-8")
    comment = call("aaaa", "bbbb", "--format", "md")
    assert comment.stdout.startswith("# ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("kunpeng.json",), "two at a time, and 1 is named"),
        (("kunpeng.json", "m2.json", "aaaa"), "two at a time, and 3 are named"),
        (
            ("dada", "dbdb", "--workload", "dada", "dbdb"),
            "is not a host benchmark: its workload is not `probe`",
        ),
        (("aaaa", "bbbb", "--workload", "dada", "dada"), "is named twice"),
        (("aaaa", "bbbb", "--workload", "dada", "gone"), "there is no run 'gone'"),
        (("aaaa", "nothing.json"), "there is no run 'nothing.json'"),
    ],
)
def test_a_call_that_makes_no_sense_says_so(home: Path, arguments: tuple[str, ...], message: str) -> None:
    result = call(*arguments)
    assert result.exit_code == 2, result.output
    assert message in " ".join(result.stderr.split())

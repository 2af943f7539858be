"""`loadcell compare` and `loadcell baseline` as they are called: what they take, what they print, and how
they end.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from click.testing import Result

import fake_runs
from lines import CliRunner
from loadcell.cli import main
from report import comparisons


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("cli")
    plan = home / "results" / "plan"
    comparisons.write(plan / "20260309T080000Z-aaaa", fake_runs.Shape(repeats=8))
    comparisons.write(plan / "20260310T080000Z-bbbb", fake_runs.Shape(repeats=8, seed=11))
    comparisons.write(
        home / "results" / "storage" / "20260311T080000Z-cccc",
        fake_runs.Shape(factors={"target.storage": ["local", "replicated"]}, repeats=8),
    )
    return home


@pytest.fixture
def home(written: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(written)
    return written


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments, prog_name="loadcell")


def test_two_runs(home: Path) -> None:
    result = call("compare", "aaaa", "bbbb")
    assert result.exit_code == 0, result.output
    assert "bbbb vs. aaaa" in result.output


def test_a_run_that_is_still_running_is_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    states = {"20260310T080000Z-bbbb": "running"}
    monkeypatch.setattr("loadcell.store.read.state_of", lambda path, _: states.get(path.name, "finished"))
    result = call("compare", "aaaa", "bbbb")
    assert "20260310T080000Z-bbbb is still running: 16 of 16 trials are done" in result.stderr
    assert "aaaa is still running" not in result.stderr


def test_levels_of_the_only_factor_need_no_name(home: Path) -> None:
    result = call("compare", "cccc", "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert (document["what"], document["factor"], document["paired"]) == ("levels", "target.storage", True)
    assert document["sides"] == ["local", "replicated"]
    assert [row["verdict"] for row in document["rows"]] == ["faster"] * 4
    turned = json.loads(call("compare", "cccc", "--levels", "replicated,local", "--json").stdout)
    assert [row["verdict"] for row in turned["rows"]] == ["slower"] * 4
    assert turned["rows"][0]["ratio"] == pytest.approx(1 / document["rows"][0]["ratio"])


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ((), 0),
        (("--fail-on", "slower"), 0),
        (("--fail-on", "faster"), 1),
        (("--fail-on", "slower", "--fail-on", "ambiguous"), 0),
        (("--levels", "replicated,local", "--fail-on", "slower"), 1),
        (("--levels", "replicated,local", "--fail-on", "slower", "--json"), 1),
        (("--levels", "replicated,local", "--fail-on", "slower", "--least-effect", "99%"), 0),
    ],
)
def test_the_exit_status_is_for_ci(home: Path, arguments: tuple[str, ...], status: int) -> None:
    assert call("compare", "cccc", *arguments).exit_code == status


@pytest.fixture(scope="module")
def six(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Three runs, and three of the same plan."""
    plan = tmp_path_factory.mktemp("runs") / "results" / "plan"
    return [
        str(comparisons.write(plan / f"202603{day}T080000Z-r{day}", fake_runs.Shape(repeats=4, seed=day)))
        for day in range(10, 16)
    ]


def test_several_runs_are_one_side(six: list[str]) -> None:
    result = call("compare", *six[3:], "--against", *six[:3], "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["sides"] == ["r10, r11, r12", "r13, r14, r15"]
    assert document["unit_of_values"] == "run"
    assert {row["values"] for row in document["rows"]} == {3}
    assert "insufficient" not in {row["verdict"] for row in document["rows"]}
    turned = json.loads(call("compare", "--against", *six[3:], "--json", *six[:3]).stdout)
    assert turned["sides"] == ["r13, r14, r15", "r10, r11, r12"]
    assert turned["rows"][0]["ratio"] == pytest.approx(1 / document["rows"][0]["ratio"])


def test_several_runs_are_shown_with_their_own_directories(six: list[str], tmp_path: Path) -> None:
    result = call("compare", *six[3:], "--against", *six[:3], "--out", str(tmp_path / "page.md"))
    assert result.exit_code == 0, result.output
    text = (tmp_path / "page.md").read_text()
    assert all(Path(run).name in text for run in six)
    assert "The run is the unit (3 per side" in text


@pytest.mark.parametrize("runs", [1, 2])
def test_a_gate_on_too_few_runs_is_not_passed(six: list[str], runs: int) -> None:
    arguments = ["compare", *six[3 : 3 + runs], "--against", *six[:runs]]
    assert call(*arguments).exit_code == 0
    gate = call(*arguments, "--fail-on", "slower")
    assert gate.exit_code == 3, gate.output
    assert "A verdict needs 3 runs per side" in " ".join(gate.output.split())
    assert call(*arguments, "--fail-on", "insufficient").exit_code == 1


def test_a_baseline_of_several_runs_decides_a_gate(six: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(six[0]).parents[2])
    listed = call("baseline", "set", "main", *six[:3]).output
    assert listed.splitlines() == [f"main: results/plan/{Path(run).name}" for run in six[:3]]
    assert call("baseline", "list").output == listed
    gate = call("compare", *six[3:], "--baseline", "main", "--fail-on", "slower", "--json")
    assert gate.exit_code == 0, gate.output
    document = json.loads(gate.stdout)
    assert document["sides"] == ["main", "r13, r14, r15"]
    assert {row["values"] for row in document["rows"]} == {3}
    assert "insufficient" not in {row["verdict"] for row in document["rows"]}
    both = json.loads(call("compare", six[5], "--baseline", "main", "--against", six[3], "--json").stdout)
    assert both["sides"][1] == "r15"
    assert both["sides"][0].startswith("r10")
    call("baseline", "remove", "main")


def test_the_least_effect_may_be_one_for_each_metric(home: Path) -> None:
    def least(*arguments: str) -> dict[str, float]:
        rows = json.loads(call("compare", "cccc", "--json", *arguments).stdout)["rows"]
        return {row["metric"]: row["least_effect"] for row in rows}

    assert least() == {"throughput": 0.02, "p50": 0.02, "p95": 0.05, "p99": 0.05}
    assert set(least("--least-effect", "3%").values()) == {0.03}
    several = least("--least-effect", "3%", "--least-effect", "p99=10%")
    assert several == {"throughput": 0.03, "p50": 0.03, "p95": 0.03, "p99": 0.1}
    unknown = call("compare", "cccc", "--least-effect", "p98=5%")
    assert unknown.exit_code == 2
    assert "these runs have no metric 'p98'" in unknown.output


def test_nothing_to_compare_is_no_success(home: Path, tmp_path: Path) -> None:
    """A level whose trials all failed has not been shown to be no slower."""
    fates = {n: fake_runs.Fate("failed", "it did not start") for n in range(1, 17)}
    comparisons.write(tmp_path / "broken", fake_runs.Shape(factors={"a": ["x", "y"]}, repeats=8, fates=fates))
    result = call("compare", str(tmp_path / "broken"), "--fail-on", "slower")
    assert result.exit_code == 3, result.output
    assert "one of them has no throughput" in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Missing argument 'RUN...'"),
        (("zzzz",), "there is no run 'zzzz'"),
        (("version=2",), "lists those with a label"),
        (("aaaa", "aaaa"), "run aaaa is named twice"),
        (("aaaa", "cccc"), "aaaa and cccc are runs of different plans"),
        (("aaaa", "bbbb", "--factor", "x"), "levels are compared within one run"),
        (
            ("cccc", "--factor", "clients"),
            "the run has no factor 'clients'. Its factors: target.storage.",
        ),
        (("cccc", "--levels", "local,remote"), "factor target.storage has no level 'remote'"),
        (("cccc", "--noise", "aaaa", "--anyway"), "this run has no arms"),
        (("cccc", "--least-effect", "2"), "write it as 2%"),
        (("cccc", "--least-effect", "0%"), "between 0% and 100%"),
        (("cccc", "--metric", "p98"), "these runs have no metric 'p98'"),
        (("cccc", "--format", "html"), "--format html needs --out"),
        (("cccc", "--out", "x.pdf"), "--out names a .pdf file"),
        (("cccc", "--out", "x.md", "--format", "html"), "contradict each other"),
        (("--baseline", "main", "cccc"), "there is no baseline 'main'"),
    ],
)
def test_calls_that_are_wrong(home: Path, arguments: tuple[str, ...], message: str) -> None:
    result = call("compare", *arguments)
    assert result.exit_code == 2, result.output
    assert message in result.output
    assert "Traceback" not in result.output


def test_levels_that_measure_unlike_things_are_refused(tmp_path: Path) -> None:
    """As fio's reads and writes are, of an imported output."""
    shape = fake_runs.Shape(factors={"part": ["read", "write"]}, repeats=6)
    run = comparisons.write(tmp_path / "disk", shape)

    def imported(document: dict[str, object]) -> None:
        for treatment in document["treatments"]:  # type: ignore[attr-defined]
            treatment["settings"] = {"tool": {"fio": "fio.json"}}

    comparisons.change(run, imported)
    result = call("compare", str(run), "--factor", "part")
    assert result.exit_code == 2, result.output
    assert "the levels of part measure different quantities" in result.output
    assert "read: tool fio; read\n  write: tool fio; write\n" in result.output
    assert "`loadcell compare A B`" in result.output


def test_markdown_is_printed_for_a_pull_request(home: Path) -> None:
    result = call("compare", "cccc", "--format", "md", "--lang", "zh")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("# PostgreSQL under growing concurrency\n")
    assert "更快" in result.stdout


def test_files_are_written_where_they_are_asked_for(home: Path, tmp_path: Path) -> None:
    assert call("compare", "cccc", "--out", str(tmp_path / "page.html")).exit_code == 0
    assert (tmp_path / "page.html").read_text().startswith("<!DOCTYPE html>")
    result = call("compare", "cccc", "--out", str(tmp_path / "deep" / "er"), "--format", "html")
    assert str(tmp_path / "deep" / "er" / "comparison.html") in result.output
    assert [path.name for path in (tmp_path / "deep" / "er").iterdir()] == ["comparison.html"]


def test_a_baseline_is_set_listed_used_and_removed(home: Path, tmp_path: Path) -> None:
    assert call("baseline", "set", "main", "aaaa").output == "main: results/plan/20260309T080000Z-aaaa\n"
    assert call("baseline", "list").output == "main: results/plan/20260309T080000Z-aaaa\n"
    result = call("compare", "--baseline", "main", "bbbb")
    assert result.exit_code == 0, result.output
    assert "bbbb vs. main" in result.output
    assert call("baseline", "remove", "main").exit_code == 0
    assert "No baselines" in call("baseline", "list").output


def test_a_baseline_without_all_results_is_cautioned_against(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plan, fate = tmp_path / "results" / "plan", fake_runs.Fate("failed", "the server went away")
    factors = {"load.clients": [4]}
    partly = fake_runs.Shape(factors=factors, repeats=2, fates={1: fate})
    comparisons.write(plan / "20260309T080000Z-some", partly)
    comparisons.write(plan / "20260309T080001Z-none", replace(partly, fates={1: fate, 2: fate}))
    some = call("baseline", "set", "main", "some")
    assert "only 1 of 2 trials of results/plan/20260309T080000Z-some succeeded" in some.stderr
    assert "`loadcell run --resume results/plan/20260309T080000Z-some --retry-failed`" in some.stderr
    none = call("baseline", "set", "main", "none")
    assert "none of the 2 trials of results/plan/20260309T080001Z-none succeeded" in none.stderr
    assert (some.exit_code, none.exit_code) == (0, 0)


def test_a_baseline_that_is_gone(home: Path) -> None:
    gone = comparisons.write(home / "results" / "plan" / "20260308T080000Z-dddd", fake_runs.Shape(repeats=1))
    call("baseline", "set", "old", "dddd")
    shutil.rmtree(gone)
    result = call("compare", "--baseline", "old", "bbbb")
    assert result.exit_code == 2
    assert "the run of baseline 'old' no longer exists" in result.output
    assert "loadcell baseline set old RUN" in result.output
    assert "(gone)" in call("baseline", "list").output
    assert json.loads(call("baseline", "list", "--json").output)[0]["there"] is False
    assert call("baseline", "remove", "old").exit_code == 0


def completed(*words: str) -> list[str]:
    """Return the completions that a shell offers for the last word."""
    completions = ShellComplete(main, {}, "loadcell", "_LOADCELL_COMPLETE").get_completions(
        list(words[:-1]), words[-1]
    )
    return [item.value for item in completions if item.type == "plain"]


def test_a_shell_completes_runs_factors_levels_and_baselines(home: Path) -> None:
    assert completed("compare", "") == ["last", "cccc", "bbbb", "aaaa", "results/"]
    assert completed("compare", "cccc", "--factor", "") == ["target.storage"]
    assert completed("compare", "cccc", "--levels", "local,re") == ["local,replicated"]
    call("baseline", "set", "main", "aaaa")
    assert completed("compare", "--baseline", "m") == ["main"]
    call("baseline", "remove", "main")
    assert completed("compare", "--baseline", "m") == []

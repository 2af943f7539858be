"""`loadcell compare --format summary`: the answer for a pull request, in Markdown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from markdown_it import MarkdownIt

import fake_runs
from lines import CliRunner
from loadcell.cli import main
from loadcell.report.comparison.summary import MOST_LINES
from report import comparisons

Runs = dict[str, list[str]]


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments, prog_name="loadcell")


def summary(*arguments: str) -> list[str]:
    """Lines of the summary; the call succeeds."""
    result = call("compare", *arguments, "--format", "summary")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert len(lines) <= MOST_LINES, result.stdout
    assert lines[0].startswith("### ")
    assert lines[1] == ""
    assert all(line.startswith("- ") for line in lines[2:])
    return lines


def write(home: Path, name: str, seed: int, **shape: Any) -> str:
    path = home / "results" / "plan" / f"20260310T08000{seed % 10}Z-{name}"
    return str(comparisons.write(path, fake_runs.Shape(**{"repeats": 4, "seed": seed, **shape})))


def scale(run: str, throughput: float, response: float, level: float | None = None) -> None:
    """Multiply throughput and response times of all trials; with `level` those are first set to it."""
    for trial in sorted((Path(run) / "trials").iterdir()):
        path = trial / "trial.json"
        document = json.loads(path.read_text())
        totals = document["totals"]
        totals["throughput_per_s"] = throughput * (level or totals["throughput_per_s"])
        for name, value in totals["response"].items():
            if name.endswith("_ms"):
                totals["response"][name] = response * (level or value)
        path.write_text(json.dumps(document))


def two_sides(home: Path, throughput: float, response: float, spread: float = 0.001) -> list[str]:
    """Five runs a side, whose main metric and response times differ by these factors."""
    sides = []
    for side, factors in (("branch", (throughput, response)), ("main", (1.0, 1.0))):
        for number in range(5):
            run = write(home, f"{side}{number}", number, repeats=1, factors={"load.clients": [8]})
            near = 1 + spread * (number - 2)
            scale(run, factors[0] * near, factors[1] * near, level=1000.0)
            sides.append(run)
    return [*sides[:5], "--against", *sides[5:], "--metric", "throughput", "--metric", "p95"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Three runs of main, three of the same state, and three whose transactions take twice as long."""
    home = tmp_path_factory.mktemp("summary")
    sides = {
        side: [write(home, f"{side}{number}", 10 * at + number) for number in range(3)]
        for at, side in enumerate(("main", "same", "slow"), 1)
    }
    for run in sides["slow"]:
        scale(run, throughput=0.5, response=2)
    return sides


@pytest.fixture(scope="module")
def levels(tmp_path_factory: pytest.TempPathFactory) -> str:
    home = tmp_path_factory.mktemp("levels")
    return str(
        comparisons.write(
            home / "run", fake_runs.Shape(factors={"target.storage": ["local", "replicated"]}, repeats=8)
        )
    )


def test_slower_branch(runs: Runs) -> None:
    lines = summary(*runs["slow"], "--against", *runs["main"])
    assert lines[0].startswith("### Slower: throughput -")
    assert "slow0, slow1, slow2" in lines[2]
    assert "95% CI" in lines[2]
    assert "3 runs per side" in lines[2]
    assert "worse in" in lines[3], "the metrics that changed most stand next"
    assert "- Runs per side: 3, 3. Smallest relevant effect: 2.0%." in lines


def test_faster_branch(runs: Runs) -> None:
    lines = summary(*runs["main"], "--against", *runs["slow"])
    assert lines[0].startswith("### Faster: throughput +")


def test_same_speed(runs: Runs) -> None:
    lines = summary(*runs["same"], "--against", *runs["main"])
    assert lines[0].startswith(
        ("### Same: throughput", "### No difference established (ambiguous): throughput")
    )
    assert any(line.startswith("- Largest change of another metric: ") for line in lines)


@pytest.mark.parametrize("count", [1, 2])
def test_too_few_runs_are_not_decidable(runs: Runs, count: int) -> None:
    arguments = [*runs["slow"][:count], "--against", *runs["main"][:count]]
    lines = summary(*arguments)
    assert lines[0].startswith("### No verdict (insufficient data): throughput -")
    assert "A verdict needs 3 runs per side: `loadcell compare RUN RUN RUN --against RUN RUN RUN`" in lines[2]
    assert f"- Runs per side: {count}, {count}." in "\n".join(lines)


def test_levels_of_a_factor(levels: str) -> None:
    lines = summary(levels)
    assert lines[0].startswith("### Faster: throughput +")
    assert "- 8 blocks. Smallest relevant effect: 2.0%." in lines


def test_several_levels_are_ranked(tmp_path: Path) -> None:
    shape = fake_runs.Shape(factors={"load.clients": [1, 2, 4, 8, 16]}, repeats=8)
    lines = summary(str(comparisons.write(tmp_path / "run", shape)))
    assert " ranks first by throughput" in lines[0]
    assert any("more statements in the full report" in line for line in lines)


def test_several_runs_that_cannot_be_ranked(runs: Runs) -> None:
    lines = summary(*(run for side in runs.values() for run in side))
    assert lines[0] == "### No verdict (insufficient data)"
    assert any("more statements in the full report" in line for line in lines)


def test_metric_of_choice_is_the_main_one(runs: Runs) -> None:
    lines = summary(*runs["slow"], "--against", *runs["main"], "--metric", "p99")
    assert lines[0].startswith("### Slower: p99 response time +")


@pytest.mark.parametrize(
    ("gate", "side", "count", "status"),
    [
        (("--fail-on", "slower"), "slow", 3, 1),
        (("--fail-on", "faster"), "slow", 3, 0),
        ((), "slow", 3, 0),
        (("--fail-on", "slower"), "slow", 1, 3),
        (("--fail-on", "insufficient"), "slow", 2, 1),
    ],
)
def test_exit_status_is_that_of_the_gate(
    runs: Runs, gate: tuple[str, ...], side: str, count: int, status: int
) -> None:
    arguments = [*runs[side][:count], "--against", *runs["main"][:count], *gate]
    result = call("compare", *arguments, "--format", "summary")
    assert result.exit_code == status == call("compare", *arguments).exit_code
    assert result.stdout.startswith("### ")


@pytest.mark.parametrize(
    ("throughput", "response", "heading", "verdicts"),
    [
        (1.0, 3.0, "Slower: p95 +200% (throughput same)", "slower (p95); same (throughput)"),
        (1.1, 3.0, "Slower: p95 +200% (throughput faster)", "slower (p95); faster (throughput)"),
        (0.9, 0.5, "Slower: throughput -10.0%", "slower (throughput); faster (p95)"),
        (0.9, 3.0, "Slower: throughput -10.0%", None),
        (1.0, 0.5, "Same: throughput", "same (throughput); faster (p95)"),
    ],
)
def test_heading_agrees_with_the_gate(
    tmp_path: Path, throughput: float, response: float, heading: str, verdicts: str | None
) -> None:
    """Whatever makes `--fail-on slower` fail is in the heading, and other verdicts have a line."""
    arguments = two_sides(tmp_path, throughput, response)
    result = call("compare", *arguments, "--format", "summary", "--fail-on", "slower")
    lines = result.stdout.splitlines()
    assert lines[0].startswith(f"### {heading}")
    assert result.exit_code == int(heading.startswith("Slower"))
    stated = [line for line in lines if "Verdicts for `--fail-on`" in line]
    assert [line.endswith(f": {verdicts}.") for line in stated] == [True] * (verdicts is not None)
    assert len(lines) <= MOST_LINES
    assert " is " not in result.stdout, "a side is five runs"
    word = "worse" if response > 1 else "better"
    assert f"branch4 are {word} in the only other value: p95 response time (" in result.stdout


def test_metric_that_is_slower_but_not_for_the_gate_is_explained(tmp_path: Path) -> None:
    """Both response times are slower by the false discovery rate, and neither by the stricter correction."""
    arguments = [*two_sides(tmp_path, 2.0, 1.08, spread=0.0295), "--metric", "p99"]
    lines = summary(*arguments, "--fail-on", "slower")
    assert lines[0].startswith("### Faster: throughput +100%")
    [stated] = [line for line in lines if "Verdicts for `--fail-on`" in line]
    assert stated.startswith("- **⚠** ")
    assert stated.endswith(": ambiguous (p95, p99); faster (throughput).")
    assert any("are worse in 2 of the 2 other values: p95" in line for line in lines)


def test_heading_of_a_ranking_names_the_slower_metric(tmp_path: Path) -> None:
    shape = fake_runs.Shape(factors={"load.clients": [1, 2, 4]}, repeats=8)
    run = str(comparisons.write(tmp_path / "ranked", shape))
    lines = summary(run, "--metric", "throughput", "--metric", "p95")
    assert " ranks first by throughput" in lines[0]
    assert "; slower: " in lines[0]


def test_report_is_written_beside_the_summary(runs: Runs, tmp_path: Path) -> None:
    page = tmp_path / "comparison.html"
    arguments = ["compare", *runs["slow"], "--against", *runs["main"], "--format", "summary"]
    result = call(*arguments, "--out", str(page))
    assert result.exit_code == 0, result.output
    assert "</html>" in page.read_text()
    assert result.stdout.splitlines()[-1] == f"- Full report: `{page}`"
    assert result.stderr.strip() == str(page)
    linked = call(*arguments, "--out", str(page), "--link", "https://ci.example/job?id=1&part=2_b")
    assert linked.stdout.splitlines()[-1] == "- [Full report](<https://ci.example/job?id=1&part=2_b>)"
    unwritten = call(*arguments)
    assert unwritten.stdout.splitlines()[-1].endswith(" --out comparison.html`")


def test_chinese(runs: Runs) -> None:
    lines = summary(*runs["slow"], "--against", *runs["main"], "--lang", "zh")
    assert lines[0].startswith("### 更慢：吞吐量 -")
    assert "- 双方运行次数：3、3。有实际意义的最小效应：2.0%。" in lines
    too_few = summary(runs["slow"][0], "--against", runs["main"][0], "--lang", "zh")
    assert too_few[0].startswith("### 不作判定（数据不足）：吞吐量 -")


def test_other_differences_are_named(runs: Runs, tmp_path: Path) -> None:
    other = write(tmp_path, "other", 41)
    comparisons.other_machine(Path(other))
    lines = summary(other, *runs["same"][:2], "--against", *runs["main"])
    [line] = [line for line in lines if "Other differences: " in line]
    assert "**⚠**" in line
    assert "`cpu.cores: " in line


def test_text_from_outside_is_no_markup(runs: Runs, tmp_path: Path) -> None:
    """Names of directories and what machines say of themselves: neither markup nor mentions of people."""
    evil = tmp_path / "results" / "plan" / "<img src=x> [a](http:__evil) @all #1 **x** `code`"
    comparisons.write(evil, fake_runs.Shape(repeats=4, seed=51))

    def edit(document: dict[str, object]) -> None:
        host = document["hosts"][0]  # type: ignore[index]
        host["cpu"]["model"] = "`<script>` @everyone\n# heading"

    comparisons.change(evil, edit, "environment.json")
    result = call("compare", str(evil), *runs["same"][:2], "--against", *runs["main"], "--format", "summary")
    lines = result.stdout.splitlines()
    assert len(lines) <= MOST_LINES
    page = MarkdownIt("commonmark").render(result.stdout)
    assert "<img" not in page
    assert "<script" not in page
    assert "<a " not in page
    assert page.count("<h") == 1
    [differences] = [line for line in lines if "Other differences: " in line]
    assert "`cpu.model: " in differences


def test_names_of_levels_are_no_mentions_references_or_links(tmp_path: Path) -> None:
    """A bot posts the summary, and the plan comes from the pull request."""
    levels = ["@torvalds", "#123 https://evil.example/x"]
    run = comparisons.write(tmp_path / "run", fake_runs.Shape(factors={"target.storage": levels}, repeats=8))
    text = "\n".join(summary(str(run)))
    for reference in ("@torvalds", "#123", "https://"):
        assert reference not in text
        assert reference in text.replace("\u2060", "").replace("\\", ""), "it reads the same"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--format", "summary", "--format", "md"), "would both be printed"),
        (("--link", "https://ci.example"), "--link is for --format summary"),
        (("--format", "summary", "--link", "javascript:alert(1)"), "begins with https://"),
        (("--format", "summary", "--link", "https://a b"), "without blanks"),
        (("--format", "summary", "--out", "x.pdf"), "--out names a .pdf file"),
    ],
)
def test_calls_that_are_wrong(levels: str, arguments: tuple[str, ...], message: str) -> None:
    result = call("compare", levels, *arguments)
    assert result.exit_code == 2, result.output
    assert message in " ".join(result.output.split())


def test_json_instead(levels: str) -> None:
    result = call("compare", levels, "--format", "summary", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["what"] == "levels"

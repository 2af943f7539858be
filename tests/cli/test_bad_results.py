"""Results that are of little use: each gets a sentence from every command, never a traceback, never a made-up
number.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

import fake_runs
from fake_runs import Fate, Shape
from lines import CliRunner
from loadcell.cli import main

Document = dict[str, Any]
CLIENTS = {"load.clients": [1, 2, 4, 8, 16, 32, 64]}
FACTORIAL = {"a": ["x", "y"], "b": ["u", "v"]}


def shape(repeats: int = 6, **more: Any) -> Shape:
    return Shape(**{"factors": CLIENTS, "repeats": repeats, "monitors": False, "intervals": False, **more})


def throughput(value: float, at: str = "") -> Callable[[Document], None]:
    """Every trial's throughput, or only those at one level; where it is 0 nothing was answered."""

    def change(trial: Document) -> None:
        if at and at not in trial["levels"].values():
            return
        trial["totals"]["throughput_per_s"] = value
        if value == 0:
            trial["totals"]["transactions"]["succeeded"] = 0
            trial["totals"]["response"] = None

    return change


def no_latency(trial: Document) -> None:
    trial["totals"]["response"] = dict.fromkeys(trial["totals"]["response"], math.nan)


def only_a_percentile(trial: Document) -> None:
    """As of a tool that prints no more."""
    trial["totals"]["response"] = {"p99_ms": trial["totals"]["response"]["p99_ms"]}


def no_totals(trial: Document) -> None:
    trial["totals"] = trial["measure"] = None


@dataclass(frozen=True)
class Case:
    """A run, what was done to its records, and what must be said of it: of the run, of two such runs, of its
    levels.
    """

    shape: Shape
    change: Callable[[Document], None] | None = None
    run: tuple[str, ...] = ()
    unsaid: tuple[str, ...] = ()
    two: str = ""
    levels: str = ""
    status: int = 0


CANNOT = "bbbb cannot be compared with aaaa: one of them has no throughput."
CASES: dict[str, Case] = {
    "one repeat": Case(
        shape(1), run=("Descriptive only: 1 repeat per treatment is too few",),
        unsaid=("Set `repeats` to 2 or more",),  # which descriptive only says, too
        two="No verdict", levels="No verdict",
    ),
    "one level": Case(
        shape(factors={"load.clients": [4]}),
        run=("1 load with usable throughput (1 planned) is too few", "Throughput was 651.2"),
        unsaid=("highest median",), levels="there is only one run, and it varies no factor",
    ),
    "two levels": Case(
        shape(factors={"load.clients": [4, 16]}),
        run=("2 loads with usable throughput (2 planned) are too few",),
    ),
    "all trials failed": Case(
        shape(2, fates={n: Fate("failed", "the server is gone") for n in range(1, 15)}),
        run=("the server is gone",),
        unsaid=("median throughput",), two=CANNOT,
        levels="clients = 2 cannot be compared with clients = 1", status=3,
    ),
    "NaN": Case(
        shape(3), throughput(math.nan), run=("21 trials succeeded without a usable throughput",),
        unsaid=("No trial succeeded", "median throughput"), two=CANNOT, status=3,
    ),
    "NaN at a level": Case(
        shape(3), throughput(math.inf, at="8"),
        run=("3 of 21 trials succeeded without a usable throughput",),
    ),
    "latencies that are NaN": Case(
        shape(3), no_latency, run=("clients = 64 had the highest median throughput: 4,259 transactions/s.",),
        unsaid=("It cost a response time",),
    ),
    "one percentile and nothing else": Case(
        shape(3), only_a_percentile, run=("had the highest median throughput",),
    ),
    "throughput 0": Case(
        shape(), throughput(0), run=("42 trials succeeded without a usable throughput",
                                     "All 7 treatments had the same median throughput: 0 transactions/s."),
        unsaid=("only one measurement", "Recommended"), two=CANNOT, status=3,
    ),
    "throughput 0 at a level": Case(
        shape(factors=FACTORIAL), throughput(0, at="x"),
        run=("Effects of factors are not estimated: 2 treatments had no throughput above 0",),
    ),
    "always the same number": Case(
        shape(), throughput(1000.0),
        run=("throughput does not depend on the load from 1 to 64 clients", "all repeats are identical",
             "All 7 treatments had the same median throughput"),
        unsaid=("highest median", "only one measurement"),
        two="all blocks have exactly the same ratio",
    ),
    "a factorial of the same number": Case(
        shape(factors=FACTORIAL), throughput(1000.0),
        run=("Effects of factors are descriptive only: all repeats are identical",),
        unsaid=("Set `repeats` to 2 or more",),
        levels="the run varies 2 factors. Name one with --factor: a, b.",
    ),
    "trials that ended well without figures": Case(
        shape(2), no_totals, run=("14 trials succeeded without a usable throughput",), two=CANNOT, status=3,
    ),
}  # fmt: skip


@dataclass
class Home:
    """A results directory with two runs of a case."""

    path: Path
    runs: list[Path] = field(default_factory=list)

    def call(self, *arguments: str | Path) -> Result:
        """Call a command and check its output for traces and values that are no numbers."""
        done = CliRunner().invoke(main, [*map(str, arguments)], prog_name="loadcell")
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        output = done.output.replace(str(self.path), "")
        assert "Traceback" not in output
        assert "A fault in loadcell" not in output
        assert not re.search(r"\b(nan|inf|NaN|Infinity|None)\b", output), output
        return done


@pytest.fixture(scope="module")
def home_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Home]:
    made: dict[str, Home] = {}

    def find(name: str) -> Home:
        if name in made:
            return made[name]
        case, home = CASES[name], Home(tmp_path_factory.mktemp("bad"))
        for seed, run in ((7, "20260309T080000Z-aaaa"), (11, "20260310T080000Z-bbbb")):
            path = fake_runs.write_run(home.path / "results" / "p" / run, replace(case.shape, seed=seed))
            home.runs.append(path)
            for file in path.glob("trials/*/trial.json") if case.change is not None else ():
                document = json.loads(file.read_text())
                case.change(document)
                file.write_text(json.dumps(document))
        made[name] = home
        return home

    return find


Homes = Callable[[str], Home]
cases = pytest.mark.parametrize("name", CASES)


def sentences(done: Result) -> str:
    return " ".join(done.output.split())


@cases
def test_the_terminal_reports_it_of_a_run(home_of: Homes, name: str) -> None:
    home, case = home_of(name), CASES[name]
    done = home.call("show", home.runs[0])
    for text in case.run:
        assert text in sentences(done)
    for text in case.unsaid:
        assert text not in sentences(done)


@cases
def test_a_page_is_made_that_says_it(home_of: Homes, name: str) -> None:
    home, case = home_of(name), CASES[name]
    assert home.call("report", home.runs[0], "--format", "html").exit_code == 0
    page = (home.runs[0] / "report.html").read_text(encoding="utf-8")
    data = re.search(r'id="data">(.*?)</script>', page, re.DOTALL)
    assert data is not None
    assert not re.search(r"\b(NaN|Infinity)\b", data[1])
    text = " ".join(re.sub(r"<[^>]*>", "", re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)).split())
    assert not re.search(r"(?<![\w/-])(nan|inf|NaN|Infinity)(?![\w-])", text)
    for sentence in case.run:
        assert sentence in text


@cases
def test_json_is_json(home_of: Homes, name: str) -> None:
    """NaN is none, but Python writes and reads it."""

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    home = home_of(name)
    for arguments in (("report", home.runs[0]), ("compare", *home.runs)):
        document = json.loads(home.call(*arguments, "--json").stdout, parse_constant=refuse)
        assert document["findings"]
    history = home.call("history", "postgres-concurrency", "--results", home.path / "results", "--json")
    assert json.loads(history.stdout, parse_constant=refuse)["findings"]


@cases
def test_two_runs_and_the_levels_of_one_are_compared_as_far_as_they_can_be(
    home_of: Homes, name: str, tmp_path: Path
) -> None:
    home, case = home_of(name), CASES[name]
    two = home.call("compare", *home.runs)
    assert two.exit_code == case.status
    assert case.two in sentences(two)
    home.call("compare", *home.runs, "--out", tmp_path / "page.html")
    levels = home.call("compare", home.runs[0])
    assert case.levels in sentences(levels)
    if case.two == CANNOT:
        assert "comes first" not in sentences(levels), "nothing was measured that could"


@cases
def test_a_history_needs_more_than_two_runs_with_values(home_of: Homes, name: str, tmp_path: Path) -> None:
    home = home_of(name)
    done = home.call("history", "postgres-concurrency", "--results", home.path / "results", "--out", tmp_path)
    with_values = 0 if CASES[name].two == CANNOT else 2
    message = f"Only {with_values} runs have usable data: detecting a change needs 6"
    assert message in sentences(done)

"""`design: {search: {...}}`: what it asks for, its levels, and every way to get it wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from loadcell.design.estimate import estimate
from loadcell.design.search.decide import question
from loadcell.plan.load import LoadedPlan
from loadcell.plan.problems import PlanError, Problem
from plan import fake_parts

PLAN = "target: {database: {}}\nworkload: {mix: {}}\nload: {duration: 10s, warmup: 0s}\n"


def read(text: str, home: Path, **how: Any) -> LoadedPlan:
    return fake_parts.read(home, text, **how)


def search(inner: str, more: str = "") -> str:
    return f"{PLAN}design: {{search: {{{inner}}}}}\n{more}"


def labels(inner: str, home: Path) -> list[str]:
    plan = read(search(inner).replace("{duration", "{clients: 1, duration"), home)
    assert plan.search is not None
    return list(plan.search.labels)


def test_a_search_for_the_highest_throughput(tmp_path: Path) -> None:
    plan = read(search("factor: load.clients, between: [5, 160], step: 5"), tmp_path)
    assert plan.design == "search"
    assert plan.search is not None
    assert (plan.search.kind, plan.search.objective, plan.search.metric) == (
        "maximum",
        "max throughput",
        "throughput",
    )
    assert plan.search.values == tuple(range(5, 161, 5))
    assert plan.treatment(3).id == "clients=20"
    assert plan.treatment(3).resolved.load.clients == 20
    assert question(plan.search.record(), 3, 0, "blocks").trials == 10


def test_a_search_for_the_highest_rate(tmp_path: Path) -> None:
    text = (
        "factor: load.rate, between: [100/s, 5000/s], objective: max load.rate, "
        "subject to: [latency.p99 < 20ms, errors == 0]"
    )
    plan = read(search(text).replace("{duration", "{clients: 8, duration"), tmp_path)
    assert plan.search is not None
    assert (plan.search.kind, plan.search.metric, plan.search.keeping_up) == ("bound", "throughput", True)
    assert [bound.text for bound in plan.search.bounds] == ["latency.p99 < 20ms", "errors == 0"]
    assert plan.search.labels[:3] == ("100/s", "102/s", "104/s")
    assert plan.search.labels[-1] == "5000/s"


@pytest.mark.parametrize(
    ("inner", "expected"),
    [
        ("between: [1, 4]", ["1", "2", "3", "4"]),
        ("between: [10, 40], step: 10", ["10", "20", "30", "40"]),
        ("between: [10, 45], step: 10", ["10", "20", "30", "40", "45"]),
        ("between: [100, 130], step: 10%", ["100", "110", "121", "130"]),
        ("between: [0, 4], step: 2", ["0", "2", "4"]),
    ],
)
def test_levels(tmp_path: Path, inner: str, expected: list[str]) -> None:
    assert labels(f"factor: workload.mix.tables, {inner}", tmp_path) == expected


def test_levels_with_a_unit_stay_short(tmp_path: Path) -> None:
    problems = labels(
        "factor: target.database.settings.cache, between: [100MB, 20000MB], objective: max throughput",
        tmp_path,
    )
    assert problems[0] == "100MB"
    assert max(map(len, problems)) <= len("20000MB")
    assert problems[-1] == "20000MB"
    assert all(label.endswith("0MB") for label in problems[-45:])


def test_other_factors_are_searched_one_treatment_at_a_time(tmp_path: Path) -> None:
    more = "factors: {workload.mix.script: [read_write, read_only]}\n"
    plan = read(search("factor: load.clients, between: [1, 8]", more), tmp_path)
    assert [plan.treatment(index).id for index in (0, 8)] == [
        "script=read_write,clients=1",
        "script=read_only,clients=1",
    ]
    problem = read(search("factor: load.clients, between: [1, 8]"), tmp_path)
    assert estimate(plan).trials == 2 * estimate(problem).trials
    assert (
        read(
            search("factor: load.clients, between: [1, 8]", more), tmp_path, only=["script=read_only"]
        ).treatment_count
        == 8
    )


def test_how_long_it_takes_is_reported_for_what_is_usual_and_for_the_most(tmp_path: Path) -> None:
    expected = estimate(read(search("factor: load.clients, between: [1, 512]", "repeats: 2\n"), tmp_path))
    assert (expected.trials, expected.load_s) == (10 + 3 * 2 + 2, 180)
    assert expected.at_most is not None
    assert expected.at_most > expected.trials


CASES: list[tuple[str, str, str]] = [
    ("design: search", "design", 'found "search"'),
    ("design: {sweep: {}}", "design", "found"),
    ("design: {search: 5}", "design", "found"),
    ("design: {search: {between: [1, 8]}}", "design.search.factor", "is missing"),
    ("design: {search: {factor: load.clients}}", "design.search.between", "is missing"),
    ("design: {search: {factor: load.cleints, between: [1, 8]}}", "design.search.factor",
     'no setting "cleints"'),
    ("design: {search: {factor: load.clients, between: [1, 8], stepp: 2}}", "design.search.stepp",
     "no setting"),
    ("design: {search: {factor: load.clients, between: [1]}}", "design.search.between", "found"),
    ("design: {search: {factor: load.clients, between: [8, 1]}}", "design.search.between", "not ascending"),
    ("design: {search: {factor: load.clients, between: [a, b]}}", "design.search.between", 'found "a"'),
    ("design: {search: {factor: load.rate, between: [1/s, 5/min]}}", "design.search.between",
     "different units"),
    ("design: {search: {factor: load.clients, between: [0, 8]}}", "design.search.between", "not increase"),
    ("design: {search: {factor: load.clients, between: [1, 8], step: -1}}", "design.search.step", "found -1"),
    ("design: {search: {factor: load.clients, between: [1, 8], step: 2s}}", "design.search.step", "found"),
    ("design: {search: {factor: load.clients, between: [1, 90000], step: 1}}", "design.search.step",
     "more than 2,000 levels"),
    ("design: {search: {factor: load.clients, between: [1, 8], objective: max latency}}",
     "design.search.objective", "found"),
    ("design: {search: {factor: load.clients, between: [1, 8], objective: min throughput}}",
     "design.search.objective", "found"),
    ("design: {search: {factor: load.clients, between: [1, 8], objective: max load.clients}}",
     "design.search.objective", "no condition defines"),
    ("design: {search: {factor: load.clients, between: [1, 8], subject to: fast}}",
     "design.search.subject to", "found"),
    ("design: {search: {factor: load.clients, between: [1, 8], trials: 1}}", "design.search.trials",
     "found 1"),
    ("design: {search: {factor: load.clients, between: [1, 8], tolerance: 0%}}", "design.search.tolerance",
     "found"),
    ("design: {search: {factor: load.clients, between: [1, 8]}}\nfactors: {load.clients: [1, 2]}",
     "load.clients", "given twice"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "path", "finding"), CASES)
def test_mistakes(tmp_path: Path, text: str, path: str, finding: str) -> None:
    problems: list[Problem] = fake_parts.mistakes(tmp_path, PLAN + text)
    assert [problem.path for problem in problems] == [path], [str(problem) for problem in problems]
    assert finding in problems[0].finding
    assert problems[0].allowed


@pytest.mark.parametrize("option", [{"only": ["clients=4"]}, {"sets": ["load.clients=4"]}])
def test_the_searched_factor_has_no_levels_to_choose_by_hand(
    tmp_path: Path, option: dict[str, list[str]]
) -> None:
    (problems,) = fake_parts.mistakes(tmp_path, search("factor: load.clients, between: [1, 8]"), **option)
    assert "the search chooses its levels" in problems.finding
    assert "--set 'design.search.between" in (problems.allowed or "")


def test_a_part_of_a_search_is_set_from_the_command_line(tmp_path: Path) -> None:
    text = search("factor: load.clients, between: [1, 8]")
    plan = read(text, tmp_path, sets=["design.search.between=[2, 4]", "design.search.subject to=errors == 0"])
    assert plan.search is not None
    assert plan.search.labels == ("2", "3", "4")
    assert [bound.text for bound in plan.search.bounds] == ["errors == 0"]
    assert read(text, tmp_path, sets=["design=full", "load.clients=3"]).search is None


RATES = "factor: load.rate, between: [{low}/s, 5000/s], objective: max load.rate, subject to: [{bound}]"


@pytest.mark.parametrize(
    ("low", "bound", "refused"),
    [(10, "latency.p99 < 20ms", False), (3, "latency.p99 < 20ms", True), (3, "latency.mean < 20ms", False),
     (300, "latency.p99.9 < 20ms", False), (300, "latency.p99.99 < 20ms", True)],
)  # fmt: skip
def test_a_lowest_rate_with_too_few_requests_for_its_percentile_is_refused(
    tmp_path: Path, low: int, bound: str, refused: bool
) -> None:
    """In 10 s; a percentile needs a request beyond it."""
    text = search(RATES.format(low=low, bound=bound)).replace("{duration", "{clients: 8, duration")
    if not refused:
        assert read(text, tmp_path).search is not None
        return
    with pytest.raises(PlanError) as raised:
        read(text, tmp_path)
    (problem,) = raised.value.problems
    assert problem.path == "design.search.between"
    assert problem.message.arguments["needed"] in (100, 10_000)

"""Plans that count requests: what they come to, what they cannot stand beside, and how long they are said to
take.
"""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from loadcell.design.estimate import estimate
from loadcell.execution.executor import data_order
from loadcell.plan import rate
from loadcell.plan.load import LoadedPlan, load_plan
from loadcell.plan.model import Load
from loadcell.plan.problems import PlanError
from loadcell.plan.rate import Ramp, Step, Steps
from loadcell.plan.remarks import remarks
from loadcell.plan.units import Rate
from plan.fake_parts import PARTS


def loaded(tmp_path: Path, load: str, more: str = "workload: {mix: {}}") -> LoadedPlan:
    path = tmp_path / "plan.yaml"
    path.write_text(f"target: {{database: {{}}}}\n{more}\nload: {load}\n")
    return load_plan(path, PARTS)


def mistakes(tmp_path: Path, load: str, more: str = "workload: {mix: {}}") -> dict[str, str]:
    with pytest.raises(PlanError) as caught:
        loaded(tmp_path, load, more)
    return {problem.path: problem.finding for problem in caught.value.problems}


def test_the_duration_is_a_limit_which_need_not_be_given(tmp_path: Path) -> None:
    load = loaded(tmp_path, "{clients: 4, requests: 1000}").base.load
    assert (load.count, load.duration.text, load.expected_s) == (1000, "1h", None)
    assert loaded(tmp_path, "{clients: 4, requests: 1000, duration: 5s}").base.load.duration == 5
    assert loaded(tmp_path, "{clients: 4, requests_per_client: 1000}").base.load.count == 4000
    plain = loaded(tmp_path, "{clients: 4}").base.load
    assert (plain.count, plain.duration.text, plain.expected_s) == (None, "30s", 30.0)


def test_the_record_names_counts_only_where_there_are_any() -> None:
    assert Load(clients=4, requests=9).document()["requests"] == 9
    assert not {"requests", "requests_per_client"} & Load(clients=4).document().keys()


def test_the_engine_gets_the_number(tmp_path: Path) -> None:
    settings = loaded(tmp_path, "{clients: 4, requests: 1000}").base
    reported = data_order({}, {}, settings, 2, 1).specification()["load"]
    assert (reported["requests"], reported["duration_ns"]) == (1000, 3_600_000_000_000)
    assert "requests_per_client" not in reported


def test_both_can_be_factors(tmp_path: Path) -> None:
    plan = loaded(tmp_path, "{clients: 4}", "workload: {mix: {}}\nfactors: {load.requests: [100, 1000]}")
    assert [treatment.resolved.load.count for treatment in plan.treatments] == [100, 1000]
    assert {treatment.resolved.load.duration.text for treatment in plan.treatments} == {"1h"}


@pytest.mark.parametrize(
    ("load", "path", "finding"),
    [
        ("{clients: 8, requests: 7}", "load.requests", "is 7, fewer than the 8 clients"),
        (
            "{clients: 8, requests: 80, requests_per_client: 10}",
            "load.requests_per_client",
            "conflicts with load.requests",
        ),
        (
            "{clients: 8, rate: 5/s, requests_per_client: 10}",
            "load.requests_per_client",
            "has no effect with",
        ),
        ("{clients: 8, requests: 0}", "load.requests", "0"),
        ("{clients: 8, requests: 1e6}", "load.requests", "1000000.0"),
    ],
)
def test_what_it_cannot_be(tmp_path: Path, load: str, path: str, finding: str) -> None:
    problems = mistakes(tmp_path, load)
    assert list(problems) == [path]
    assert finding in problems[path]


def test_client_groups_end_together(tmp_path: Path) -> None:
    groups = "workloads: {a: {mix: {}, share: 1}, b: {mix: {}, share: 1}}"
    for key in ("requests", "requests_per_client"):
        problems = mistakes(tmp_path, f"{{clients: 8, {key}: 100}}", groups)
        assert list(problems) == [f"load.{key}"]
        assert "the plan has `workloads`" in problems[f"load.{key}"]


def test_how_long_it_takes_is_not_known_in_a_closed_loop(tmp_path: Path) -> None:
    problems = estimate(loaded(tmp_path, "{clients: 4, warmup: 2s, requests: 1000}\nrepeats: 3"))
    assert (problems.counted, problems.load_s, problems.trials) == (True, 6.0, 3)
    paced = estimate(loaded(tmp_path, "{clients: 4, warmup: 2s, rate: 100/s, requests: 1000}\nrepeats: 3"))
    assert (paced.counted, paced.load_s) == (False, 36.0)


def test_a_rate_that_is_counted_out_is_not_said_to_be_too_short(tmp_path: Path) -> None:
    plan = loaded(tmp_path, "{clients: 4, rate: 10/s, requests: 100}")
    assert "load.rate" not in {remark.path for remark in remarks(plan, PARTS)}


def test_when_a_number_of_requests_has_fallen_due() -> None:
    steps = Steps(
        steps=tuple(Step.model_validate({"rate": rate, "for": "10s"}) for rate in ("100/s", "0/s", "50/s"))
    )
    assert rate.time_of(Rate(200), 1000) == pytest.approx(5)
    assert [rate.time_of(steps, count) for count in (500, 1000, 1500, 2000)] == [5, 10, 30, 40]
    ramp = Ramp.model_validate({"from": "0/s", "to": "100/s", "over": "10s"})
    assert [rate.time_of(ramp, count) for count in (125, 500, 1500)] == pytest.approx([5, 10, 20])
    assert rate.time_of(Ramp.model_validate({"from": "10/s", "to": "0/s", "over": "2s"}), 11) == math.inf

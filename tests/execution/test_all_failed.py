"""A load of which nothing succeeded has no values: its trial says so, unless failures are what the plan
wants.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from execution.world import PLAN, World
from loadcell.analysis import error_codes
from loadcell.execution.outcome import all_requests_failed, failures_wanted
from loadcell.model.trial_record import Counts, ErrorRecord, Totals, TrialRecord
from loadcell.plan.expect import Expectation
from loadcell.report.texts import Texts
from records import trial as trial_record

CODE = "nothing-succeeded"
UNASKED = PLAN.replace("expect: [errors == 0]\n", "")


def failing(*errors: tuple[str, int, str], succeeded: int = 0) -> Callable[[dict[str, Any]], None]:
    """A load of these errors (code, count, first message), and of `succeeded` successes."""

    def change(result: dict[str, Any]) -> None:
        failed = sum(count for _, count, _ in errors)
        took = result["operations"][0]["response"]
        result["operations"][0].update(
            attempted=succeeded + failed + 2,
            succeeded=succeeded,
            failed=failed,
            response={**took, "count": succeeded} if succeeded else None,
            service={**took, "count": succeeded} if succeeded else None,
            failed_response={**took, "count": failed},
        )
        result["errors"] = [
            {"code": code, "operation": "transaction", "count": count, "message": message}
            for code, count, message in errors
        ]

    return change


STATUS_404 = ("http-404", 150, "the server answered with status 404")
REFUSED = ("refused", 50, "connection refused")


def run(home: Path, change: Callable[[dict[str, Any]], None], text: str = UNASKED) -> tuple[int, TrialRecord]:
    world = World()
    world.results["load 2"] = change
    ended = world.run(home, text)
    return ended.exit_status, world.stored(ended).trials[0]


def test_a_load_that_only_failed_has_failed_and_names_the_commonest_error(tmp_path: Path) -> None:
    status, trial = run(tmp_path, failing(REFUSED, STATUS_404))
    assert (status, trial.status, trial.reason_code) == (3, "failed", CODE)
    assert trial.reason == (
        "nothing succeeded: all 200 requests that ended during the measurement failed, most often (150 "
        "times) with http-404, the server answered with status 404"
    )
    assert trial.advice.startswith("correct the request")
    assert trial.advice.endswith("`expect: [errors > 0]`")
    assert trial.totals.errors == 200, "what was counted is kept"


def test_the_report_states_it_in_chinese_too(tmp_path: Path) -> None:
    _, trial = run(tmp_path, failing(REFUSED, STATUS_404))
    texts = Texts("zh")
    message, remedy = texts.recorded(error_codes.why(trial)), texts.recorded(error_codes.remedy(trial))
    assert message.startswith(
        "没有一次成功：测量期内结束的 200 次全部失败，最多的是 http-404（150 次）：未找到"
    )
    assert remedy.startswith("请更正请求")


def test_one_success_is_enough_as_of_a_target_that_was_down_for_a_while(tmp_path: Path) -> None:
    _, trial = run(tmp_path, failing(REFUSED, succeeded=1))
    assert trial.reason_code != CODE


def test_a_load_in_which_nothing_ended_is_not_one_that_failed(tmp_path: Path) -> None:
    _, trial = run(tmp_path, failing())
    assert trial.reason_code != CODE


def test_a_load_that_was_never_answered_has_failed(tmp_path: Path) -> None:
    status, trial = run(tmp_path, failing())
    assert (status, trial.status, trial.reason_code) == (3, "failed", "nothing-ended")
    assert trial.reason == (
        "no request ended: 2 were in flight at the end of the measurement of 2 s, without any response"
    )
    assert trial.totals.transactions.attempted == 2, "what was counted is kept"


def test_no_expectation_is_met_by_silence(tmp_path: Path) -> None:
    text = f'{UNASKED}expect: ["errors == 0", "throughput < 5/s"]\n'
    status, trial = run(tmp_path, failing(), text)
    assert (status, trial.status) == (3, "failed")
    assert [item.verdict for item in trial.expect] == ["unknown", "unknown"]


def test_a_load_without_a_request_has_failed_too(tmp_path: Path) -> None:
    def idle(result: dict[str, Any]) -> None:
        failing()(result)
        result["operations"][0].update(attempted=0, in_flight=0)

    _, trial = run(tmp_path, idle)
    assert (trial.status, trial.reason_code) == ("failed", "nothing-started")


def test_it_fails_also_where_an_expectation_is_missed(tmp_path: Path) -> None:
    status, trial = run(tmp_path, failing(REFUSED), PLAN)
    assert (status, trial.status) == (3, "failed")
    assert [item.verdict for item in trial.expect] == ["missed"]


@pytest.mark.parametrize("expression", ["errors > 0", "error_rate == 100%", "errors >= 50"])
def test_a_plan_that_wants_failures_is_met_by_them(tmp_path: Path, expression: str) -> None:
    _, trial = run(tmp_path, failing(REFUSED), f'{UNASKED}expect: ["{expression}"]\n')
    assert trial.reason_code != CODE


@pytest.mark.parametrize(
    "expression", ["errors < 1000", "error_rate <= 100%", "errors > 50", "throughput < 5/s"]
)
def test_a_bound_that_failures_happen_to_keep_does_not_want_them(expression: str) -> None:
    values = {"errors": 50.0, "error_rate": 1.0, "throughput": 0.0}
    assert not failures_wanted([Expectation.parse(expression)], values)


def test_what_a_client_group_is_to_fail_at_is_wanted_too() -> None:
    expected = Expectation.parse("writers.errors > 0", groups=["writers"])
    assert failures_wanted([expected], {"writers.errors": 3.0})


def record(*errors: ErrorRecord, **totals: Any) -> TrialRecord:
    return trial_record(totals=Totals(Counts(failed=7), **totals), errors=errors)


def test_a_tool_that_gives_a_throughput_had_successes() -> None:
    assert all_requests_failed(record(throughput_per_s=12.0), "http") is None
    assert all_requests_failed(trial_record(), "http") is None


def test_errors_that_nobody_classed_are_only_counted() -> None:
    result = all_requests_failed(record(throughput_per_s=0.0), "http")
    assert result is not None
    assert result.text == "nothing succeeded: all 7 requests that ended during the measurement failed"
    assert "output.log" in result.advice


@pytest.mark.parametrize(
    ("protocol", "code", "advice"),
    [
        ("resp", "NOAUTH", "the server requires a password"),
        ("http", "refused", "no program listens there"),
        ("duckdb", "descriptors", "raise the limit of open files"),
        ("resp", "MADE-UP", "find out what was refused"),
    ],
)
def test_what_to_do_is_what_helps_against_that_error(protocol: str, code: str, advice: str) -> None:
    errors = (
        ErrorRecord(code, 7, message="no"),
        ErrorRecord("connection", 900, "connect", "of no transaction"),
    )
    result = all_requests_failed(record(*errors), protocol)
    assert result is not None
    assert result.advice.startswith(advice)


def test_more_failures_than_successes_are_no_result(tmp_path: Path) -> None:
    status, trial = run(tmp_path, failing(("42P01", 10_221, "no such table"), succeeded=87))
    assert (status, trial.status, trial.reason_code) == (3, "failed", "most-failed")
    assert trial.reason.startswith("more requests failed (10,221) than succeeded (87)")
    assert trial.totals.transactions.succeeded == 87, "what was counted is kept"


def test_as_many_failures_as_successes_stand(tmp_path: Path) -> None:
    _, trial = run(tmp_path, failing(REFUSED, succeeded=50))
    assert trial.reason_code != "most-failed"


def test_more_failures_than_successes_may_be_wanted(tmp_path: Path) -> None:
    _, trial = run(tmp_path, failing(REFUSED, succeeded=5), f"{UNASKED}expect: [errors > 0]\n")
    assert trial.reason_code != "most-failed"


@pytest.mark.parametrize(
    ("expectation", "verdict", "value"),
    [
        ("error_rate < 5%", "missed", 0.8),
        ("errors == 0", "missed", 200.0),
        ("latency.p50 < 1s", "unknown", None),
    ],
)
def test_failed_requests_miss_an_expectation_of_errors_and_prove_no_other(
    tmp_path: Path, expectation: str, verdict: str, value: float | None
) -> None:
    text = PLAN.replace("expect: [errors == 0]\n", f"expect: ['{expectation}']\n")
    status, trial = run(tmp_path, failing(REFUSED, STATUS_404, succeeded=50), text)
    assert (status, trial.status, trial.reason_code) == (3, "failed", "most-failed")
    judged = trial.expect[0]
    assert (judged.verdict, judged.value) == (verdict, value)


def test_an_expectation_that_cannot_be_judged_makes_the_run_exit_1(tmp_path: Path) -> None:
    world = World()
    ended = world.run(tmp_path, PLAN.replace("expect: [errors == 0]\n", "expect: [latency.p99.99 < 1s]\n"))
    trials = world.stored(ended).trials
    assert {trial.status for trial in trials} == {"ok"}
    assert {trial.expect[0].verdict for trial in trials} == {"unknown"}
    assert ended.exit_status == 1

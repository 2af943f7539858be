"""When going on with a run makes no sense, and how a report says so."""

from __future__ import annotations

from dataclasses import replace

from loadcell.analysis.findings import abandoned
from loadcell.execution.outcome import AFTER, should_abort
from loadcell.execution.runner import RUN_INTERRUPTED
from loadcell.model.message import Message, as_written
from loadcell.model.run_record import RunRecord
from loadcell.model.trial_record import PhaseRecord, Status, TrialRecord
from loadcell.report.texts import Texts
from loadcell.systems.shared.server_errors import CONNECTION_REFUSED
from records import trial

REFUSED = CONNECTION_REFUSED(where="127.0.0.1:6379", said="Connection refused")


def record(reason: Message = REFUSED, *, status: Status = Status.FAILED, up: str = "failed") -> TrialRecord:
    """A trial that ended like this; `up` is how its first phase ended."""
    return trial(
        status=status,
        phases=(PhaseRecord("up", status=up),),
        reason=reason.text,
        advice=reason.advice,
        reason_code=reason.code,
        reason_args=reason.plain_arguments,
    )


def sentences(reason: Message, language: str, state: str = "failed") -> list[str]:
    """The run's findings about its own end, in sentences."""
    run = RunRecord(
        state=state, reason=reason.text, reason_code=reason.code, reason_args=reason.plain_arguments
    )
    return [Texts(language).message(item.message) for item in abandoned(run)]


def test_a_target_that_never_came_up_for_one_reason_is_abandoned() -> None:
    assert should_abort([record()] * (AFTER - 1)) is None
    reason = should_abort([record()] * AFTER)
    assert reason is not None
    assert reason.text == f"aborted after 3 trials, none of which could start: {REFUSED.text}"
    assert sentences(reason, "en") == [f"The run was {reason.text}."]
    assert sentences(reason, "zh") == [
        "运行在连续 3 次试验都未能开始之后中止：127.0.0.1:6379 没有服务器响应：“Connection refused”。"
    ]


def test_other_ends_are_not_hopeless() -> None:
    assert should_abort([*[record()] * AFTER, record(as_written("something else"))]) is None
    assert should_abort([*[record()] * AFTER, record(up="ok")]) is None
    assert should_abort([*[record()] * AFTER, record(status=Status.TIMED_OUT)]) is None


def test_a_reason_in_words_alone_and_one_of_a_dead_target_are_said_too() -> None:
    bare = should_abort([record(as_written("it broke"))] * AFTER)
    assert bare is not None
    assert sentences(bare, "zh") == ["运行在连续 3 次试验都未能开始之后中止：it broke。"]
    died = replace(record(), reason="the target died during up (x)", died_during="up")
    reason = should_abort([died] * AFTER)
    assert reason is not None
    assert reason.text.endswith("none of which could start: the target died during up (x)")
    assert sentences(reason, "zh") == [
        "运行在连续 3 次试验都未能开始之后中止："
        "被测系统在启动阶段异常退出（127.0.0.1:6379 没有服务器响应：“Connection refused”）。"
    ]


def test_an_interrupted_run_and_records_of_before() -> None:
    assert sentences(RUN_INTERRUPTED(), "zh", "interrupted") == []
    assert list(abandoned(RunRecord(state="finished"))) == []
    before = RunRecord(state="failed", reason="given up after 3 trials, none of which could begin: x")
    [finding] = abandoned(before)
    assert (
        Texts("en").message(finding.message)
        == "The run was given up after 3 trials, none of which could begin: x."
    )

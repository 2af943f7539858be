"""Failures of all requests of a trial, and of all trials of a run.

A trial in which no request succeeded has failed, with the commonest error as the reason. Only its whole
measurement counts: a target that is down for a while within it has answered before or after. A run whose
target never comes up is aborted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from loadcell.execution.messages import (
    DIED,
    NOTHING_SUCCEEDED,
    NOTHING_SUCCEEDED_LOOK,
    NOTHING_SUCCEEDED_STATUS,
    NOTHING_SUCCEEDED_UNCODED,
    RUN_GIVEN_UP,
)
from loadcell.execution.phases import PHASES
from loadcell.model.engine_messages import failure_remedy, load_failure
from loadcell.model.message import Message
from loadcell.model.trial_record import TRANSACTION, Status, Totals, TrialRecord
from loadcell.plan.expect import Expectation

#: When the target has never come up and this many trials in a row failed for one and the same reason, the
#: rest would too.
AFTER = 3


def should_abort(records: Sequence[TrialRecord]) -> Message | None:
    """Why going on makes no sense: the target has never come up, always for the same reason."""
    if len(records) < AFTER:
        return None
    stuck = all(
        record.status is Status.FAILED and record.phases and record.phases[0].status == "failed"
        for record in records
    )
    if not stuck or len({record.reason for record in records}) != 1:
        return None
    return RUN_GIVEN_UP(count=len(records), why=_why(records[0]))


def _why(record: TrialRecord) -> Message:
    """The reason of a trial, as its record has it."""
    words = record.reason or "", record.advice or ""
    message = Message(record.reason_code or "", record.reason_args or {}, recorded=words)
    if not (phase := record.died_during):
        return message
    return Message(DIED.code, {"phase": PHASES[phase], "why": message}, recorded=words)


#: Metrics by which a plan can state that it expects failures.
_OF_FAILURES = ("errors", "error_rate")


def all_requests_failed(record: TrialRecord, protocol: str) -> Message | None:
    """Reason why a trial has no results: every request of the measurement failed. None otherwise.

    A tool that reports a throughput had successes, whether it counts them or not.
    """
    totals = record.totals or Totals()
    failed = totals.transactions.failed or 0
    if not failed or totals.transactions.succeeded or totals.throughput_per_s:
        return None
    codes: Counter[str] = Counter()
    messages: dict[str, str] = {}
    for error in record.errors:
        if error.operation == TRANSACTION:
            codes[error.code] += error.count
            messages.setdefault(error.code, error.message or "")
    if not codes:
        return NOTHING_SUCCEEDED_UNCODED(failed=failed, remedy=NOTHING_SUCCEEDED_LOOK())
    code, often = codes.most_common(1)[0]
    remedy = failure_remedy(protocol, code) or _remedy_of_answer(code)
    why = load_failure(code, messages[code] or code, remedy)
    return NOTHING_SUCCEEDED(failed=failed, code=code, often=often, why=why, remedy=remedy)


def wanted(expect: Sequence[Expectation], figures: Mapping[str, float | None]) -> bool:
    """True if failures are what the plan wants: an expectation of them holds, and would not if there were
    none.
    """
    return any(
        expectation.metric.rpartition(".")[2] in _OF_FAILURES
        and expectation.judge(figures).verdict == "met"
        and expectation.judge({expectation.metric: 0.0}).verdict == "missed"
        for expectation in expect
    )


def _remedy_of_answer(code: str) -> Message:
    return (NOTHING_SUCCEEDED_STATUS if code.startswith("http-") else NOTHING_SUCCEEDED_LOOK)()

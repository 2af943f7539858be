"""Outcome of trials and of a run: failures, expectations over all trials, and the exit status.

A trial in which no request succeeded, or fewer than failed, has failed, with the commonest error as the
reason, or with the target's silence where no request ended at all. Only its whole measurement counts. A run
whose target never comes up is aborted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from loadcell.execution.context import PHASES
from loadcell.execution.interrupts import EXIT_INTERRUPTED
from loadcell.model.engine_messages import CREDENTIALS_REFUSED, failure_remedy, load_failure
from loadcell.model.message import Count, Message, MessageCode
from loadcell.model.run_record import PlannedTrial, RunRecord, RunVerdict
from loadcell.model.trial_record import TRANSACTION, Status, Totals, TrialRecord
from loadcell.plan.expect import Expectation
from loadcell.systems.shared.owner import SERVER_LOCK_UNKNOWN, SERVER_LOCKED

RUN_ABANDONED = MessageCode("run.given-up", count=Count, why=Message)
DIED = MessageCode("died", phase=Message, why=Message)
NOTHING_SUCCEEDED = MessageCode(
    "nothing-succeeded", code=str, failed=Count, often=Count, remedy=Message, why=Message
)
NOTHING_SUCCEEDED_UNCODED = MessageCode("nothing-succeeded.uncoded", failed=Count, remedy=Message)
MOST_FAILED = MessageCode(
    "most-failed", code=str, failed=Count, often=Count, remedy=Message, succeeded=Count, why=Message
)
MOST_FAILED_UNCODED = MessageCode("most-failed.uncoded", failed=Count, remedy=Message, succeeded=Count)
NOTHING_SUCCEEDED_LOOK = MessageCode("nothing-succeeded.look")
NOTHING_SUCCEEDED_STATUS = MessageCode("nothing-succeeded.status")
NOTHING_ENDED = MessageCode("nothing-ended", under_way=Count, limit_s=float)
NOTHING_STARTED = MessageCode("nothing-started", limit_s=float)

EXIT_OK, EXIT_MISSED, EXIT_INCOMPLETE, EXIT_FAULT_REMAINS = 0, 1, 3, 4


def verdicts(run: RunRecord, records: Sequence[TrialRecord]) -> tuple[RunVerdict, ...]:
    """Each expectation over the whole run: `missed` if any trial missed it, `met` if every one met it, else
    `unknown`.
    """
    return tuple(_verdict(expression, len(run.trials), records) for expression in run.expect)


def _verdict(expression: str, planned: int, records: Sequence[TrialRecord]) -> RunVerdict:
    trials: dict[str, list[str]] = {"met": [], "missed": [], "unknown": []}
    for record in records:
        for result in record.expect:
            if result.expression == expression:
                trials[result.verdict].append(record.name)
    verdict = "missed" if trials["missed"] else "met" if len(trials["met"]) == planned else "unknown"
    counts = {name: len(names) for name, names in trials.items()}
    return RunVerdict(expression, verdict, **counts, missed_in=tuple(trials["missed"]))


def missed(record: TrialRecord) -> bool:
    """True if the trial missed an expectation, or could not be judged by one."""
    return any(result.verdict != "met" for result in record.expect)


def exit_status(state: str, planned: Sequence[PlannedTrial], records: Sequence[TrialRecord]) -> int:
    """Exit status: 4 a fault could not be undone; 130 interrupted; 3 a trial is missing or not `ok`; 1 an
    expectation was missed or could not be judged; else 0.
    """
    if any(fault.state == "remains" for record in records for fault in record.faults or ()):
        return EXIT_FAULT_REMAINS
    if state == "interrupted":
        return EXIT_INTERRUPTED
    if len(records) < len(planned) or any(record.status is not Status.OK for record in records):
        return EXIT_INCOMPLETE
    return EXIT_MISSED if any(map(missed, records)) else EXIT_OK


#: When the target has never come up and this many trials in a row failed for one and the same reason, the
#: rest would too.
AFTER = 3


def should_abort(records: Sequence[TrialRecord]) -> Message | None:
    """Why going on makes no sense.

    Another run has the server, or the target has never come up, always for the same reason.
    """
    if records and records[-1].reason_code in (SERVER_LOCKED.code, SERVER_LOCK_UNKNOWN.code):
        return _why(records[-1])
    if len(records) < AFTER:
        return None
    stuck = all(
        record.status is Status.FAILED and record.phases and record.phases[0].status == "failed"
        for record in records
    )
    if not stuck or len({record.reason for record in records}) != 1:
        return None
    return RUN_ABANDONED(count=len(records), why=_why(records[0]))


def _why(record: TrialRecord) -> Message:
    """The reason of a trial, as its record has it."""
    words = record.reason or "", record.advice or ""
    message = Message(record.reason_code or "", record.reason_args or {}, recorded=words)
    if not (phase := record.died_during):
        return message
    return Message(DIED.code, {"phase": PHASES[phase], "why": message}, recorded=words)


#: Reasons of trials whose requests failed.
_FAILED_REQUESTS = frozenset(
    code.code for code in (NOTHING_SUCCEEDED, NOTHING_SUCCEEDED_UNCODED, MOST_FAILED, MOST_FAILED_UNCODED)
)
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
    commonest = _commonest(record, protocol)
    if commonest is None:
        return NOTHING_SUCCEEDED_UNCODED(failed=failed, remedy=NOTHING_SUCCEEDED_LOOK())
    return NOTHING_SUCCEEDED(failed=failed, **commonest)


def most_requests_failed(record: TrialRecord, protocol: str) -> Message | None:
    """Reason why the results of a trial are not those of its load: most requests failed. None otherwise."""
    counts = (record.totals or Totals()).transactions
    failed, succeeded = counts.failed or 0, counts.succeeded or 0
    if not succeeded or failed <= succeeded:
        return None
    commonest = _commonest(record, protocol)
    if commonest is None:
        return MOST_FAILED_UNCODED(failed=failed, succeeded=succeeded, remedy=NOTHING_SUCCEEDED_LOOK())
    return MOST_FAILED(failed=failed, succeeded=succeeded, **commonest)


def _commonest(record: TrialRecord, protocol: str) -> Mapping[str, object] | None:
    """Arguments of a message on the commonest error of transactions; None if no error has a code."""
    codes: Counter[str] = Counter()
    messages: dict[str, str] = {}
    refused = False
    for error in record.errors:
        if error.operation == TRANSACTION:
            codes[error.code] += error.count
            refused |= error.advice_code == CREDENTIALS_REFUSED.code
            messages.setdefault(error.code, error.message or "")
    if not codes:
        return None
    code, often = codes.most_common(1)[0]
    remedy = failure_remedy(protocol, code) or _remedy_of_answer(code)
    if refused and code == "http-401":
        remedy = CREDENTIALS_REFUSED()
    why = load_failure(code, messages[code] or code, remedy)
    return {"code": code, "often": often, "why": why, "remedy": remedy}


def nothing_ended(record: TrialRecord) -> Message | None:
    """Reason why a trial of the engine has no results: no request ended in its measurement."""
    totals, window = record.totals, record.measure
    if totals is None or window is None or record.tool is not None:
        return None
    counts = totals.transactions
    if counts.succeeded or counts.failed:
        return None
    if not counts.in_flight:
        return NOTHING_STARTED(limit_s=window.duration_s)
    return NOTHING_ENDED(under_way=counts.in_flight, limit_s=window.duration_s)


def failures_wanted(expect: Sequence[Expectation], figures: Mapping[str, float | None]) -> bool:
    """True if failures are what the plan wants: an expectation of them holds, and would not if there were
    none.
    """
    return any(
        expectation.metric.rpartition(".")[2] in _OF_FAILURES
        and expectation.judge(figures).verdict == "met"
        and expectation.judge({expectation.metric: 0.0}).verdict == "missed"
        for expectation in expect
    )


def judged_values(record: TrialRecord, values: Mapping[str, float | None]) -> Mapping[str, float | None]:
    """The values by which expectations judge a trial.

    Untrusted values neither meet nor miss an expectation. A trial that failed because its requests failed has
    values of errors, which its reason states.
    """
    if record.status is Status.OK:
        return values
    if record.status is not Status.FAILED or record.reason_code not in _FAILED_REQUESTS:
        return {}
    return {name: value for name, value in values.items() if name.rpartition(".")[2] in _OF_FAILURES}


def _remedy_of_answer(code: str) -> Message:
    return (NOTHING_SUCCEEDED_STATUS if code.startswith("http-") else NOTHING_SUCCEEDED_LOOK)()

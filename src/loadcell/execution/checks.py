"""Checks of every trial. Pure functions of the load's result and of observations beside it.

A verdict is `ok`, `noticed` (something disturbed the trial; its results stand, with the remark beside them),
`broken` (the measurement cannot be trusted: the trial is `invalid`) or `unknown` (there was nothing to check
it on).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from loadcell.execution.fault_checks import CHECK_FAULT_NOT_APPLIED, CHECK_FAULT_REMAINS
from loadcell.model.json import JsonObject, document
from loadcell.model.latency import BUCKET, MOST_LATE, contradiction, late_in_tail
from loadcell.model.load_result import ClientResult, GroupResult, Interval, IntervalOperation, LoadResult
from loadcell.model.message import Message, MessageCode
from loadcell.model.trial_record import TRANSACTION, Check, Window
from loadcell.plan.model import Group, Resolved
from loadcell.plan.workload import VALUES, Condition, verifications
from loadcell.stats.littles_law import judge

CHECK_PERCENTILES = MessageCode("check.percentiles")
CHECK_COUNTING_IDENTITY = MessageCode("check.counting-identity")
CHECK_LITTLES_LAW = MessageCode("check.littles-law")
CHECK_CLIENT_LIMIT = MessageCode("check.client-limit")
CHECK_PORTS = MessageCode("check.ports")
CHECK_SERVER_COUNTERS = MessageCode("check.server-counters")
CHECK_CLIENT_PAUSED = MessageCode("check.client-paused")
CHECK_AFFINITY = MessageCode("check.affinity")
CHECK_INTERVALS_COMPLETE = MessageCode("check.intervals-complete")
CHECK_OTHER = MessageCode("check.other", name=str)

#: A client thread busier than this had no time to spare: what was measured is the client (design: the client
#: was the limit).
CLIENT_BUSY_LIMIT = 0.90
#: Of the requests of an open loop, what may be left unsent at its end before it is remarked on: with more,
#: response times say how long the trial lasted rather than how long a request takes.
BACKLOG_SHARE = 0.02
#: CPU time taken by the hypervisor for other guests, of all CPU time of the window.
STEAL_LIMIT = 0.05
#: Of the clients' time, what may have gone by without a port for a connection: what was measured beyond it is
#: this machine, as with time that another guest took.
PORTS_LIMIT = 0.05
#: Of the measurement, how long the load generator may have been stopped: beyond it even p99 is that of the
#: pause.
PAUSED_LIMIT = 0.01
#: Longest time that the run's process may do nothing before it is remarked on: samples are taken once per
#: second.
SAMPLING_GAP_LIMIT_S = 2.0
#: Counters of resources that were read outside the measurement for more than this share of it, and for more
#: than this time, would give means of another window.
WINDOW_LIMIT, WINDOW_LIMIT_S = 0.1, 0.1
#: A wall clock that moves by more than this against the monotonic one was set (facts: monitors).
CLOCK_STEP_LIMIT_S = 0.5
#: Intervals and the window are cut by the same clock; they may differ by how late a tick was.
INTERVAL_SLACK = 0.02


def counting_identity(result: LoadResult) -> Check:
    """attempted = succeeded + failed + in flight for every operation, and a latency for each success."""
    wrong = []
    for operation in result.operations:
        balance = operation.succeeded + operation.failed + operation.in_flight
        latencies = (operation.response.count if operation.response else 0) or 0
        if operation.attempted != balance or latencies != operation.succeeded:
            names = ("name", "attempted", "succeeded", "failed", "in_flight")
            wrong.append({**{name: getattr(operation, name) for name in names}, "latencies": latencies})
    if not result.operations:
        return Check("counting-identity", "unknown")
    return Check("counting-identity", "broken" if wrong else "ok", {"wrong": wrong} if wrong else {})


def littles_law(group: GroupResult, seconds: float, clients: int, pipeline: int | None = 1) -> Check:
    """The time that clients spend is the sum of all response times, failures included, and of rests.

    Closed loop: that time is `clients` times the window's `seconds`. Open loop: it is the integral of the
    number of requests due and not answered, which the engine takes from its counts, without a look at any
    response time; rests are in none of them.

    The sum is taken over what ended in the window: what was carried in has a part before it, which is taken
    away, and what was in flight at its end has a part within, which is added. Without a bound of the requests
    in flight (`pipeline` None) a closed loop has no time to compare with.
    """
    transaction, client = group.transaction, group.client or ClientResult()
    if transaction is None or seconds <= 0 or (pipeline is None and group.schedule is None):
        return Check("littles-law", "unknown")
    distributions = [
        times for times in (transaction.response, transaction.failed_response) if times and times.count
    ]
    longest_s = max((times.max_ns or 0.0 for times in distributions), default=0.0) / 1e9
    if longest_s == 0:
        return Check("littles-law", "unknown", {"transactions_ended": 0})
    resting_s, reconnecting_s = client.resting_ns / 1e9, client.reconnecting_ns / 1e9
    response_s = sum(times.total_ns for times in distributions) / 1e9
    response_s += (client.age_at_end_ns - client.age_at_start_ns) / 1e9
    expected: float = clients
    if group.schedule is None:
        response_s += resting_s
    else:  # a connection that is made again is in no request
        reconnecting_s, expected = 0.0, group.schedule.presence_ns / 1e9 / seconds
    if expected <= 0:
        return Check("littles-law", "unknown")
    law = judge(
        expected,
        response_s / seconds,
        longest_s / (seconds if group.schedule is None else seconds * expected),
        pipeline=pipeline or 1,
        absent=reconnecting_s / seconds,
    )
    detail = {
        "client_seconds": law.expected * seconds,
        "response_seconds": response_s,
        "difference": law.measured / law.expected - 1,
        "tolerance": law.tolerance,
        "reconnecting_seconds": reconnecting_s,
        **({"resting_seconds": resting_s} if resting_s else {}),
        **({"pipeline": pipeline} if pipeline and pipeline > 1 else {}),
    }
    return Check("littles-law", "ok" if law.holds else "broken", detail)


def client_limit(group: GroupResult, cores: int | None = None) -> Check:
    """No thread of the client was busy for more than 90% of the window, nor were all of them on all of its
    `cores`.

    CPU time that went into waiting for the instant at which a request is due is not in `busy`: it ends at
    once when there is work.
    """
    threads = group.client.threads if group.client else ()
    if not threads:
        return Check("client-limit", "unknown")
    busiest = max(thread.busy for thread in threads)
    share = sum(thread.busy for thread in threads) / min(cores or len(threads), len(threads))
    verdict = "broken" if max(busiest, share) > CLIENT_BUSY_LIMIT else "ok"
    detail = {"busiest": busiest, "limit": CLIENT_BUSY_LIMIT, "threads": len(threads)}
    if cores is not None and cores < len(threads):
        detail |= {"of_its_cores": share, "cores": cores}
    return Check("client-limit", verdict, detail)


def percentiles(result: LoadResult) -> Check:
    """Percentiles rise, and a mean lies between the least and the greatest: no distribution has others.

    Some tools estimate each percentile by itself: that is remarked on, and no reason to distrust the rest.
    """
    by_tool = result.tool is not None
    wrong, is_reported = [], False
    for operation in result.operations:
        for kind, times in (("response", operation.response), ("service", operation.service)):
            if times is None or not times.count:
                continue
            is_reported = True
            if contradiction(times.milliseconds().values(), bucket=BUCKET if by_tool else 0.0):
                wrong.append({"operation": operation.name, "kind": kind, "figures": document(times)})
    verdict = ("noticed" if by_tool else "broken") if wrong else "ok" if is_reported else "unknown"
    return Check("percentiles", verdict, {"wrong": wrong} if wrong else {})


def pacing(group: GroupResult) -> Check:
    """Open loop: the client's own lateness, of requests that found a free connection, is a small part of
    response times, of their mean and of their 99th percentile.
    """
    response = group.transaction.response if group.transaction else None
    if response is None or not response.total_ns:
        return Check("pacing", "unknown")
    pacing_error = group.schedule.pacing_error if group.schedule else None
    share = (pacing_error.total_ns if pacing_error else 0.0) / response.total_ns
    late = (
        late_in_tail(pacing_error.milliseconds().values(), response.milliseconds().values())
        if pacing_error
        else {}
    )
    verdict = "noticed" if share > MOST_LATE or late else "ok"
    return Check("pacing", verdict, {"share": share, "limit": MOST_LATE, **late})


def backlog(group: GroupResult) -> Check:
    """Open loop: at its end (nearly) all was sent that was due."""
    if group.schedule is None or not group.schedule.offered:
        return Check("backlog", "unknown")
    at_end = group.schedule.backlog.at_end
    share = at_end / group.schedule.offered
    detail = {
        "unsent": at_end,
        "share": share,
        "limit": BACKLOG_SHARE,
        "overdue_s": group.schedule.backlog.overdue_ns / 1e9,
    }
    return Check("backlog", "noticed" if share > BACKLOG_SHARE else "ok", detail)


@dataclass
class Covered:
    """Sum of the intervals of a window: all that is kept of them, however many there are."""

    intervals: int = 0
    seconds: float = 0.0
    succeeded: int = 0
    failed: int = 0

    def add(self, interval: Interval, operation: IntervalOperation) -> None:
        """Take in an interval's counts of all transactions; only those within the measurement count."""
        if interval.phase == "measure":
            self.intervals += 1
            self.seconds += interval.duration_ns / 1e9
            self.succeeded += operation.succeeded or 0
            self.failed += operation.failed or 0


def intervals_complete(covered: Covered, result: LoadResult) -> Check:
    """The intervals cover the window without gap or overlap, and add up to its totals."""
    transaction, seconds = result.transaction, result.seconds
    if transaction is None or not seconds:
        return Check("intervals-complete", "unknown")
    detail = {
        "intervals": covered.intervals, "covered_s": covered.seconds, "window_s": seconds,
        "succeeded": covered.succeeded, "succeeded_total": transaction.succeeded,
        "failed": covered.failed, "failed_total": transaction.failed,
    }  # fmt: skip
    complete = abs(covered.seconds - seconds) <= INTERVAL_SLACK * seconds
    same = covered.succeeded == transaction.succeeded and covered.failed == transaction.failed
    return Check("intervals-complete", "ok" if complete and same else "broken", detail)


def steal(share: float | None) -> Check:
    """The hypervisor gave this machine's CPU time to others."""
    if share is None:
        return Check("steal", "unknown")
    return Check("steal", "noticed" if share > STEAL_LIMIT else "ok", {"share": share, "limit": STEAL_LIMIT})


def clock_step(steps_s: Sequence[float]) -> Check:
    """Somebody, or NTP, set the wall clock: UTC times of this trial do not line up; durations are monotonic
    and stand.
    """
    largest = max(steps_s, key=abs, default=0.0)
    verdict = "noticed" if abs(largest) > CLOCK_STEP_LIMIT_S else "ok"
    return Check("clock-step", verdict, {"largest_s": largest, "limit_s": CLOCK_STEP_LIMIT_S})


def sampling_gap(gaps_ns: Sequence[tuple[int, int]], measure: Window | None) -> Check:
    """The run's process was never stopped for long within the measurement: its monitors would see nothing.

    The load is another process, and its values stand. `gaps_ns` are pairs of instants (CLOCK_MONOTONIC).
    """
    if measure is None or measure.started_mono_ns is None:
        return Check("sampling-gap", "unknown")
    start_ns = measure.started_mono_ns
    end_ns = start_ns + int(measure.duration_s * 1e9)
    lengths_s = [(min(until, end_ns) - max(since, start_ns)) / 1e9 for since, until in gaps_ns]
    longest_s = max(lengths_s, default=0.0)
    if longest_s <= SAMPLING_GAP_LIMIT_S:
        return Check("sampling-gap", "ok")
    detail = {"longest_s": longest_s, "total_s": sum(length for length in lengths_s if length > 0)}
    return Check("sampling-gap", "noticed", {**detail, "limit_s": SAMPLING_GAP_LIMIT_S})


def resource_window(between_ns: tuple[int, int] | None, measure: Window | None) -> Check:
    """The counters of resources were read at both ends of the measurement.

    `between_ns` are the instants (CLOCK_MONOTONIC) of the readings. They are late if this process had no time
    for them; the load is another process, and its values stand.
    """
    if between_ns is None or measure is None or measure.started_mono_ns is None:
        return Check("resource-window", "unknown")
    began_ns, ended_ns = between_ns
    start_ns = measure.started_mono_ns
    late_s = (abs(began_ns - start_ns) + abs(ended_ns - start_ns - measure.duration_s * 1e9)) / 1e9
    detail = {"window_s": (ended_ns - began_ns) / 1e9, "covered_s": measure.duration_s, "overdue_s": late_s}
    is_late = late_s > max(WINDOW_LIMIT * measure.duration_s, WINDOW_LIMIT_S)
    return Check("resource-window", "noticed" if is_late else "ok", detail)


def neighbour(seen: Sequence[int]) -> Check:
    """Another loadcell ran on this machine meanwhile."""
    return Check("neighbour", "noticed" if seen else "ok", {"pids": sorted(set(seen))} if seen else {})


def server_lock(intruder: str) -> Check:
    """Another run had, or could have had, the lock of the server that this run had taken."""
    return Check("server-lock", "noticed", {"run": intruder})


def conditions(name: str, data_conditions: Sequence[Condition]) -> Check:
    """Conditions of the data after the load; number of violations of each, and the first of them."""
    if not data_conditions:
        return Check(name, "unknown")
    detail: JsonObject = {condition.says: condition.wrong for condition in data_conditions}
    wrong = [condition for condition in data_conditions if condition.wrong]
    if wrong:
        detail["first"] = wrong[0].example
    verdict = "broken" if any(condition.invalidates for condition in wrong) else "noticed"
    return Check(name, verdict if wrong else "ok", detail)


#: The codes of errors by which a verified read says what is wrong with a value.
WRONG_VALUES = ("lost", "stale", "corrupt")


def values(result: LoadResult) -> Check:
    """Values read are equal to the values written. For loads that verify the values they read."""
    counts = dict.fromkeys(WRONG_VALUES, 0)
    for error in result.errors:
        if error.code in counts and error.operation == TRANSACTION:
            counts[error.code] += error.count
    return Check(VALUES.name, "broken" if any(counts.values()) else "ok", counts)


#: What the engine remarks on, and the check that says so.
_REMARKS = {"indirect": "direct-io", "streams": "streams"}
_PAUSED = "paused"


def remarks(result: LoadResult) -> list[Check]:
    """Remarks of the load on the machine; empty if there are none."""
    remark_checks = [
        Check(_REMARKS[name], "noticed", detail) for name, detail in result.remarks.items() if name != _PAUSED
    ]
    return [*remark_checks, *(check for check in (pauses(result), ports(result)) if check is not None)]


def pauses(result: LoadResult) -> Check | None:
    """The load generator was stopped for a while; None where it was not.

    Nothing was sent meanwhile, and the requests in flight waited for their client.
    """
    detail = result.remarks.get(_PAUSED)
    if detail is None or result.seconds <= 0:
        return None
    share = detail["paused_s"] / result.seconds
    verdict = "broken" if share > PAUSED_LIMIT else "noticed"
    return Check("client-paused", verdict, {**detail, "share": share, "limit": PAUSED_LIMIT})


def in_memory(target: JsonObject | None) -> list[Check]:
    """Files that were to be on a disk, and were in memory.

    For loads that make files of their own; nothing where they were not.
    """
    data = (target or {}).get("data") or {}
    return [Check("in-memory", "noticed", {"held_by": data["memory"]})] if data.get("memory") else []


def ports(result: LoadResult) -> Check | None:
    """Connections could not be begun because this machine had no port left for them; None where that was not
    so.

    Where clients waited for one for long, the results show this shortage, and not the target.
    """
    counts = {True: 0, False: 0}
    for error in result.errors:
        counts[error.code == "ports"] += error.count
    if not counts[True]:
        return None
    client = result.client or ClientResult()
    spent_s = sum(thread.connections or 0 for thread in client.threads) * result.seconds
    share = client.reconnecting_ns / 1e9 / spent_s if spent_s else 0.0
    detail = {"connections_refused": counts[True], "share": share, "limit": PORTS_LIMIT}
    limited = share > PORTS_LIMIT and counts[True] > counts[False]
    return Check("ports", "broken" if limited else "noticed", detail)


#: Checks that judge times, which say nothing about a system that a profiler makes many times slower.
_OF_TIMES = frozenset(
    {"littles-law", "client-limit", "client-paused", "client-waiting", "pacing", "backlog", "sampling-gap"}
)


def slowed(trial_checks: Sequence[Check], profiler: str | None) -> list[Check]:
    """The checks of a trial whose system ran under a profiler: those of times do not apply, and a remark
    labels its times; without a profiler the checks as they are.
    """
    if profiler is None:
        return list(trial_checks)
    return [
        *(replace(check, verdict="unknown") if _is_of_times(check) else check for check in trial_checks),
        Check("slowed", "noticed", {"under": profiler}),
    ]


def _is_of_times(check: Check) -> bool:
    if check.name == "intervals-complete":  # their sums are counts
        totals = [check.detail.get(key) for key in ("succeeded", "failed")]
        return totals == [check.detail.get(f"{key}_total") for key in ("succeeded", "failed")]
    return check.name in _OF_TIMES


#: Check -> the reason it gives when it is broken; verifications declare theirs.
BROKEN = {
    "percentiles": CHECK_PERCENTILES,
    "counting-identity": CHECK_COUNTING_IDENTITY,
    "littles-law": CHECK_LITTLES_LAW,
    "client-limit": CHECK_CLIENT_LIMIT,
    "ports": CHECK_PORTS,
    "client-paused": CHECK_CLIENT_PAUSED,
    "server-counters": CHECK_SERVER_COUNTERS,
    "affinity": CHECK_AFFINITY,
    "intervals-complete": CHECK_INTERVALS_COMPLETE,
    "fault-not-applied": CHECK_FAULT_NOT_APPLIED,
    "fault-remains": CHECK_FAULT_REMAINS,
}


def broken(check: Check) -> Message:
    """Why a trial with this broken check is not to be trusted."""
    declared = verifications().get(check.name)
    code = declared.reason if declared else BROKEN.get(check.name)
    return CHECK_OTHER(name=check.name) if code is None else code()


def invalidity(checks: Iterable[Check], reasons: Mapping[str, Message] | None = None) -> Message | None:
    """The reason that the first broken check gives; None when the measurement can be trusted.

    `reasons` are more precise ones by the name of a check.
    """
    name_to_reason = reasons or {}
    return next(
        (name_to_reason.get(check.name) or broken(check) for check in checks if check.verdict == "broken"),
        None,
    )


def of_load(result: LoadResult, settings: Resolved, cores: int | None = None) -> list[Check]:
    """Checks of every load of the engine. A law about one kind of clients is checked for each group.

    `cores` is how many the client may use, by all of its groups' threads together.
    """
    client = client_limit(result, cores)
    pairs = [(group, result.group(group.name)) for group in settings.client_groups]
    law = [
        (group, littles_law(account, result.seconds, group.load.clients or 0, group.workload.most_in_flight))
        for group, account in pairs
    ]
    busy = [(group, client_limit(account)) for group, account in pairs]
    opened = [
        [(group, check(account)) for group, account in pairs if account.schedule is not None]
        for check in (pacing, backlog)
    ]
    if settings.groups and _BADNESS[(busiest := _worst(busy)).verdict] >= _BADNESS[client.verdict]:
        client = busiest
    return [counting_identity(result), _worst(law), client, *(_worst(checks) for checks in opened if checks)]


def of_tool(result: LoadResult) -> list[Check]:
    """Sanity checks of a tool's own values: they can show impossible values, and prove no others right."""
    tool = result.tool
    assert tool is not None
    output = Check("tool-output", "ok")
    if tool.unread:
        lines = {"lines": tool.unread, "first": next(iter(tool.unread_examples or ()), "")}
        output = Check("tool-output", "noticed", lines)
    several = []
    if (
        tool.groups is not None
    ):  # they may have followed each other: the first one's throughput is the trial's
        several = [Check("tool-groups", "noticed", {"groups": tool.groups, "counted": list(tool.counted)})]
    if tool.disagreements is not None:
        verdict = "noticed" if tool.disagreements else "ok"
        several.append(Check("printed-totals", verdict, tool.disagreements))
    return [output, percentiles(result), *several]


#: From good to bad; of all groups' verdicts the worst is the trial's.
_BADNESS = {"unknown": 0, "ok": 1, "noticed": 2, "broken": 3}


def _worst(checks: Sequence[tuple[Group, Check]]) -> Check:
    """The worst group's verdict with its values, and the verdicts of the others where there are several."""
    group, worst = max(checks, key=lambda pair: _BADNESS[pair[1].verdict])
    if not group.name:
        return worst
    others = {other.name: check.verdict for other, check in checks}
    return replace(worst, detail={"group": group.name, **worst.detail, "groups": others})

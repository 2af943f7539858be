"""Checks of every trial. Pure functions of the record.

A verdict is `ok`, `noticed` (something disturbed the trial; its results stand, with the remark beside them),
`broken` (the measurement cannot be trusted: the trial is `invalid`) or `unknown` (there was nothing to check
it on).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from loadcell.execution.messages import (
    CHECK_AFFINITY,
    CHECK_CLIENT_LIMIT,
    CHECK_COUNTING_IDENTITY,
    CHECK_INTERVALS_COMPLETE,
    CHECK_LITTLES_LAW,
    CHECK_OTHER,
    CHECK_PERCENTILES,
    CHECK_PGBENCH_BALANCES,
    CHECK_PORTS,
    CHECK_SERVER_COUNTERS,
    CHECK_TPCC_CONSISTENCY,
    CHECK_VALUES,
)
from loadcell.model.message import Message
from loadcell.model.trial_record import TRANSACTION, Check
from loadcell.plan.workload import Condition

#: A client thread busier than this had no time to spare: what was measured is the client (design: the client
#: was the limit).
CLIENT_BUSY_LIMIT = 0.90
#: Of the mean response time of an open loop, what may be the client's own lateness before it is remarked on.
PACING_SHARE = 0.10
#: Of the requests of an open loop, what may be left unsent at its end before it is remarked on: with more,
#: response times say how long the trial lasted rather than how long a request takes.
BACKLOG_SHARE = 0.02
#: CPU time taken by the hypervisor for other guests, of all CPU time of the window.
STEAL_LIMIT = 0.05
#: Of the clients' time, what may have gone by without a port for a connection: what was measured beyond it is
#: this machine, as with time that another guest took.
PORTS_LIMIT = 0.05
#: A wall clock that moves by more than this against the monotonic one was set (facts: monitors).
CLOCK_STEP_LIMIT_S = 0.5
#: Little's law: what is allowed besides the edges of the window, for clocks and rounding.
LITTLE_SLACK = 0.01
#: Intervals and the window are cut by the same clock; they may differ by how late a tick was.
INTERVAL_SLACK = 0.02


def counting_identity(result: Mapping[str, Any]) -> Check:
    """attempted = succeeded + failed + in flight for every operation, and a latency for each success."""
    wrong = []
    for operation in result.get("operations", []):
        balance = operation["succeeded"] + operation["failed"] + operation["in_flight"]
        counted = (operation.get("response") or {}).get("count", 0)
        if operation["attempted"] != balance or counted != operation["succeeded"]:
            wrong.append(
                {
                    **{
                        key: operation[key]
                        for key in ("name", "attempted", "succeeded", "failed", "in_flight")
                    },
                    "latencies": counted,
                }
            )
    if not result.get("operations"):
        return Check("counting-identity", "unknown", {})
    return Check("counting-identity", "broken" if wrong else "ok", {"wrong": wrong} if wrong else {})


def littles_law(result: Mapping[str, Any], clients: int, pipeline: int = 1) -> Check:
    """The time that clients spend is the sum of all response times, failures included, and of rests (Little
    1961).

    Closed loop: that time is `clients * T`; of clients with up to `pipeline` requests at once (a pipeline,
    streams) it is between that, as the last answer to a batch is its end, and so many times that. Open loop:
    it is the integral of how many requests were due and not answered, which the engine takes from its counts,
    without a look at any response time; rests are in none of them.

    The sum is taken over what ended in the window: what was carried in has a part before it, which is taken
    away, and what was in flight at its end has a part within, which is added. A client that was between two
    transactions at either end is in none: at most one response a client and 1% is the tolerance. A client
    without a connection at the window's end is in no response time, so the sum may lack the time spent
    reconnecting as well.
    """
    transaction = next(
        (operation for operation in result.get("operations", []) if operation["name"] == TRANSACTION), None
    )
    seconds = (result.get("window") or {}).get("duration_ns", 0) / 1e9
    if transaction is None or seconds <= 0:
        return Check("littles-law", "unknown", {})
    spent = longest = 0.0
    for figures in (transaction.get("response"), transaction.get("failed_response")):
        if figures and figures.get("count"):
            spent += figures["count"] * figures["mean_ns"] / 1e9
            longest = max(longest, figures["max_ns"] / 1e9)
    if longest == 0:
        return Check("littles-law", "unknown", {"transactions_ended": 0})
    schedule, client = result.get("schedule"), result.get("client") or {}
    spent += ((client.get("age_at_end_ns") or 0) - (client.get("age_at_start_ns") or 0)) / 1e9
    reconnecting, resting = ((client.get(f"{state}_ns") or 0) / 1e9 for state in ("reconnecting", "resting"))
    if schedule is None:
        spent += resting
        available, edges = clients * seconds, clients * longest
    else:  # a connection that is made again is in no request
        available, edges, reconnecting = schedule["presence_ns"] / 1e9, longest, 0.0
    if available <= 0:
        return Check("littles-law", "unknown", {})
    tolerance = LITTLE_SLACK * available + edges
    low, high = available - tolerance - reconnecting, (available + tolerance) * pipeline
    detail = {
        "client_seconds": available,
        "response_seconds": spent,
        "difference": spent / available - 1,
        "tolerance": tolerance / available,
        "reconnecting_seconds": reconnecting,
        **({"resting_seconds": resting} if resting else {}),
        **({"pipeline": pipeline} if pipeline > 1 else {}),
    }
    return Check("littles-law", "ok" if low <= spent <= high else "broken", detail)


def client_limit(result: Mapping[str, Any], cores: int | None = None) -> Check:
    """No thread of the client was busy for more than 90% of the window, nor were all of them on all of its
    `cores`.

    CPU time that went into waiting for the instant at which a request is due is not in `busy`: it ends at
    once when there is work.
    """
    threads = (result.get("client") or {}).get("threads") or []
    if not threads:
        return Check("client-limit", "unknown", {})
    busiest = max(thread["busy"] for thread in threads)
    share = sum(thread["busy"] for thread in threads) / min(cores or len(threads), len(threads))
    verdict = "broken" if max(busiest, share) > CLIENT_BUSY_LIMIT else "ok"
    detail = {"busiest": busiest, "limit": CLIENT_BUSY_LIMIT, "threads": len(threads)}
    if cores is not None and cores < len(threads):
        detail |= {"of_its_cores": share, "cores": cores}
    return Check("client-limit", verdict, detail)


#: Values of one distribution in ascending order.
_RISING = ("min_ns", "p50_ns", "p90_ns", "p95_ns", "p99_ns", "p999_ns", "p9999_ns", "max_ns")


def percentiles(result: Mapping[str, Any]) -> Check:
    """Percentiles rise, and a mean lies between the least and the greatest: no distribution has others."""
    wrong, known_operations = [], 0
    for operation in result.get("operations", []):
        for kind in ("response", "service"):
            figures = operation.get(kind)
            if not figures or not figures.get("count"):
                continue
            known_operations += 1
            rising = [figures[name] for name in _RISING if figures.get(name) is not None]
            mean = figures.get("mean_ns")
            falls = any(later < earlier for earlier, later in pairwise(rising))
            # histograms keep three digits: a mean of values that are all alike may lie beside them by as much
            outside = (
                mean is not None and not 0.99 * rising[0] <= mean <= 1.01 * rising[-1] if rising else False
            )
            if falls or outside:
                wrong.append({"operation": operation["name"], "kind": kind, "figures": dict(figures)})
    verdict = "broken" if wrong else "ok" if known_operations else "unknown"
    return Check("percentiles", verdict, {"wrong": wrong} if wrong else {})


def pacing(result: Mapping[str, Any]) -> Check:
    """Open loop: the client's own lateness, of requests that found a free connection, is a small part of
    response times.
    """
    found = next(
        (operation for operation in result.get("operations", []) if operation["name"] == TRANSACTION), None
    )
    transaction: Mapping[str, Any] = found or {}
    spent, late = (
        figures["count"] * figures["mean_ns"] if figures and figures.get("count") else 0.0
        for figures in (transaction.get("response"), (result.get("schedule") or {}).get("pacing_error"))
    )
    if not spent:
        return Check("pacing", "unknown", {})
    verdict = "noticed" if late / spent > PACING_SHARE else "ok"
    return Check("pacing", verdict, {"share": late / spent, "limit": PACING_SHARE})


def backlog(result: Mapping[str, Any]) -> Check:
    """Open loop: at its end (nearly) all was sent that was due."""
    schedule = result.get("schedule") or {}
    if not schedule.get("offered"):
        return Check("backlog", "unknown", {})
    at_end = schedule["backlog"]["at_end"]
    share = at_end / schedule["offered"]
    detail = {
        "unsent": at_end,
        "share": share,
        "limit": BACKLOG_SHARE,
        "overdue_s": schedule["backlog"]["overdue_ns"] / 1e9,
    }
    return Check("backlog", "noticed" if share > BACKLOG_SHARE else "ok", detail)


def server_counters(
    before: Mapping[str, int],
    after: Mapping[str, int],
    lifetime: Mapping[str, Any] | None,
    *,
    alone: bool,
    groups: Sequence[Mapping[str, Any]] = (),
) -> Check:
    """The server counted what the client did, over the whole load, warm-up and drain included.

    Commits are at least the client's transactions, save those that rolled themselves back, and changed rows
    at least those it was told of. Where loadcell is the server's only user, commits are also not more than
    its transactions (without BEGIN: its statements, as each commits by itself) with 2% and 200 for the
    server's background work, connecting, and these very questions. A server whose counters fell was
    restarted: nothing can be said. `groups` are the lifetimes of client groups, where there are several: each
    has transactions of its own kind.
    """
    if (
        lifetime is None
        or "xact_commit" not in before
        or any(after.get(name, 0) < before[name] for name in before)
    ):
        return Check("server-counters", "unknown", {})

    def grown(*names: str) -> int:
        return sum(after.get(name, 0) - before.get(name, 0) for name in names)

    # Some servers count commits of transactions only: where each statement commits by itself, there they are
    # statements.
    alone_commits = "statements" in before and not (lifetime.get("operations") or {}).get("begin")
    commits = grown("statements" if alone_commits else "xact_commit")
    changed = grown("tup_inserted", "tup_updated", "tup_deleted")
    transactions, rows = int(lifetime["transactions"]), int(lifetime.get("rows_changed", 0))
    committed = transactions - int(lifetime.get("rolled_back", 0))
    most = sum(map(_most_commits, groups or [lifetime]))
    detail = {
        "commits": {"server": commits, "client": committed},
        "rows_changed": {"server": changed, "client": rows},
    }
    wrong = commits < committed or changed < rows or (alone and commits > most * 1.02 + 200)
    return Check("server-counters", "broken" if wrong else "ok", detail)


def server_calls(
    before: Mapping[str, int],
    after: Mapping[str, int],
    calls: Mapping[str, int],
    failed: int,
    *,
    alone: bool,
) -> Check:
    """The server counted the same commands as the client, over the whole load, warm-up and drain included.

    `calls` are those that the client knows to have succeeded; of what failed (`failed` operations, of two
    commands at the most) the server may have carried out any part. Where loadcell is its only user, that is
    all it did; elsewhere others may have made it do more. The server counts each as `calls_<name>`. One whose
    counters fell was restarted.
    """
    if any(after.get(name, 0) < count for name, count in before.items()):
        return Check("server-counters", "unknown", {})
    counted = {name: after.get(f"calls_{name}", 0) - before.get(f"calls_{name}", 0) for name in sorted(calls)}
    detail = {name: {"server": counted[name], "client": calls[name]} for name in counted}
    missing = any(counted[name] < calls[name] for name in counted)
    more = sum(counted.values()) - sum(calls.values())
    return Check("server-counters", "broken" if missing or (alone and more > 2 * failed) else "ok", detail)


def _most_commits(lifetime: Mapping[str, Any]) -> float:
    """Number of commits the load can have caused: one a transaction, or one a statement where there is no
    BEGIN.
    """
    transactions, failed = int(lifetime["transactions"]), int(lifetime.get("failed", 0))
    queries = int(lifetime.get("queries", 0))
    if (lifetime.get("operations") or {}).get("begin") or not transactions:
        return transactions + failed + queries * (not transactions)
    return max(1.0, queries / transactions) * (transactions + failed)


@dataclass
class Covered:
    """Sum of the intervals of a window: all that is kept of them, however many there are."""

    intervals: int = 0
    seconds: float = 0.0
    succeeded: int = 0
    failed: int = 0

    def add(self, row: Mapping[str, Any]) -> None:
        """Take in a row of intervals.csv; only those of all transactions within the measurement count."""
        if row["phase"] == "measure" and row["operation"] == TRANSACTION:
            self.intervals += 1
            self.seconds += row["duration_s"]
            self.succeeded += row["succeeded"] or 0
            self.failed += row["failed"] or 0


def intervals_complete(covered: Covered, result: Mapping[str, Any]) -> Check:
    """The intervals cover the window without gap or overlap, and add up to its totals."""
    transaction = next(
        (operation for operation in result.get("operations", []) if operation["name"] == TRANSACTION), None
    )
    window = result.get("window") or {}
    if transaction is None or not window.get("duration_ns"):
        return Check("intervals-complete", "unknown", {})
    seconds = window["duration_ns"] / 1e9
    detail = {
        "intervals": covered.intervals, "covered_s": covered.seconds, "window_s": seconds,
        "succeeded": covered.succeeded, "succeeded_total": transaction["succeeded"],
        "failed": covered.failed, "failed_total": transaction["failed"],
    }  # fmt: skip
    complete = abs(covered.seconds - seconds) <= INTERVAL_SLACK * seconds
    same = covered.succeeded == transaction["succeeded"] and covered.failed == transaction["failed"]
    return Check("intervals-complete", "ok" if complete and same else "broken", detail)


def steal(share: float | None) -> Check:
    """The hypervisor gave this machine's CPU time to others."""
    if share is None:
        return Check("steal", "unknown", {})
    return Check("steal", "noticed" if share > STEAL_LIMIT else "ok", {"share": share, "limit": STEAL_LIMIT})


def clock_step(steps_s: Sequence[float]) -> Check:
    """Somebody, or NTP, set the wall clock: UTC times of this trial do not line up; durations are monotonic
    and stand.
    """
    largest = max(steps_s, key=abs, default=0.0)
    verdict = "noticed" if abs(largest) > CLOCK_STEP_LIMIT_S else "ok"
    return Check("clock-step", verdict, {"largest_s": largest, "limit_s": CLOCK_STEP_LIMIT_S})


def neighbour(seen: Sequence[int]) -> Check:
    """Another loadcell ran on this machine meanwhile."""
    return Check("neighbour", "noticed" if seen else "ok", {"pids": sorted(set(seen))} if seen else {})


def conditions(name: str, conditions_found: Sequence[Condition]) -> Check:
    """Conditions of the data after the load; number of violations of each, and the first of them."""
    if not conditions_found:
        return Check(name, "unknown", {})
    detail: dict[str, Any] = {condition.says: condition.wrong for condition in conditions_found}
    wrong = [condition for condition in conditions_found if condition.wrong]
    if wrong:
        detail["first"] = wrong[0].example
    return Check(name, "broken" if wrong else "ok", detail)


#: The codes of errors by which a verified read says what is wrong with a value.
WRONG_VALUES = ("lost", "stale", "corrupt")


def values(result: Mapping[str, Any]) -> Check:
    """Values read are equal to the values written. For loads that verify the values they read."""
    counts = dict.fromkeys(WRONG_VALUES, 0)
    for error in result.get("errors", []):
        if error["code"] in counts and error["operation"] == TRANSACTION:
            counts[error["code"]] += error["count"]
    return Check("values", "broken" if any(counts.values()) else "ok", counts)


#: What the engine remarks on, and the check that says so.
_REMARKS = {"indirect": "direct-io", "streams": "streams"}


def remarks(result: Mapping[str, Any]) -> list[Check]:
    """Remarks of the load on the machine; empty if there are none."""
    remarks_of_result = result.get("remarks") or {}
    remark_checks = [
        Check(_REMARKS[name], "noticed", dict(detail)) for name, detail in remarks_of_result.items()
    ]
    lack = ports(result)
    return remark_checks if lack is None else [*remark_checks, lack]


def in_memory(target: Mapping[str, Any] | None) -> list[Check]:
    """Files that were to be on a disk, and were in memory.

    For loads that make files of their own; nothing where they were not.
    """
    data = (target or {}).get("data") or {}
    return [Check("in-memory", "noticed", {"held_by": data["memory"]})] if data.get("memory") else []


def ports(result: Mapping[str, Any]) -> Check | None:
    """Connections could not be begun because this machine had no port left for them; None where that was not
    so.

    Where clients waited for one for long, the results show this shortage, and not the target.
    """
    counts = {True: 0, False: 0}
    for error in result.get("errors", []):
        counts[error["code"] == "ports"] += error["count"]
    if not counts[True]:
        return None
    client = result.get("client") or {}
    connections = sum(thread.get("connections") or 0 for thread in client.get("threads") or ())
    spent_ns = connections * ((result.get("window") or {}).get("duration_ns") or 0)
    share = (client.get("reconnecting_ns") or 0) / spent_ns if spent_ns else 0.0
    detail = {"connections_refused": counts[True], "share": share, "limit": PORTS_LIMIT}
    limited = share > PORTS_LIMIT and counts[True] > counts[False]
    return Check("ports", "broken" if limited else "noticed", detail)


#: Check -> the reason it gives when it is broken.
BROKEN = {
    "values": CHECK_VALUES,
    "percentiles": CHECK_PERCENTILES,
    "counting-identity": CHECK_COUNTING_IDENTITY,
    "littles-law": CHECK_LITTLES_LAW,
    "client-limit": CHECK_CLIENT_LIMIT,
    "ports": CHECK_PORTS,
    "server-counters": CHECK_SERVER_COUNTERS,
    "affinity": CHECK_AFFINITY,
    "pgbench-balances": CHECK_PGBENCH_BALANCES,
    "tpcc-consistency": CHECK_TPCC_CONSISTENCY,
    "intervals-complete": CHECK_INTERVALS_COMPLETE,
}


def broken(check: Check) -> Message:
    """Why a trial with this broken check is not to be trusted."""
    code = BROKEN.get(check.name)
    return CHECK_OTHER(name=check.name) if code is None else code()


def invalidity(checks: Iterable[Check]) -> Message | None:
    """The reason that the first broken check gives; None when the measurement can be trusted."""
    return next((broken(check) for check in checks if check.verdict == "broken"), None)

"""Conversion of a load's result and intervals to the record, the rows and the metrics of a trial.

The server's counters are compared here with what the client did.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from loadcell.analysis.error_codes import meaning
from loadcell.analysis.faults.completions import Completions
from loadcell.analysis.faults.judge import judge
from loadcell.analysis.faults.management import Answer
from loadcell.model import fault_metrics
from loadcell.model.engine_messages import error_remedy
from loadcell.model.fault_judgement import FaultJudgement
from loadcell.model.latency import Latency
from loadcell.model.load_result import (
    ClientResult,
    ClientShares,
    GroupResult,
    GroupState,
    Interval,
    LoadResult,
    OperationResult,
    ScheduleResult,
    latency,
)
from loadcell.model.metrics import ELAPSED, MetricFacts, facts
from loadcell.model.numbers import utc_text
from loadcell.model.panels import Row
from loadcell.model.resource_metrics import metric_values
from loadcell.model.trial_record import (
    TRANSACTION,
    Backlog,
    Check,
    ClientUsage,
    Counts,
    ErrorRecord,
    Fairness,
    GroupRecord,
    Lifetime,
    OperationStats,
    Schedule,
    ThreadUsage,
    Totals,
    TrialRecord,
    Window,
)
from loadcell.profilers.launcher import ProfilerAccount
from loadcell.store.layout import HEAP, HEAP_COLUMNS
from loadcell.store.write import TrialWriter
from loadcell.workloads.composite import CompositeWorkload


def interval_rows(interval: Interval) -> list[Row]:
    """Rows of intervals.csv from one interval; `t_s` is filled in when the measurement's start is known."""
    seconds = interval.duration_ns / 1e9
    rows = []
    states: dict[str, Interval | GroupState] = {
        TRANSACTION: interval,
        **{group.name: group for group in interval.groups},
    }
    for operation in interval.operations:
        state, rate = states.get(operation.name), operation.throughput_per_s
        if rate is None and seconds > 0:
            rate = (operation.succeeded or 0) / seconds
        row: Row = {
            "mono_ns": interval.start_mono_ns,
            "utc": utc_text(interval.start_utc_ns),
            "phase": interval.phase,
            "operation": operation.name,
            "kind": operation.kind,
            "duration_s": seconds,
            "in_flight": state.in_flight if state else None,
            "backlog": state.backlog if state else None,
            "throughput_per_s": rate,
            "started": operation.started,
            "succeeded": operation.succeeded,
            "failed": operation.failed,
            "retried": operation.retried,
        }
        for kind, times in (("response", operation.response), ("service", operation.service)):
            if (times_ms := latency(times)) is not None:
                row |= {f"{kind}_{name}": value for name, value in times_ms.values().items()}
        rows.append(row)
    return rows


def with_result(
    record: TrialRecord,
    result: LoadResult,
    composite: CompositeWorkload,
    monitored: Mapping[str, float],
    protocol: str,
    monitored_facts: Mapping[str, MetricFacts],
) -> TrialRecord:
    """The record of a trial with the result of its load, and metrics of workload and monitors in its totals.

    `protocol` is what was spoken with the target; `monitored_facts` are of metrics that the plan names.
    """
    seconds, window = result.seconds, result.window
    totals, groups = None, None
    if result.transaction is not None and seconds > 0:
        totals = _totals(result.transaction, result, seconds)
        figures = {**composite.figures(result), **result.figures, **monitored}
        if all(group.load.expected_s is None for group, _ in composite.members):
            figures[ELAPSED] = seconds * 1e3
        totals = replace(totals, figures=figures, metrics={**facts(figures), **monitored_facts})
        if result.groups:
            by_group = composite.figures_of_groups(result)
            groups = {
                group.name: GroupRecord(
                    workload=group.workload_name,
                    share=group.share,
                    clients=group.load.clients,
                    queries=result.group(group.name).queries,
                    queries_per_s=_queries_per_s(result.group(group.name), seconds),
                    figures=by_group[group.name],
                    schedule=_schedule(result.group(group.name).schedule, seconds),
                    client=_client(result.group(group.name).client),
                )
                for group, _ in composite.members
            }
    return replace(
        record,
        unit=record.unit if result.unit is None else result.unit,
        tool=None if result.tool is None else result.tool.record(),
        value=result.value,
        measure=Window(seconds, window.start_mono_ns, utc_text(window.start_utc_ns))
        if window is not None and seconds > 0
        else None,
        totals=totals,
        operations={
            operation.name: OperationStats(
                kind=operation.kind,
                **_counts(operation),
                throughput_per_s=_per_s(operation, result, seconds),
                response=latency(operation.response),
                service=latency(operation.service),
                failed_response=latency(operation.failed_response),
            )
            for operation in result.operations
            if operation.name != TRANSACTION
        },
        errors=tuple(
            explained(error, protocol, authorized=composite.has_credentials) for error in result.errors
        ),
        schedule=_schedule(result.schedule, seconds),
        groups=groups,
        lifetime=result.lifetime,
        client=_client(result.client),
    )


def explained(error: ErrorRecord, protocol: str, *, authorized: bool = False) -> ErrorRecord:
    """An error with what its code means, and what to do about it where that is known: in English, and the
    code of the sentence. `authorized`: the requests carry credentials.
    """
    remedy = error_remedy(protocol, error.code, authorized=authorized)
    if remedy is not None:
        error = replace(error, advice=remedy.text, advice_code=remedy.code)
    return replace(error, meaning=meaning(error.code))


def _counts(operation: OperationResult) -> dict[str, int | None]:
    names = ("attempted", "carried_in", "succeeded", "failed", "in_flight", "retried")
    return {name: getattr(operation, name) for name in names}


def _per_s(operation: OperationResult, result: LoadResult, seconds: float) -> float | None:
    """Successes per second; a tool reports its rate itself."""
    if result.tool is not None:
        return operation.throughput_per_s
    return operation.succeeded / seconds if seconds > 0 else None


def _queries_per_s(group: GroupResult, seconds: float) -> float | None:
    """Statements per second; a tool may report the rate alone."""
    queries = group.queries or {}
    return queries["total"] / seconds if "total" in queries else queries.get("per_s")


def _totals(transaction: OperationResult, result: LoadResult, seconds: float) -> Totals:
    received = result.received
    ended = transaction.succeeded + transaction.failed
    return Totals(
        transactions=Counts(**_counts(transaction)),
        queries=result.queries or {},
        throughput_per_s=_per_s(transaction, result, seconds),
        queries_per_s=_queries_per_s(result, seconds),
        received_bytes=received.bytes if received else None,
        body_bytes=received.body_bytes if received else None,
        statuses=received.statuses if received else None,
        received_bytes_per_s=received.bytes / seconds if received else None,
        errors=transaction.failed,
        error_rate=transaction.failed / ended if ended else None,
        response=latency(transaction.response),
        service=latency(transaction.service),
        failed_response=latency(transaction.failed_response),
    )


def _schedule(schedule: ScheduleResult | None, seconds: float) -> Schedule | None:
    if schedule is None:
        return None
    backlog = schedule.backlog
    return Schedule(
        arrivals=schedule.arrivals,
        offered=schedule.offered,
        offered_per_s=schedule.offered_per_s,
        achieved_per_s=schedule.achieved_per_s,
        pacing_error=latency(schedule.pacing_error),
        backlog_wait=latency(schedule.backlog_wait),
        backlog=Backlog(backlog.peak, backlog.at_end, backlog.overdue_ns / 1e9),
        requests_mean=schedule.presence_ns / 1e9 / seconds if seconds > 0 else None,
    )


def _client(client: ClientResult | None) -> ClientUsage | None:
    if client is None:
        return None
    threads = tuple(
        ThreadUsage(
            cpu_s=thread.cpu_ns / 1e9,
            wall_s=thread.wall_ns / 1e9,
            busy=thread.busy,
            spun_s=thread.spun_ns / 1e9,
            connections=thread.connections,
            requests=thread.requests,
        )
        for thread in client.threads
    )
    return ClientUsage(
        threads=threads,
        cpu_s=client.cpu_ns / 1e9,
        busy_max=max((thread.busy for thread in threads), default=None),
        max_rss_bytes=client.max_rss_bytes,
        lateness=latency(client.lateness),
        connects=client.connects,
        reconnects=client.reconnects,
        reconnecting_s=client.reconnecting_ns / 1e9,
        resting_s=client.resting_ns / 1e9,
        age_at_start_s=client.age_at_start_ns / 1e9,
        age_at_end_s=client.age_at_end_ns / 1e9,
        fairness=fairness(client.shares),
    )


def fairness(shares: ClientShares | None) -> Fairness | None:
    """Fairness between clients; None of a single client, and where nothing succeeded."""
    if shares is None or shares.clients < 2 or not shares.squares:
        return None
    index = shares.sum**2 / (shares.clients * shares.squares)
    return Fairness(shares.clients, shares.least, shares.most, index)


def with_judgements(
    record: TrialRecord, result: LoadResult, clients: int, answers: Sequence[Answer] = ()
) -> TrialRecord:
    """The record of a trial with a judgement of each of its faults, and their metrics in its totals; the same
    by the load of each client group, where there are several.

    `answers` are those of the management plane.
    """
    measured = bool(result.timelines) and result.seconds > 0
    completions = Completions.of(result.timelines, result.seconds) if measured else None
    faults = record.faults or ()
    judgements = judge(faults, completions, clients, answers)
    of_groups = _judged_by_group(record, result) if measured else {}
    faults = tuple(
        replace(
            fault,
            judgement=judgement,
            groups={name: judged[number] for name, judged in of_groups.items()} or None,
        )
        for number, (fault, judgement) in enumerate(zip(faults, judgements, strict=True))
    )
    if of_groups:
        record = replace(record, groups=_with_fault_metrics(record.groups or {}, of_groups))
    if record.totals is None:
        return replace(record, faults=faults)
    of_faults = {key: value for key, value in fault_metrics.of_trial(judgements).items() if value is not None}
    totals = replace(
        record.totals,
        figures={**record.totals.figures, **of_faults},
        metrics={**(record.totals.metrics or {}), **facts(of_faults)},
    )
    return replace(record, faults=faults, totals=totals)


def _judged_by_group(record: TrialRecord, result: LoadResult) -> dict[str, tuple[FaultJudgement, ...]]:
    """Judgements of all faults by client group; none of a load with one group."""
    groups = record.groups or {}
    timelines = [timeline for timeline in result.timelines if timeline.group in groups]
    if len(timelines) < 2:
        return {}
    return {
        timeline.group: judge(
            record.faults or (),
            Completions.of([timeline], result.seconds),
            groups[timeline.group].clients or 1,
        )
        for timeline in timelines
    }


def _with_fault_metrics(
    groups: Mapping[str, GroupRecord], judgements: Mapping[str, tuple[FaultJudgement, ...]]
) -> dict[str, GroupRecord]:
    """Client groups with the metrics of faults."""
    return {
        name: replace(
            group,
            figures={
                **group.figures,
                **{
                    key: value
                    for key, value in fault_metrics.of_trial(judgements.get(name, ())).items()
                    if value is not None
                },
            },
        )
        for name, group in groups.items()
    }


Values = dict[str, float | None]


def with_account(record: TrialRecord, account: ProfilerAccount, writer: TrialWriter) -> TrialRecord:
    """The record with the findings of a memory profiler; the heap over time is written into `heap.csv`.

    Times there, and that of the peak, count from the start of the measurement.
    """
    begin_ns = record.measure.started_mono_ns if record.measure else None
    offset_ns = account.began_mono_ns - (account.began_mono_ns if begin_ns is None else begin_ns)
    rows: list[Row] = [
        {
            "t_s": round(sample.t_s + offset_ns / 1e9, 3),
            "mono_ns": account.began_mono_ns + round(sample.t_s * 1e9),
            "heap_bytes": sample.heap_bytes,
            "overhead_bytes": sample.overhead_bytes,
            "client_bytes": sample.client_bytes,
        }
        for sample in account.samples
    ]
    if rows:
        writer.rows(HEAP, HEAP_COLUMNS, rows)
    heap = account.heap
    if heap is not None and heap.peak_s is not None:
        heap = replace(heap, peak_s=round(heap.peak_s + offset_ns / 1e9, 3))
    return replace(record, memory=account.memory, heap=heap)


def metrics(record: TrialRecord) -> Values:
    """Values of a trial, in the units of `loadcell.model.metrics.Metric.kind`; those of a client group follow
    its name and a dot.
    """
    totals = record.totals or Totals(Counts(retried=None))
    values: Values = {
        "throughput": totals.throughput_per_s,
        "queries": totals.queries_per_s,
        "errors": totals.errors,
        "error_rate": totals.error_rate,
        "retries": totals.transactions.retried,
        "client.cpu": record.client.busy_max if record.client else None,
        "fairness": record.client.fairness.index if record.client and record.client.fairness else None,
        **metric_values(record.resources),
        **totals.figures,
        **_scheduled(record.schedule),
        **_times("latency", totals.response),
        **_times("service", totals.service),
    }
    if record.memory is not None:
        values |= {f"leak.{kind}": lost.bytes for kind, lost in record.memory.lost.items()}
    if record.heap is not None:
        values["heap.peak"] = record.heap.peak_bytes
    for name in record.groups or {}:
        values |= {f"{name}.{metric}": value for metric, value in _of_group(record, name).items()}
    return values


def _of_group(record: TrialRecord, name: str) -> Values:
    group = (record.groups or {})[name]
    stats = record.operations.get(name) or OperationStats("type", failed=None, retried=None)
    ended = (stats.succeeded or 0) + (stats.failed or 0)
    return {
        "throughput": stats.throughput_per_s,
        "queries": group.queries_per_s,
        "errors": stats.failed,
        "error_rate": (stats.failed or 0) / ended if ended else None,
        "retries": stats.retried,
        **group.figures,
        **_scheduled(group.schedule),
        **_times("latency", stats.response),
        **_times("service", stats.service),
    }


def _scheduled(schedule: Schedule | None) -> Values:
    if schedule is None:
        return {"offered": None, "backlog": None}
    return {
        "offered": schedule.offered_per_s,
        "backlog": schedule.backlog.peak,
        **_times("pacing", schedule.pacing_error),
    }


def _times(metric: str, latency: Latency | None) -> Values:
    values = latency.values() if latency else {}
    return {f"{metric}.{name.removesuffix('_ms')}": value for name, value in values.items()}


#: A parallel worker of PostgreSQL commits a transaction to load the leader's libraries, and that of its work.
_COMMITS_OF_WORKER = 2


def server_counters(
    before: Mapping[str, int],
    after: Mapping[str, int],
    lifetime: Lifetime | None,
    *,
    alone: bool,
    groups: Sequence[Lifetime] = (),
    workers: int = 0,
    of_connecting: int = 0,
) -> Check:
    """The server counted what the client did, over the whole load, warm-up and drain included.

    Commits are at least the client's transactions, save those that rolled themselves back, and changed rows
    at least those it was told of. Where loadcell is the server's only user, commits are also not more than
    its transactions (without BEGIN: its statements, as each commits by itself) and those `of_connecting`,
    with 2% and 200 for the server's background work and these very questions. A server whose counters fell
    was restarted: nothing can be said. `groups` are the lifetimes of client groups, where there are several:
    each has another kind of transactions. `workers` is how many parallel workers their statements may have
    had; each commits transactions, too.
    """
    if (
        lifetime is None
        or "xact_commit" not in before
        or any(after.get(name, 0) < before[name] for name in before)
    ):
        return Check("server-counters", "unknown")

    def grown(*names: str) -> int:
        return sum(after.get(name, 0) - before.get(name, 0) for name in names)

    # Some servers count commits of transactions only: where each statement commits by itself, there they are
    # statements.
    alone_commits = "statements" in before and not lifetime.operations.get("begin")
    commits = grown("statements" if alone_commits else "xact_commit")
    changed = grown("tup_inserted", "tup_updated", "tup_deleted")
    committed = lifetime.transactions - lifetime.rolled_back
    most = sum(map(_most_commits, groups or [lifetime])) + of_connecting
    most += _COMMITS_OF_WORKER * workers
    detail = {
        "commits": {"server": commits, "client": committed},
        "rows_changed": {"server": changed, "client": lifetime.rows_changed},
    }
    wrong = commits < committed or changed < lifetime.rows_changed or (alone and commits > most * 1.02 + 200)
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

    `calls` are those that the client knows to have succeeded; the server may have carried out any part of the
    `failed` operations, of two commands at the most. Where loadcell is its only user, that is
    all it did; elsewhere others may have made it do more. The server counts each as `calls_<name>`. One whose
    counters fell was restarted.
    """
    if any(after.get(name, 0) < count for name, count in before.items()):
        return Check("server-counters", "unknown")
    counted = {name: after.get(f"calls_{name}", 0) - before.get(f"calls_{name}", 0) for name in sorted(calls)}
    detail = {name: {"server": counted[name], "client": calls[name]} for name in counted}
    missing = any(counted[name] < calls[name] for name in counted)
    more = sum(counted.values()) - sum(calls.values())
    return Check("server-counters", "broken" if missing or (alone and more > 2 * failed) else "ok", detail)


def _most_commits(lifetime: Lifetime) -> float:
    """Number of commits the load can have caused: one a transaction, or one a statement where there is no
    BEGIN.
    """
    transactions, failed, queries = lifetime.transactions, lifetime.failed, lifetime.queries
    if lifetime.operations.get("begin") or not transactions:
        return transactions + failed + queries * (not transactions)
    return max(1.0, queries / transactions) * (transactions + failed)

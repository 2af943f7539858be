"""Metrics of a trial by the names that expectations and searches use."""

from __future__ import annotations

from loadcell.model.latency import Latency
from loadcell.model.trial_record import Counts, OperationStats, Schedule, Totals, TrialRecord

Values = dict[str, float | None]


def metrics(record: TrialRecord, target_cpu: float | None = None) -> Values:
    """Values of a trial, in the units of `loadcell.model.metrics.Metric.kind`; those of a client group follow
    its name and a dot.

    `target_cpu` is the mean number of cores that the target used.
    """
    totals = record.totals or Totals(Counts(retried=None))
    values: Values = {
        "throughput": totals.throughput_per_s,
        "queries": totals.queries_per_s,
        "errors": totals.errors,
        "error_rate": totals.error_rate,
        "retries": totals.transactions.retried,
        "client.cpu": record.client.busy_max if record.client else None,
        "target.cpu": target_cpu,
        **totals.figures,
        **_scheduled(record.schedule),
        **_times("latency", totals.response),
        **_times("service", totals.service),
    }
    if record.memory is not None:
        values |= {f"leak.{kind}": lost.bytes for kind, lost in record.memory.lost.items()}
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

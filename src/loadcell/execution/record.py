"""Turns what the engine says (nanoseconds, its own names) into the documents and rows of a run directory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from loadcell.analysis.error_codes import meaning
from loadcell.model.engine_messages import error_remedy
from loadcell.model.instants import utc_text
from loadcell.model.trial_record import TRANSACTION

#: Statistics of a distribution: the engine's names and those of the record
_FIGURES = {
    "mean_ns": "mean_ms", "stdev_ns": "stdev_ms", "min_ns": "min_ms", "max_ns": "max_ms", "p50_ns": "p50_ms",
    "p90_ns": "p90_ms", "p95_ns": "p95_ms", "p99_ns": "p99_ms", "p999_ns": "p99.9_ms", "p9999_ns": "p99.99_ms",
}  # fmt: skip
_COUNTS = ("attempted", "carried_in", "succeeded", "failed", "in_flight", "retried")


def latency(figures: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """A distribution in milliseconds; None when nothing was counted.

    A tool that gives one may not say of how many (None).
    """
    count = figures.get("count", 0) if figures else 0
    if not figures or count == 0:
        return None
    values: dict[str, Any] = {} if count is None else {"count": count}
    for theirs, ours in _FIGURES.items():
        if figures.get(theirs) is not None:
            values[ours] = figures[theirs] / 1e6
    return values


def interval_rows(event: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Rows of intervals.csv from one interval event; `t_s` is filled in when the measurement's start is
    known.
    """
    seconds = event["duration_ns"] / 1e9
    rows = []
    state = {TRANSACTION: event, **{group["name"]: group for group in event.get("groups", ())}}
    for operation in event["operations"]:
        now = state.get(operation["name"], {})
        row = {
            "mono_ns": event["start_mono_ns"],
            "utc": utc_text(event["start_utc_ns"]),
            "phase": event["phase"],
            "operation": operation["name"],
            "kind": operation["kind"],
            "duration_s": seconds,
            "in_flight": now.get("in_flight"),
            "backlog": now.get("backlog"),
            "throughput_per_s": _per_s(operation, seconds),
        }
        for count in ("started", "succeeded", "failed", "retried"):
            row[count] = operation.get(count)
        for kind in ("response", "service"):
            for name, value in (latency(operation.get(kind)) or {}).items():
                row[f"{kind}_{name}"] = value
        rows.append(row)
    return rows


def measured(result: Mapping[str, Any], protocol: str) -> dict[str, Any]:
    """The parts of trial.json that come from the engine's result: measure, totals, operations, errors,
    schedule, lifetime,
    client; of a tool also what it counts, and which it is. `protocol` is what the engine spoke."""
    window = result.get("window") or {}
    seconds = window.get("duration_ns", 0) / 1e9
    operations = {operation["name"]: operation for operation in result.get("operations", [])}
    document: dict[str, Any] = {
        "measure": None,
        "totals": None,
        "operations": {
            name: _operation(operation, seconds)
            for name, operation in operations.items()
            if name != TRANSACTION
        },
        "errors": [explained(error, protocol) for error in result.get("errors", [])],
        "schedule": schedule_account(result.get("schedule"), seconds),
        "lifetime": result.get("lifetime"),
        "client": client_account(result.get("client")),
        **{key: result[key] for key in ("unit", "tool") if key in result},
    }
    if seconds > 0:
        document["measure"] = {
            "started_mono_ns": window["start_mono_ns"],
            "started_utc": utc_text(window["start_utc_ns"]),
            "duration_s": seconds,
        }
        if TRANSACTION in operations:
            document["totals"] = _totals(operations[TRANSACTION], result, seconds)
    return document


def explained(error: Mapping[str, Any], protocol: str) -> dict[str, Any]:
    """An error with what its code means, and what to do about it where that is known: in English, and the
    code of the sentence.
    """
    code = error["code"]
    message = error_remedy(protocol, code)
    remedy = {} if message is None else {"advice": message.text, "advice_code": message.code}
    return {**error, "meaning": meaning(code), **remedy}


def schedule_account(schedule: Mapping[str, Any] | None, seconds: float) -> dict[str, Any] | None:
    """Record of an open loop; `requests_mean` is the mean number of requests due and not answered in the
    window.
    """
    if schedule is None:
        return None
    backlog = schedule["backlog"]
    return {
        "arrivals": schedule["arrivals"],
        "offered": schedule["offered"],
        "offered_per_s": schedule["offered_per_s"],
        "achieved_per_s": schedule["achieved_per_s"],
        "pacing_error": latency(schedule["pacing_error"]),
        "backlog_wait": latency(schedule["backlog_wait"]),
        "backlog": {
            "peak": backlog["peak"],
            "at_end": backlog["at_end"],
            "overdue_s": backlog["overdue_ns"] / 1e9,
        },
        "requests_mean": schedule["presence_ns"] / 1e9 / seconds if seconds > 0 else None,
    }


def _per_s(stats: Mapping[str, Any], seconds: float) -> float | None:
    """Successes per second; if a tool gave its rate, that rate."""
    if "throughput_per_s" in stats:
        return stats["throughput_per_s"]  # type: ignore[no-any-return]
    return stats["succeeded"] / seconds if seconds > 0 else None


def _operation(stats: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    return {
        "kind": stats["kind"],
        **{count: stats.get(count) for count in _COUNTS},
        "throughput_per_s": _per_s(stats, seconds),
        "response": latency(stats.get("response")),
        "service": latency(stats.get("service")),
        "failed_response": latency(stats.get("failed_response")),
    }


def _totals(transaction: Mapping[str, Any], result: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    queries, received = result.get("queries") or {}, result.get("received") or {}
    ended = transaction["succeeded"] + transaction["failed"]
    return {
        "transactions": {count: transaction.get(count) for count in _COUNTS},
        "queries": dict(queries),
        "throughput_per_s": _per_s(transaction, seconds),
        "queries_per_s": queries["total"] / seconds if "total" in queries else queries.get("per_s"),
        "received_bytes": received.get("bytes"),
        "body_bytes": received.get("body_bytes"),
        "statuses": received.get("statuses"),
        "received_bytes_per_s": received["bytes"] / seconds if "bytes" in received else None,
        "errors": transaction["failed"],
        "error_rate": transaction["failed"] / ended if ended else None,
        "response": latency(transaction.get("response")),
        "service": latency(transaction.get("service")),
        "failed_response": latency(transaction.get("failed_response")),
    }


def client_account(client: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if client is None:
        return None
    threads = [
        {
            "cpu_s": thread["cpu_ns"] / 1e9,
            "wall_s": thread["wall_ns"] / 1e9,
            "spun_s": thread.get("spun_ns", 0) / 1e9,
            "busy": thread["busy"],
            "connections": thread.get("connections"),
            "requests": thread.get("requests"),
        }
        for thread in client.get("threads", [])
    ]
    return {
        "threads": threads,
        "cpu_s": client.get("cpu_ns", 0) / 1e9,
        "busy_max": max((thread["busy"] for thread in threads), default=None),
        "max_rss_bytes": client.get("max_rss_bytes"),
        "lateness": latency(client.get("lateness")),
        "connects": client.get("connects"),
        "reconnects": client.get("reconnects"),
        "reconnecting_s": client.get("reconnecting_ns", 0) / 1e9,
        "resting_s": client.get("resting_ns", 0) / 1e9,
        "age_at_start_s": client.get("age_at_start_ns", 0) / 1e9,
        "age_at_end_s": client.get("age_at_end_ns", 0) / 1e9,
    }


@dataclass
class Mean:
    """An arithmetic mean of however many values, none of which is kept; None of nothing."""

    count: int = 0
    total: float = 0.0

    def add(self, value: float) -> None:
        """Take one more value in."""
        self.count += 1
        self.total += value

    @property
    def mean(self) -> float | None:
        """The mean so far."""
        return self.total / self.count if self.count else None

"""Small runs as documents: nothing of them ever was in a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from documents import analyse
from loadcell.analysis.analyse import Analysis


def run_of(
    throughputs: Mapping[str, Sequence[float | None]],
    *,
    levels: Mapping[str, Mapping[str, Any]] | None = None,
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A run with a trial for each throughput (None: the trial failed), `levels` naming each treatment's
    factors.
    """
    levels = levels or {name: {"load.clients": int(name)} for name in throughputs}
    repeats = max(len(values) for values in throughputs.values())
    trials, records = [], []
    number = 0
    for repeat in range(1, repeats + 1):
        for name, values in throughputs.items():
            if repeat > len(values):
                continue
            number += 1
            head = {
                "number": number,
                "name": f"{number:03d}-{name}-r{repeat}",
                "treatment": name,
                "repeat": repeat,
                "block": repeat,
            }
            trials.append(head)
            records.append({**head, **_outcome(values[repeat - 1])})
    run = {
        "repeats": repeats,
        "factors": [{"key": key} for key in next(iter(levels.values()), {})],
        "treatments": [
            {
                "id": name,
                "levels": {key: str(value) for key, value in levels[name].items()},
                "values": dict(levels[name]),
            }
            for name in throughputs
        ],
        "trials": trials,
    }
    return run, records


def _outcome(throughput: float | None) -> dict[str, Any]:
    if throughput is None:
        return {"status": "failed", "reason": "the server went away", "totals": None, "measure": None}
    response = {
        "count": 1000, "mean_ms": 5.0, "min_ms": 1.0, "max_ms": 40.0, "p50_ms": throughput / 100,
        "p90_ms": 7.0, "p95_ms": 8.0, "p99_ms": throughput / 10, "p99.9_ms": 12.0, "p99.99_ms": 14.0,
    }  # fmt: skip
    return {
        "status": "ok",
        "measure": {"duration_s": 10.0},
        "totals": {
            "transactions": {"attempted": 1010, "succeeded": 1000, "failed": 0, "retried": 0},
            "throughput_per_s": throughput,
            "queries_per_s": throughput * 20,
            "response": response,
        },
    }


def analysis_of(throughputs: Mapping[str, Sequence[float | None]], **more: Any) -> Analysis:
    """The same, analysed."""
    return analyse(*run_of(throughputs, **more))


def findings_by_code(analysis: Analysis) -> dict[str, dict[str, Any]]:
    """Text keys of all findings with their parameters."""
    return {finding.message.code: dict(finding.message.arguments) for finding in analysis.findings}

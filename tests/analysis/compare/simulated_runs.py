"""Runs as documents whose truth is known: drift that blocks share, noise of their own, and a true ratio."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from documents import sides
from loadcell.analysis.compare.sides import Sides

Document = tuple[dict[str, Any], list[dict[str, Any]]]


def record(
    number: int, treatment: str, block: int, throughput: float | None, *, status: str = "ok", **more: Any
) -> dict[str, Any]:
    """A trial.json with a closed loop's response times; without throughput one that failed."""
    head = {
        "number": number, "name": f"{number:03d}-{treatment}-r{block}", "treatment": treatment,
        "repeat": block,
        "block": block, "status": "failed" if throughput is None else status, **more,
    }  # fmt: skip
    if throughput is None:
        return {**head, "reason": "the server went away", "totals": None}
    result = 4000 / throughput if throughput else 0.0
    response = {
        "count": 20_000, "mean_ms": result, "min_ms": result / 4, "max_ms": result * 9,
        "p50_ms": result * 0.9,
        "p90_ms": result * 1.5, "p95_ms": result * 2, "p99_ms": result * 3, "p99.9_ms": result * 5,
        "p99.99_ms": result * 8,
    }  # fmt: skip
    totals = {
        "throughput_per_s": throughput, "queries_per_s": throughput * 20, "response": response,
        "transactions": {"attempted": 20_000, "succeeded": 20_000, "failed": 0, "retried": 0},
    }  # fmt: skip
    return {**head, "totals": totals, "measure": {"duration_s": 10.0}}


def run_of(
    figures: Mapping[str, Sequence[float | None]],
    factor: str = "target.setting",
    levels: Mapping[str, Mapping[str, str]] | None = None,
    **more: Any,
) -> Document:
    """A run with a treatment for each key, a block for each figure."""
    levels = levels or {name: {factor: name} for name in figures}
    treatments = [
        {"id": name, "levels": dict(levels[name]), "values": {}, "settings": {}} for name in figures
    ]
    records = []
    for block in range(1, max(len(values) for values in figures.values()) + 1):
        for name, values in figures.items():
            if block <= len(values):
                records.append(record(len(records) + 1, name, block, values[block - 1]))
    planned = [
        {key: item[key] for key in ("number", "name", "treatment", "repeat", "block")} for item in records
    ]
    return {"treatments": treatments, "trials": planned, **more}, records


def drifting(
    chance: np.random.Generator, blocks: int, ratio: float, *, drift: float = 0.05, noise: float = 0.02
) -> tuple[np.ndarray, np.ndarray]:
    """Throughputs of two systems, B being `ratio` times A, in blocks that drift."""
    shared = np.exp(chance.normal(0, drift, blocks))
    result = np.exp(chance.normal(0, noise, (2, blocks)))
    return 1000 * shared * result[0], 1000 * ratio * shared * result[1]


def levels_of(a: Sequence[float | None] | np.ndarray, b: Sequence[float | None] | np.ndarray) -> Sides:
    """Two levels of one factor in one run."""
    figures = {
        name: [None if v is None else float(v) for v in item] for name, item in (("off", a), ("on", b))
    }
    return sides.levels(*run_of(figures))


def runs_of(a: Sequence[float | None] | np.ndarray, b: Sequence[float | None] | np.ndarray) -> Sides:
    """The same treatment in two runs."""
    matches = [run_of({"base": [None if v is None else float(v) for v in values]}) for values in (a, b)]
    return sides.runs([("first", *matches[0]), ("second", *matches[1])])

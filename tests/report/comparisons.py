"""Runs to compare: written by the real writer, with latency logs that HdrHistogram's own encoder made."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

from hdrh.histogram import HdrHistogram

import fake_runs
from loadcell.store.layout import ENVIRONMENT, LATENCY, RUN, TRIAL, TRIALS

Change = Callable[[dict[str, object]], None]


def write(path: Path, shape: fake_runs.Shape, *, logs: bool = False) -> Path:
    """A run of this shape; `logs` adds a latency log to each trial that was measured."""
    fake_runs.write_run(path, shape)
    for trial in sorted((path / TRIALS).iterdir()) if logs else ():
        totals = json.loads((trial / TRIAL).read_text())["totals"]
        if totals is not None:
            (trial / LATENCY).write_text(_log(totals["response"]["p50_ms"], trial.name))
    return path


def _log(median_ms: float, name: str) -> str:
    chance = random.Random(name)
    histogram = HdrHistogram(1, 3_600_000_000_000, 3)
    for _ in range(600):
        histogram.record_value(round(median_ms * chance.lognormvariate(0, 0.4) * 1e6))
    text = histogram.encode().decode()
    return f"#[Histogram log format version 1.3]\nTag=transaction/response,0.000,30.000,1.000,{text}\n"


def change(path: Path, edit: Change, file: str = RUN) -> Path:
    """The run with one of its documents changed."""
    document = json.loads((path / file).read_text())
    edit(document)
    (path / file).write_text(json.dumps(document))
    return path


def arms(path: Path, shape: fake_runs.Shape) -> Path:
    """The run as one of identical arms: its repeats 1, 2 are block 1 of arms a and b, and so on."""
    write(path, shape)

    def of(head: dict[str, object]) -> None:
        repeat = int(str(head["repeat"]))
        head.update(block=(repeat + 1) // 2, arm="ab"[(repeat + 1) % 2])

    for trial in (path / TRIALS).iterdir():
        change(trial, of, TRIAL)

    def mark_as_aa(run: dict[str, object]) -> None:
        run["aa"] = True
        for head in run["trials"]:  # type: ignore[attr-defined]
            of(head)

    return change(path, mark_as_aa)


def other_machine(path: Path) -> Path:
    """The run as if made on a machine with half the cores."""

    def edit(document: dict[str, object]) -> None:
        host = document["hosts"][0]  # type: ignore[index]
        host["cpu"]["cores"] = 4
        host["hostname"] = "bench-02"

    return change(path, edit, ENVIRONMENT)

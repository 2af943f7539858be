"""HTTP in the figures that people know from ab, under ab's own names."""

from __future__ import annotations

import math

from loadcell.analysis import ab
from loadcell.analysis.ab import Ab, Times
from loadcell.analysis.treatments import Treatment
from loadcell.model import numbers
from loadcell.model.trial_record import TrialRecord
from loadcell.report.blocks import Block, Cell, Column, Section, Table
from loadcell.report.context import Scene
from loadcell.report.sections.levels import factor_columns, treatment_cells

ROWS = ("connect", "processing", "waiting", "total")
#: Of each treatment so many trials' histograms are read: more would cost time and change nothing.
MOST_READ = 20
#: Of less than that much time digits say nothing: a clock is read in tens of nanoseconds.
LEAST_MS = 0.001


def section(scene: Scene) -> Section | None:
    """Three tables, a row (of times: four) for each treatment; None where nothing was HTTP."""
    found = [
        (treatment, each) for treatment in scene.analysis.treatments if (each := _records(treatment, scene))
    ]
    if not found:
        return None
    texts = scene.texts
    tables = (
        _requests(found, scene),
        _times(found, scene),
        _percentages([treatment for treatment, _ in found], scene),
    )
    blocks: list[Block] = [table for table in tables if table is not None]
    return Section("http", texts("section.http"), blocks)


def _records(treatment: Treatment, scene: Scene) -> list[Ab]:
    records = (scene.records[trial.name] for trial in treatment.trials if trial.counts)
    return [figures for record in records if (figures := ab.of_record(record)) is not None]


def _head(scene: Scene) -> list[Column]:
    factors = factor_columns(scene)
    return [
        Column(scene.texts("column.number"), figure=True),
        *(Column(name, figure=numeric) for _, name, numeric in factors),
        *([] if factors else [Column(scene.texts("column.treatment"))]),
    ]


def _first(treatment: Treatment, scene: Scene) -> list[Cell]:
    cells = treatment_cells(treatment, factor_columns(scene))
    return [Cell(str(treatment.index), sort=treatment.index), *cells]


def _figure(value: float | None, write: numbers.Write, scene: Scene) -> Cell:
    return Cell(scene.texts("mark.none")) if value is None else Cell(write(value), sort=value)


def _requests(found: list[tuple[Treatment, list[Ab]]], scene: Scene) -> Table:
    texts = scene.texts
    figures = [(treatment, ab.middle(each)) for treatment, each in found]
    closed = any(one.time_per_request_ms is not None for _, one in figures)
    succeeded = any(one.times["total"].mean_ms is not None for _, one in figures)
    names = (
        "http.complete", "http.failed", "http.of-failed", "http.non-2xx", "http.requests-per-s",
        *(("http.time-per-request",) if closed else ()), *(("http.mean",) if succeeded else ()), "http.transfer",
    )  # fmt: skip
    rows = []
    for treatment, one in figures:
        kinds = (one.connect, one.receive, one.length, one.exceptions)
        rows.append(
            [
                *_first(treatment, scene),
                _figure(one.complete, _count, scene),
                _figure(one.failed, _count, scene),
                Cell(" / ".join(map(_count, kinds)), sort=one.failed),
                _figure(one.non_2xx, _count, scene),
                _figure(one.requests_per_s, numbers.rate, scene),
                *([_figure(one.time_per_request_ms, numbers.significant, scene)] if closed else []),
                *([_figure(one.times["total"].mean_ms, numbers.significant, scene)] if succeeded else []),
                _figure(one.received_bytes_per_s, numbers.size, scene),
            ]
        )
    columns = [*_head(scene), *(Column(texts(name), figure=True) for name in names)]
    return Table("table-http", texts("http.table.requests"), columns, rows, texts("http.table.requests.note"))


def _count(value: float) -> str:
    return numbers.whole(round(value))


def _times(found: list[tuple[Treatment, list[Ab]]], scene: Scene) -> Table | None:
    texts = scene.texts
    rows = []
    for treatment, each in found:
        one = ab.middle(each)
        for row in ROWS:
            if one.times[row] == Times():
                continue  # where nothing succeeded, but answers came
            rows.append(
                [*_first(treatment, scene), Cell(texts(f"http.row.{row}")), *_cells(one.times[row], scene)]
            )
    if not rows:
        return None
    names = ("http.min", "http.mean-time", "http.sd", "http.median", "http.max")
    columns = [
        *_head(scene),
        Column(texts("http.stage")),
        *(Column(texts(name), figure=True) for name in names),
    ]
    return Table("table-http-times", texts("http.table.times"), columns, rows, texts("http.table.times.note"))


def _cells(times: Times, scene: Scene) -> list[Cell]:
    values = (times.min_ms, times.mean_ms, times.stdev_ms, times.median_ms, times.max_ms)
    return [_figure(value, _time, scene) for value in values]


def _time(ms: float) -> str:
    """Milliseconds; a mean of less than a microsecond, as that of connecting is where connections are kept, is only said to be so."""
    return f"<{LEAST_MS:g}" if 0 < ms < LEAST_MS else numbers.significant(ms)


def _percentages(treatments: list[Treatment], scene: Scene) -> Table | None:
    """Within which time each percentage of the requests was served."""
    texts = scene.texts
    rows = []
    for treatment in treatments:
        found = ab.middle_served(
            [_served(trial.name, scene) for trial in treatment.trials if trial.counts][:MOST_READ]
        )
        if found:
            cells = [_figure(found[percent], numbers.significant, scene) for percent in ab.SERVED]
            rows.append([*_first(treatment, scene), *cells])
    if not rows:
        return None
    columns = [*_head(scene), *(Column(f"{percent}%", figure=True) for percent in ab.SERVED)]
    note = texts("http.table.served.note")
    return Table("table-http-served", texts("http.table.served"), columns, rows, note)


def _longest_ms(record: TrialRecord) -> float:
    service = record.totals.service if record.totals else None
    return (service.max_ms if service else None) or math.inf


def _served(trial: str, scene: Scene) -> dict[int, float]:
    from loadcell.store.hlog import read
    from loadcell.store.layout import LATENCY

    longest = _longest_ms(scene.records[trial])
    try:
        return ab.served(*read(scene.stored.directory(trial) / LATENCY, "transaction/service"), longest)
    except (OSError, ValueError):
        return {}

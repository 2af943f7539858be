"""Alternatives over the size of the data: crossover points, the fastest by size, speed-ups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from loadcell.analysis import scaling
from loadcell.analysis.scaling import Alternative, Point, Scaling
from loadcell.analysis.treatments import Treatment
from loadcell.model.python_metrics import CALL_TIME
from loadcell.model.run_record import TreatmentRecord
from loadcell.stats.repeats import summarise

SIZES = (10.0, 100.0, 1000.0)


def point(size: float, *times_ms: float, spread: float = 0.0) -> Point:
    """A point; with a spread of eight repeats, which have an interval."""
    if spread:
        times_ms = tuple(times_ms[0] * (1 + spread * step) for step in (-4, -3, -2, -1, 1, 2, 3, 4))
    return Point(size, f"{size:g}", summarise(times_ms) if times_ms else None, {"ok": 1})


def alternative(level: str, *times_ms: float | None, spread: float = 0.0) -> Alternative:
    points = (
        Point(size, f"{size:g}", None, {"timed-out": 1}) if time is None else point(size, time, spread=spread)
        for size, time in zip(SIZES, times_ms, strict=True)
    )
    return Alternative(level, tuple(points))


def test_a_crossover_lies_where_powers_of_the_size_are_equal() -> None:
    """n/10 against 4 * n^0.5 / 10: equal at n = 16."""
    linear = alternative("linear", 1.0, 10.0, 100.0)
    root = alternative("root", 0.4 * 10**0.5, 4.0, 0.4 * 1000**0.5)
    [crossover] = Scaling("", "rows", "library", (linear, root)).crossovers()
    assert (crossover.faster, crossover.slower) == ("root", "linear")
    assert crossover.size == pytest.approx(16)
    assert not crossover.is_certain


def test_a_crossover_is_certain_if_intervals_lie_apart_on_both_sides() -> None:
    for spread, certain in ((0.01, True), (0.4, False)):
        first = alternative("first", 1.0, 10.0, 100.0, spread=spread)
        second = alternative("second", 2.0, 5.0, 40.0, spread=spread)
        [crossover] = Scaling("", "rows", "library", (first, second)).crossovers()
        assert crossover.is_certain is certain


def test_alternatives_that_ended_are_not_the_fastest_there() -> None:
    first, second = alternative("first", 1.0, 2.0, None), alternative("second", 3.0, 4.0, 5.0)
    fastest = Scaling("", "rows", "library", (first, second)).fastest()
    assert [(item.size, best.level) for item, best in fastest] == [
        (10.0, "first"), (100.0, "first"), (1000.0, "second"),
    ]  # fmt: skip
    assert Scaling("", "rows", "library", (first, second)).crossovers() == []
    assert scaling.speedup(first.points[0], second.points[0]) == pytest.approx(1 / 3)
    assert scaling.speedup(first.points[2], second.points[2]) is None


def treatment(index: int, time_ms: float, **levels: str) -> Treatment:
    nothing = summarise([])
    return Treatment(
        index=index, id=str(index), label="", brief="", levels=levels, values={}, trials=(),
        throughput=nothing, queries=nothing, latency={}, failed=0, retried=0, statuses={"ok": 1},
        figures={CALL_TIME: summarise([time_ms])}, types=(), outcomes=(),
        described=TreatmentRecord(str(index)),
    )  # fmt: skip


def made(times_ms: Mapping[tuple[str, str, str], float]) -> list[Treatment]:
    return [
        treatment(index, time, operation=operation, library=library, rows=rows)
        for index, ((operation, library, rows), time) in enumerate(times_ms.items())
    ]


TIMES = {
    (operation, library, rows): factor * float(rows)
    for operation in ("sum", "mean")
    for library, factor in (("loop", 9.0), ("apply", 3.0), ("fast", 1.0))
    for rows in ("1000", "10", "100")
}


def test_the_size_and_the_alternatives_are_recognised() -> None:
    sums, means = scaling.scalings(made(TIMES))
    assert (sums.where, means.where) == ("operation = sum", "operation = mean")
    assert (sums.size_factor, sums.factor) == ("rows", "library")
    assert [item.level for item in sums.alternatives] == ["loop", "apply", "fast"]
    assert [item.size for item in sums.alternatives[0].points] == [10, 100, 1000]
    texts = [finding.message.text for finding in scaling.findings(scaling.scalings(made(TIMES)))]
    assert texts[0] == "Use fast for operation = sum: it is the fastest at each rows from 10 to 1,000."


def test_the_advice_depends_on_the_size_where_the_fastest_does() -> None:
    times = TIMES | {("sum", "loop", "10"): 1.0}
    texts = [finding.message.text for finding in scaling.findings(scaling.scalings(made(times)))]
    assert texts[0] == "The fastest for operation = sum depends on rows. 10: loop, 100–1,000: fast."


def test_without_a_size_there_is_nothing() -> None:
    few = {key: time for key, time in TIMES.items() if key[2] != "100"}
    assert scaling.scalings(made(few)) == ()
    narrow = {
        (*key[:2], {"10": "10", "100": "20", "1000": "30"}[key[2]]): time for key, time in TIMES.items()
    }
    assert scaling.scalings(made(narrow)) == ()
    assert scaling.scalings([replace(item, figures={}) for item in made(TIMES)]) == ()

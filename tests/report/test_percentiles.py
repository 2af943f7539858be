"""The treatments, out of many, whose percentiles are drawn until the reader chooses others."""

from __future__ import annotations

from typing import Any

from analysis.runs import analysis_of
from loadcell.analysis.treatments import Treatment
from loadcell.report.charts.percentiles import chosen


def factorial(**factors: list[Any]) -> tuple[Treatment, ...]:
    """Two factors; the higher a treatment's number, the higher its throughput."""
    (factor, first), (other, second) = factors.items()
    levels = {f"{a}-{b}": {factor: a, other: b} for a in first for b in second}
    return analysis_of({name: [100.0 + n] for n, name in enumerate(levels)}, levels=levels).treatments


def test_lines_differ_in_one_factor_alone() -> None:
    """As `A, redb` and `B, fjall` side by side tell nothing of A and B, nor of redb and fjall."""
    treatments = factorial(workload=[*"ABCDEF"], engine=["redb", "fjall"])
    shown = chosen(treatments, treatments[5])
    assert [item.brief for item in shown] == [f"{workload}, fjall" for workload in "ABCDEF"]


def test_of_a_line_that_is_too_long_some_are_spread_evenly_with_the_best_one_among_them() -> None:
    treatments = factorial(clients=[*range(1, 22)], engine=["redb", "fjall"])
    shown = [item.brief for item in chosen(treatments, treatments[3])]
    assert shown == [f"{n}, fjall" for n in (1, 2, 6, 11, 16, 21)]


def test_where_none_is_the_best_they_are_spread_over_all() -> None:
    treatments = factorial(workload=[*"ABCDEF"], engine=["redb", "fjall"])
    assert len(chosen(treatments, None)) == 5


def test_a_few_are_all_drawn() -> None:
    treatments = factorial(workload=[*"ABC"], engine=["redb", "fjall"])
    assert chosen(treatments, treatments[0]) == list(treatments)

"""Identification of a treatment in a table row: a column per factor, or one of names."""

from __future__ import annotations

from collections.abc import Sequence

from loadcell.analysis.layout import PER_SECOND
from loadcell.analysis.treatments import Treatment, short_keys
from loadcell.report.blocks import Cell
from loadcell.report.context import ReportContext

#: More factors than this make one column of names instead.
MOST_FACTOR_COLUMNS = 4


def factor_columns(context: ReportContext) -> list[tuple[str, str, bool]]:
    """A column a factor (key, name, whether its levels are numbers), where a few describe every treatment."""
    treatments = context.analysis.treatments
    keys = list(dict.fromkeys(key for treatment in treatments for key in treatment.levels))
    if not 1 <= len(keys) <= MOST_FACTOR_COLUMNS:
        return []
    if any(key not in treatment.levels for key in keys for treatment in treatments):
        return []
    short = short_keys(keys)
    return [
        (key, short[key], all(number(treatment.levels[key]) is not None for treatment in treatments))
        for key in keys
    ]


def treatment_cells(treatment: Treatment, factors: Sequence[tuple[str, str, bool]]) -> list[Cell]:
    """The treatment's levels, or without factor columns its name."""
    if not factors:
        return [Cell(treatment.label, sort=treatment.index)]
    return [
        Cell(treatment.levels[key], sort=number(treatment.levels[key]) if numeric else treatment.index)
        for key, _, numeric in factors
    ]


def number(level: str) -> float | None:
    """A level as a number, if it is one, or a rate a second."""
    try:
        return float(level.removesuffix(PER_SECOND))
    except ValueError:
        return None

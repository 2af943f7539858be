"""Arrangement of treatments along factors: the horizontal axis of a chart, and what distinguishes
its lines.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from loadcell.analysis.treatments import Treatment, short_keys
from loadcell.model.json import JsonObject

#: More lines than this are not distinguishable by colour and shape.
MOST_SERIES = 8
#: More pictures side by side than this are not looked at.
MOST_FACETS = 36

#: The unit of rates.
PER_SECOND = "/s"
#: Factors below these say what is asked of the target, as the mix of reads and writes does: nobody chooses
#: that.
_ASKED = ("workload.", "workloads.")

#: Levels that are closer than this share of an axis stand on one another: the labels of both, and the points,
#: take more.
CROWDED = 0.02

Scale = Literal["linear", "geometric", "ordered"]


#: End of the keys whose levels are names even where they look like numbers: version 12 is no multiple of 11.
_VERSION = ".version"


@dataclass(frozen=True)
class Axis:
    """One factor: its key and short name, how it scales, and its levels in order.

    `scale` is `linear` or `geometric` when every level is a number (geometric: each about the same multiple
    of the one before it), else `ordered`: labels in the plan's order. `at` maps labels to numbers, empty for
    `ordered`.
    """

    key: str
    name: str
    scale: Scale
    levels: tuple[str, ...]
    at: dict[str, float]

    @property
    def numeric(self) -> bool:
        """True if its levels are numbers."""
        return self.scale != "ordered"


@dataclass(frozen=True)
class Layout:
    """Choose the factor of the `x` axis and that of the `series`.

    Without `x` the treatments themselves, numbered, are the axis: nothing was varied, or more than two
    factors were, or not every treatment has every factor (`one-at-a-time`). `facet` asks for a picture a
    series.
    """

    x: Axis | None = None
    series: Axis | None = None
    facet: bool = False


def axis(key: str, name: str, levels: Sequence[str], values: Sequence[Any]) -> Axis:
    """The axis of one factor from its levels (in the plan's order) and their values."""
    at: dict[str, float] = {}
    for level, value in zip(levels, values, strict=True):
        number = None if key.endswith(_VERSION) else number_of(level, value)
        if number is None:
            return Axis(key, name, "ordered", tuple(levels), {})
        at[level] = number
    ordered = tuple(sorted(levels, key=lambda level: at[level]))
    if all(level.endswith(PER_SECOND) for level in levels):
        name = f"{name} ({PER_SECOND})"
    return Axis(key, name, _scale([at[level] for level in ordered]), ordered, at)


def number_of(level: str, value: Any) -> float | None:
    """The level as a number, when people wrote a bare one, or a rate in its only usual unit: `2000/s`.

    `512MB` stays a label, as its bytes would not be read.
    """
    if isinstance(value, str) and level.endswith(PER_SECOND):
        level, value = level.removesuffix(PER_SECOND), None
    if isinstance(value, bool) or (value is not None and not isinstance(value, int | float)):
        return None
    try:
        return float(level.replace("_", ""))
    except ValueError:
        return None


def is_number(level: str) -> bool:
    """True if a level's label is a bare number."""
    return number_of(level, None) is not None


def _scale(numbers: Sequence[float]) -> Scale:
    """`geometric` for 1 2 4 8 16, `linear` for 5 10 15 20: by which steps are more alike. 500 2000 2000000
    are `geometric`, too,
    as the first two would else be one place."""
    if len(numbers) < 3 or numbers[0] <= 0:
        return "linear"
    ratios = [after / before for before, after in pairwise(numbers)]
    closest = min(after - before for before, after in pairwise(numbers)) / (numbers[-1] - numbers[0])
    apart = math.log(min(ratios)) / math.log(numbers[-1] / numbers[0])
    if closest < CROWDED < apart:
        return "geometric"
    if len(numbers) < 4 or numbers[-1] < 8 * numbers[0]:
        return "linear"
    return "geometric" if min(ratios) > 1.2 and max(ratios) / min(ratios) < 2.6 else "linear"


def lay_out(treatments: Sequence[Treatment]) -> Layout:
    """Choose the axes: the factor with more (numeric first) levels across, the other one as lines or
    pictures.
    """
    keys = list(dict.fromkeys(key for treatment in treatments for key in treatment.levels))
    if any(key not in treatment.levels for key in keys for treatment in treatments):
        return Layout()
    short = short_keys(keys)
    axes = [_axis_of(key, short[key], treatments) for key in keys]
    varied = [axis for axis in axes if len(axis.levels) > 1]
    if not 1 <= len(varied) <= 2:
        return Layout()
    varied.sort(key=lambda axis: (not axis.numeric, -len(axis.levels)))
    if len(varied) == 1:
        return Layout(varied[0])
    x, series = varied
    if len(series.levels) > MOST_SERIES >= len(x.levels):
        x, series = series, x
    if len(series.levels) > MOST_FACETS:
        return Layout()
    return Layout(x, series, facet=len(series.levels) > MOST_SERIES)


def _axis_of(key: str, name: str, treatments: Sequence[Treatment]) -> Axis:
    values: JsonObject = {}
    for treatment in treatments:
        values.setdefault(treatment.levels[key], treatment.values.get(key))
    return axis(key, name, list(values), list(values.values()))


def asked(key: str) -> bool:
    """True if a factor says what work is done, and not how the target is set up or how hard it is driven."""
    return key.startswith(_ASKED)

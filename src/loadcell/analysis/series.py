"""Time series of trials, made small enough to be looked at and to be carried in a page."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from loadcell.model.panels import Aggregate, Reduction
from loadcell.store.frames import Column, Frame, Groups, Numbers, group_rows


def bucket_size(points: int, at_most: int) -> int:
    """Number of neighbouring points become one so that `points` shrink to `at_most` or fewer."""
    return max(1, math.ceil(points / at_most))


#: Suffixes of the names under which `thin` gives the extremes of the joined values.
LOWEST, HIGHEST = "_lowest", "_highest"


def thin(
    frame: Frame, columns: Mapping[str, Reduction], at_most: int, envelope: Collection[str] = ()
) -> Frame:
    """Join neighbouring rows of each trial until none has more than `at_most`.

    `frame` has `trial`, `t_s` (where the time a row stands for ended, in seconds from the measurement's
    start; rows up to 0 are warm-up and never join with rows after it) and `columns`, of which those missing
    in the frame are left out. A joined row takes the last `t_s`, and of every other column what its
    `Reduction` says over the values there are; peaks are kept by `max`. For the columns of `envelope` it also
    has their extremes (`<column>_lowest`, `<column>_highest`), if rows were joined. Where the frame has these
    already, its rows were joined before: they are those of all.
    """
    reductions = {name: kind for name, kind in columns.items() if frame.has(name)}
    if not len(frame):
        return frame.select("trial", "t_s", *reductions)
    extremes = [name + end for name in reductions if name in envelope for end in (LOWEST, HIGHEST)]
    joined_before = [name for name in extremes if frame.has(name)]
    ordered = frame.select("trial", "t_s", *reductions, *joined_before)
    ordered = ordered.take(~np.isnan(ordered.numbers("t_s"))).sorted_by("trial", "t_s")
    size = bucket_size(max(ordered.groups("trial").sizes, default=0), at_most)
    if size == 1:
        return ordered
    in_window = ordered.numbers("t_s") > 0
    position = group_rows(ordered.text("trial"), in_window).positions()
    groups = group_rows(ordered.text("trial"), in_window, position // size)
    thinned: dict[str, Column] = {
        name: reduced(groups, kind, ordered.numbers(name)) for name, kind in reductions.items()
    }
    for name in extremes:
        values = ordered.numbers(
            name if name in joined_before else name.removesuffix(LOWEST).removesuffix(HIGHEST)
        )
        thinned[name] = groups.min(values) if name.endswith(LOWEST) else groups.max(values)
    return ordered.select("trial", "t_s").take(groups.last()).adding(thinned)


def reduced(groups: Groups, kind: Reduction, values: Numbers) -> Numbers:
    """One value for each group; NaN for a group without any."""
    if kind == "sum":
        return groups.sum_of_any(values)
    return groups.max(values) if kind == "max" else groups.mean(values)


def aggregates(samples: Frame, columns: Sequence[Aggregate]) -> dict[str, dict[Aggregate, float]]:
    """Each trial's aggregates of a monitor's samples; those without a value are left out."""
    present = [aggregate for aggregate in columns if samples.has_values(aggregate.column)]
    if not present:
        return {}
    groups = samples.groups("trial")
    values = {item: reduced(groups, item.how, samples.numbers(item.column)) for item in present}
    return {
        str(trial): {item: float(of[group]) for item, of in values.items() if not np.isnan(of[group])}
        for group, trial in enumerate(samples.text("trial")[groups.first].tolist())
    }

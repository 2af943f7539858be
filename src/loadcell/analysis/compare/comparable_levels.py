"""Levels are compared only if they measure the same quantity: a disk's reads are neither faster nor slower
than its writes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from loadcell.analysis import comparability, grouping
from loadcell.analysis.compare.errors import CannotCompareError
from loadcell.analysis.trials import Trial
from loadcell.model.run_record import TreatmentRecord

#: The quantity that a level measures; None if no trial of it succeeded.
Measured = Mapping[str, str]


def measured(described: TreatmentRecord, trials: Sequence[Trial]) -> str | None:
    """The quantity that a treatment measures; None if none of its trials tells."""
    counting = [trial for trial in trials if trial.counts]
    return comparability.of_treatment(described, counting) if counting else None


def check(factor: str, levels: Mapping[str, Measured]) -> None:
    """Raises CannotCompareError, with the levels that can be compared, where any two of these measure unlike
    things.
    """
    groups = grouping.groups(levels, lambda first_level, other: _alike(levels[first_level], levels[other]))
    if len(groups) < 2:
        return
    comparable = [",".join(group) for group in groups if len(group) > 1]
    advice = (
        f"Name levels that measure the same: --levels {' or '.join(comparable)}."
        if comparable
        else "Compare each with the same treatment of another run: `loadcell compare A B`."
    )
    raise CannotCompareError(
        f"the levels of {factor} measure unlike things, of which none is more or less than the other",
        advice=advice,
        differences=[f"{', '.join(group)}: {'; '.join(_things(levels, group))}" for group in groups],
    )


def _alike(first: Measured, other: Measured) -> bool:
    return all(first[context] == other[context] for context in first.keys() & other.keys())


def _things(levels: Mapping[str, Measured], group: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(thing for level in group for thing in levels[level].values()))

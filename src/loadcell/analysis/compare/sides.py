"""The sides of a comparison, and the trials of each that correspond.

A *side* is a run, a level of a factor, or one of two identical arms. A *context* is what the sides have in
common: a treatment of both runs, or the levels of the other factors. Within a run, trials of one block are
pairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from loadcell.analysis import comparability
from loadcell.analysis.compare.messages import (
    ALLOWED_ANOTHER_RUN,
    ALLOWED_FACTORS,
    ALLOWED_LEVELS,
    ALLOWED_NO_FACTOR,
    LEVELS_MEASURE,
    REFUSED_FACTOR,
    REFUSED_FACTORS,
    REFUSED_LEVEL,
    REFUSED_NO_ARMS,
    REFUSED_NOT_ALONE,
    REFUSED_NOTHING_COMMON,
    REFUSED_NOTHING_VARIED,
    REFUSED_ONE_LEVEL,
    REFUSED_UNLIKE,
)
from loadcell.analysis.compare.metrics import CannotCompareError
from loadcell.analysis.treatments import short_keys
from loadcell.analysis.trials import Trial, of_run
from loadcell.model.run_record import RunRecord, TreatmentRecord
from loadcell.model.trial_record import TrialRecord


@dataclass(frozen=True)
class Side:
    """One of the things compared: its label, and its trials by context (every one, whatever became of it)."""

    label: str
    trials: Mapping[str, tuple[Trial, ...]]


@dataclass(frozen=True)
class Sides:
    """Two or more sides; the others are compared with the first.

    `contexts` are labels by key, in the plan's order. `paired` says that trials of one block are pairs, which
    they are within one run. `kind` is `runs`, `levels` or `arms`; `factor` is the factor's key for levels.
    """

    kind: str
    sides: tuple[Side, ...]
    contexts: Mapping[str, str]
    paired: bool
    factor: str | None = None


def arms(run: RunRecord, records: Sequence[TrialRecord]) -> Sides:
    """The two identical arms of an A/A run. Raises CannotCompareError when it has none."""
    trials = of_run(run, records)
    names = sorted({trial.arm for trial in trials if trial.arm is not None})
    if len(names) < 2:
        raise CannotCompareError(REFUSED_NO_ARMS())
    labels = _labels(run)
    sides = tuple(
        Side(name, _by_treatment(replace(trial, arm=None) for trial in trials if trial.arm == name))
        for name in names
    )
    return Sides("arms", sides, labels, paired=True)


def levels(
    run: RunRecord, records: Sequence[TrialRecord], factor: str | None = None, wanted: Sequence[str] = ()
) -> Sides:
    """Levels of one factor of a run; the levels of all other factors are the contexts.

    `factor` is a key or its last segment, and may be left out when there is only one; `wanted` names levels,
    all of them in the plan's order when empty. Raises CannotCompareError.
    """
    described = run.treatments
    key = _factor_key(described, factor)
    all_levels = list(dict.fromkeys(treatment.levels[key] for treatment in described))
    for level in wanted:
        if level not in all_levels:
            raise CannotCompareError(REFUSED_LEVEL(factor=key, level=repr(level), levels=all_levels))
    chosen = list(dict.fromkeys(wanted)) or all_levels
    if len(chosen) < 2:
        raise CannotCompareError(REFUSED_ONE_LEVEL(factor=key, level=repr(chosen[0])))
    trials = _by_treatment(of_run(run, records))
    others = {
        other: short
        for other, short in short_keys(list(described[0].levels)).items()
        if other != key and len({treatment.levels.get(other) for treatment in described}) > 1
    }
    contexts: dict[str, str] = {}
    by_level: dict[str, dict[str, tuple[Trial, ...]]] = {level: {} for level in chosen}
    measured: dict[str, dict[str, str]] = {level: {} for level in chosen}
    for treatment in described:
        level = treatment.levels[key]
        if level in by_level:
            context = ", ".join(f"{short} = {treatment.levels.get(other)}" for other, short in others.items())
            contexts.setdefault(context, context)
            by_level[level][context] = trials.get(treatment.id, ())
            if thing := measured_quantity(treatment, by_level[level][context]):
                measured[level][context] = thing
    shared = {
        context: label
        for context, label in contexts.items()
        if all(context in by_level[level] for level in chosen)
    }
    if not shared:
        raise CannotCompareError(REFUSED_NOT_ALONE(factor=key))
    check_levels(key, measured)
    return Sides(
        "levels", tuple(Side(level, by_level[level]) for level in chosen), shared, paired=True, factor=key
    )


def runs(several: Sequence[tuple[str, RunRecord, Sequence[TrialRecord]]], *, anyway: bool = False) -> Sides:
    """Runs (label, run.json, records), matched by treatment.

    Raises CannotCompareError when none are in all of them.

    `anyway` lets runs with a single treatment each match whatever it is called.
    """
    sides = [Side(label, _by_treatment(of_run(run, records))) for label, run, records in several]
    labels = _labels(several[0][1])
    for _, run, _ in several[1:]:
        labels_of_run = _labels(run)
        labels = {key: label for key, label in labels.items() if key in labels_of_run}
    if not labels and anyway and all(len(_labels(run)) == 1 for _, run, _ in several):
        return Sides(
            "runs",
            tuple(
                Side(side.label, {"": tuple(trial for trials in side.trials.values() for trial in trials)})
                for side in sides
            ),
            {"": ""},
            paired=False,
        )
    if not labels:
        raise CannotCompareError(REFUSED_NOTHING_COMMON())
    if len(labels) == 1:
        labels = dict.fromkeys(labels, "")
    return Sides("runs", tuple(sides), labels, paired=False)


def factors(run: RunRecord) -> list[str]:
    """Keys of the factors that have two levels or more."""
    described = run.treatments
    keys = dict.fromkeys(key for treatment in described for key in treatment.levels)
    return [key for key in keys if len({treatment.levels.get(key) for treatment in described}) > 1]


def _factor_key(described: Sequence[TreatmentRecord], wanted: str | None) -> str:
    keys: list[str] = list(dict.fromkeys(key for treatment in described for key in treatment.levels))
    varied = [key for key in keys if len({treatment.levels.get(key) for treatment in described}) > 1]
    listed = ALLOWED_FACTORS(factors=keys) if keys else ALLOWED_NO_FACTOR()
    if wanted is None:
        if len(varied) == 1:
            return varied[0]
        if not varied:
            raise CannotCompareError(REFUSED_NOTHING_VARIED())
        raise CannotCompareError(REFUSED_FACTORS(count=str(len(varied)), factors=varied))
    if wanted in keys:
        return wanted
    short = [key for key, name in short_keys(keys).items() if name == wanted]
    if len(short) != 1:
        raise CannotCompareError(REFUSED_FACTOR(factor=repr(wanted), allowed=listed))
    return short[0]


def _labels(run: RunRecord) -> dict[str, str]:
    """Names of a run's treatments, by id."""
    described = run.treatments
    keys = list(dict.fromkeys(key for treatment in described for key in treatment.levels))
    short = short_keys(keys)
    return {
        treatment.id: ", ".join(f"{short[key]} = {level}" for key, level in treatment.levels.items())
        or (treatment.id if len(described) > 1 else "")
        for treatment in described
    }


def _by_treatment(trials: Iterable[Trial]) -> dict[str, tuple[Trial, ...]]:
    by_treatment: dict[str, list[Trial]] = {}
    for trial in trials:
        by_treatment.setdefault(trial.treatment, []).append(trial)
    return {name: tuple(sorted(item, key=lambda trial: trial.block)) for name, item in by_treatment.items()}


#: The quantity that a level measures; None if no trial of it succeeded.
Measured = Mapping[str, str]


def measured_quantity(described: TreatmentRecord, trials: Sequence[Trial]) -> str | None:
    """The quantity that a treatment measures; None if none of its trials tells."""
    counting = [trial for trial in trials if trial.counts]
    return comparability.of_treatment(described, counting) if counting else None


def check_levels(factor: str, levels: Mapping[str, Measured]) -> None:
    """Raises CannotCompareError, with the levels that can be compared, where any two of these measure unlike
    things.
    """
    groups = comparability.alike_groups(
        levels, lambda first_level, other: _alike(levels[first_level], levels[other])
    )
    if len(groups) < 2:
        return
    comparable = [",".join(group) for group in groups if len(group) > 1]
    allowed = ALLOWED_LEVELS(levels=" or ".join(comparable)) if comparable else ALLOWED_ANOTHER_RUN()
    raise CannotCompareError(
        REFUSED_UNLIKE(factor=factor, allowed=allowed),
        [LEVELS_MEASURE(levels=group, quantities="; ".join(_things(levels, group))) for group in groups],
    )


def _alike(first: Measured, other: Measured) -> bool:
    return all(first[context] == other[context] for context in first.keys() & other.keys())


def _things(levels: Mapping[str, Measured], group: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(thing for level in group for thing in levels[level].values()))

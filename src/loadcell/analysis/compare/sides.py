"""The sides of a comparison, and the trials of each that correspond.

A *side* is a run, a level of a factor, or one of two identical arms. A *context* is what the sides have in
common: a treatment of both runs, or the levels of the other factors. Within a run, trials of one block are
pairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from loadcell.analysis.compare.metrics import CannotCompareError
from loadcell.analysis.treatments import alike_groups, quantity_of, short_keys
from loadcell.analysis.treatments import labels as treatment_labels
from loadcell.analysis.trials import Trial, of_run
from loadcell.model.message import Message, MessageCode
from loadcell.model.run_record import RunRecord, TreatmentRecord
from loadcell.model.trial_record import TrialRecord

if TYPE_CHECKING:
    from loadcell.analysis.compare.metrics import Lack

REFUSED_NO_ARMS = MessageCode("compare.refused.no-arms")
REFUSED_LEVEL = MessageCode("compare.refused.level", factor=str, level=str, levels=list)
REFUSED_ONE_LEVEL = MessageCode("compare.refused.one-level", factor=str, level=str)
REFUSED_NOT_ALONE = MessageCode("compare.refused.not-alone", factor=str)
REFUSED_NOTHING_COMMON = MessageCode("compare.refused.nothing-common")
TREATMENTS_OF_RUN = MessageCode("compare.treatments-of-run", run=str, treatments=list)
REFUSED_NOTHING_VARIED = MessageCode("compare.refused.nothing-varied")
REFUSED_FACTORS = MessageCode("compare.refused.factors", count=str, factors=list)
REFUSED_FACTOR = MessageCode("compare.refused.factor", allowed=Message, factor=str)
ALLOWED_FACTORS = MessageCode("compare.allowed.factors", factors=list)
ALLOWED_NO_FACTOR = MessageCode("compare.allowed.no-factor")
REFUSED_UNLIKE = MessageCode("compare.refused.unlike", allowed=Message, factor=str)
ALLOWED_LEVELS = MessageCode("compare.allowed.levels", levels=str)
ALLOWED_ANOTHER_RUN = MessageCode("compare.allowed.another-run")
LEVELS_MEASURE = MessageCode("compare.levels-measure", levels=list, quantities=str)


#: Fewest runs of a side for a verdict: with two, Student's quantile leaves hardly any power.
FEWEST_RUNS = 3
#: Treatments of a run that a refusal names.
MOST_TREATMENTS = 5


@dataclass(frozen=True)
class Side:
    """One of the things compared: its label, and its trials by context (every one, whatever became of it).

    `runs` are the same trials by run, where sides are runs.
    """

    label: str
    trials: Mapping[str, tuple[Trial, ...]]
    runs: tuple[Mapping[str, tuple[Trial, ...]], ...] = ()


@dataclass(frozen=True)
class Sides:
    """Two or more sides; the others are compared with the first.

    `contexts` are labels by key, in the plan's order. `paired` says that trials of one block are pairs, which
    they are within a run of shuffled blocks. `kind` is `runs`, `levels` or `arms`; `factor` is the factor's
    key for levels. `one_server` says that trials of a treatment may have met one and the same process of the
    server under test.
    """

    kind: str
    sides: tuple[Side, ...]
    contexts: Mapping[str, str]
    paired: bool
    factor: str | None = None
    one_server: bool = False

    @property
    def unit(self) -> Literal["block", "trial", "run"]:
        """Origin of one value of a side: a block, a trial, or a run where a side is several."""
        if self.paired:
            return "block"
        return "run" if any(len(side.runs) > 1 for side in self.sides) else "trial"

    def lack(self, side: int) -> Lack | None:
        """Defect of the design that rules out a verdict on this side, whatever its values."""
        if self.kind != "runs":
            return None if self.paired else "order"
        fewest = min(len(self.sides[0].runs), len(self.sides[side].runs))
        if fewest >= FEWEST_RUNS:
            return None
        return "few-runs" if fewest > 1 else "one-run"


def name(sides: Sides, side: Side) -> str:
    """A side as sentences call it: `fsync = off` for a level."""
    if sides.kind == "levels" and sides.factor:
        return f"{sides.factor.rsplit('.', 1)[-1]} = {side.label}"
    return side.label


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
    return Sides("arms", sides, labels, paired=shuffled(run), one_server=_one_server(run.treatments))


def shuffled(run: RunRecord) -> bool:
    """True if blocks were shuffled: what drifts from trial to trial then moves no treatment more than
    another. Of imports nobody knows, and an order as written lets drift look like an effect.
    """
    return run.order == "blocks" and not run.imported


def _one_server(described: Sequence[TreatmentRecord]) -> bool:
    """True if no treatment differs in the target's options and none has it started afresh for each trial."""
    targets = [treatment.settings.get("target") or {} for treatment in described]
    options = [value for target in targets for value in target.values() if isinstance(value, Mapping)]
    fresh = [option["fresh"] for option in options if "fresh" in option]
    return bool(fresh) and not any(fresh) and all(target == targets[0] for target in targets)


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
        "levels",
        tuple(Side(level, by_level[level]) for level in chosen),
        shared,
        paired=shuffled(run),
        factor=key,
        one_server=_one_server(described),
    )


@dataclass(frozen=True)
class RunGroup:
    """Runs (run.json and records) that stand for one side."""

    label: str
    runs: Sequence[tuple[RunRecord, Sequence[TrialRecord]]]


def runs(several: Sequence[tuple[str, RunRecord, Sequence[TrialRecord]]], *, anyway: bool = False) -> Sides:
    """Runs (label, run.json, records), each a side; see `run_groups`."""
    return run_groups([RunGroup(label, [(run, records)]) for label, run, records in several], anyway=anyway)


def run_groups(groups: Sequence[RunGroup], *, anyway: bool = False) -> Sides:
    """Groups of runs, matched by treatment.

    Raises CannotCompareError when none are in all of them.

    `anyway` lets runs with a single treatment each match whatever it is called.
    """
    everything = [run for group in groups for run, _ in group.runs]
    labels = _labels(everything[0])
    for run in everything[1:]:
        labels_of_run = _labels(run)
        labels = {key: label for key, label in labels.items() if key in labels_of_run}
    if not labels and anyway and all(len(_labels(run)) == 1 for run in everything):
        return Sides("runs", tuple(_side(group, merged=True) for group in groups), {"": ""}, paired=False)
    if not labels:
        raise CannotCompareError(REFUSED_NOTHING_COMMON(), [_treatments_of(group) for group in groups])
    if len(labels) == 1:
        labels = dict.fromkeys(labels, "")
    return Sides("runs", tuple(map(_side, groups)), labels, paired=False)


def _treatments_of(group: RunGroup) -> Message:
    """The treatments of a side, in one line."""
    names = list(dict.fromkeys(name or key for run, _ in group.runs for key, name in _labels(run).items()))
    return TREATMENTS_OF_RUN(
        run=group.label,
        treatments=[*names[:MOST_TREATMENTS], *(["…"] if len(names) > MOST_TREATMENTS else [])],
    )


def _side(group: RunGroup, *, merged: bool = False) -> Side:
    """Make a side of runs; with `merged` their only treatments get one name."""
    of_runs = [_by_treatment(of_run(run, records)) for run, records in group.runs]
    if merged:
        of_runs = [{"": tuple(trial for trials in run.values() for trial in trials)} for run in of_runs]
    joined = {
        context: tuple(trial for run in of_runs for trial in run.get(context, ()))
        for context in dict.fromkeys(context for run in of_runs for context in run)
    }
    return Side(group.label, joined, tuple(of_runs))


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
    """Names of a run's treatments, by id; the only one needs none without levels."""
    names = treatment_labels(run.treatments)
    only = run.treatments[0] if len(run.treatments) == 1 else None
    return names if only is None or only.levels else {only.id: ""}


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
    return quantity_of(described, counting) if counting else None


def check_levels(factor: str, levels: Mapping[str, Measured]) -> None:
    """Raises CannotCompareError, with the levels that can be compared, where any two of these measure unlike
    things.
    """
    groups = alike_groups(levels, lambda first_level, other: _alike(levels[first_level], levels[other]))
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

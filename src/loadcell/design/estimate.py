"""Duration of a run, as far as a plan alone can tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loadcell.design.search import searches
from loadcell.plan.load import LoadedPlan
from loadcell.plan.model import Load
from loadcell.plan.profile import Profile

#: starting the load generator, connecting, collecting and verifying, for a trial whose data set is there
#: already: measured on the embedded PostgreSQL over the 15 trials of plans/quickstart.yaml. Loading data, and
#: restoring what a workload changed, come on top; only a run can tell how long they take.
OVERHEAD_S = 0.5
#: more trials than this are surely meant only when the user says so (`loadcell run --yes`): at 30 s each they
#: are a working day
NEEDS_CONSENT = 1_000
#: up to here every treatment's own durations are added up; beyond, the plan's own stand for all
_ADDED_UP = 10_000


@dataclass(frozen=True)
class Estimate:
    """Expected duration of a run: `load_s` is fixed by the plan, `total_s` includes an estimate of the
    remainder.

    Of a search it is the usual most; `at_most` is how many trials it can come to when repeats contradict it
    (else None).
    `counted`: there are loads that end by a number of requests, and how long those take is in none of these.
    `profiled` more trials only profile; `profile_s` is what they take, and is in `total_s` alone.
    """

    trials: int
    load_s: float
    total_s: float
    at_most: int | None = None
    counted: bool = False
    profiled: int = 0
    profile_s: float = 0.0


def estimate(plan: LoadedPlan, arms: int = 1) -> Estimate:
    """The time a run of `plan` takes, without loading and restoring data; `arms` is how often a block has
    each treatment.
    """
    if plan.search is not None:
        usual, at_most = searches.trials(plan)
        each_s = _load_s(plan.base.load)
        counted = plan.base.load.expected_s is None
        profiled = _profiled(plan, [plan.base.load])
        profile_s = sum(map(_load_s, profiled)) + OVERHEAD_S * len(profiled)
        total_s = usual * (each_s + OVERHEAD_S) + profile_s
        return Estimate(usual, usual * each_s, total_s, at_most, counted, len(profiled), profile_s)
    count = plan.treatment_count
    if count <= _ADDED_UP:
        loads = [treatment.resolved.load for treatment in plan.treatments]
        load_s = sum(map(_load_s, loads)) * plan.repeats
    else:
        loads = [plan.base.load]
        load_s = _load_s(plan.base.load) * plan.size()
    trials = plan.size() * arms
    counted = any(load.expected_s is None for load in loads)
    profiled = _profiled(plan, loads)
    profile_s = sum(map(_load_s, profiled)) + OVERHEAD_S * len(profiled)
    total_s = load_s * arms + OVERHEAD_S * trials + profile_s
    return Estimate(
        trials, load_s * arms, total_s, counted=counted, profiled=len(profiled), profile_s=profile_s
    )


def _profiled(plan: LoadedPlan, loads: Sequence[Load]) -> list[Load]:
    """The loads of the trials that only profile."""
    return [load for profile in plan.profiles for load in _profiled_by(profile, plan, loads)]


def _profiled_by(profile: Profile, plan: LoadedPlan, loads: Sequence[Load]) -> list[Load]:
    """Those of one profile. Which treatment is the best a run will tell: the longest counts."""
    which = profile.treatments
    if which == "best":
        return [max(loads, key=_load_s)]
    if plan.search is not None or plan.treatment_count > _ADDED_UP:
        count = plan.treatment_count if which == "all" else len(which)
        return [plan.base.load] * count
    return [
        treatment.resolved.load for treatment in plan.treatments if which == "all" or treatment.id in which
    ]


def _load_s(load: Load) -> float:
    return float(load.warmup) + (load.expected_s or 0.0)

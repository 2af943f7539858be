"""How long a run will take, as far as a plan alone can tell."""

from __future__ import annotations

from dataclasses import dataclass

from loadcell.design.search import searches
from loadcell.plan.loaded import LoadedPlan
from loadcell.plan.model import Load

#: starting the load generator, connecting, collecting and verifying, for a trial whose data set is there already: measured
#: on the embedded PostgreSQL over the 15 trials of plans/quickstart.yaml. Loading data, and restoring what a workload
#: changed, come on top; only a run can tell how long they take.
OVERHEAD_S = 0.5
#: more trials than this are surely meant only when the user says so (`loadcell run --yes`): at 30 s each they are a working day
NEEDS_CONSENT = 1_000
#: up to here every treatment's own durations are added up; beyond, the plan's own stand for all
_ADDED_UP = 10_000


@dataclass(frozen=True)
class Estimate:
    """What a run is expected to take: `load_s` is fixed by the plan, `total_s` includes a guess at the rest.

    Of a search it is the usual most; `at_most` is how many trials it can come to when repeats contradict it (else None).
    """

    trials: int
    load_s: float
    total_s: float
    at_most: int | None = None


def estimate(plan: LoadedPlan, arms: int = 1) -> Estimate:
    """The time a run of `plan` takes, without loading and restoring data; `arms` is how often a block has each treatment."""
    if plan.search is not None:
        usual, at_most = searches.trials(plan)
        each_s = _load_s(plan.base.load)
        return Estimate(usual, usual * each_s, usual * (each_s + OVERHEAD_S), at_most)
    count = plan.treatment_count
    if count <= _ADDED_UP:
        load_s = sum(_load_s(treatment.resolved.load) for treatment in plan.treatments) * plan.repeats
    else:
        load_s = _load_s(plan.base.load) * plan.size()
    trials = plan.size() * arms
    return Estimate(trials, load_s * arms, load_s * arms + OVERHEAD_S * trials)


def _load_s(load: Load) -> float:
    return load.warmup + load.duration

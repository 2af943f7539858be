"""Disturbances of trials by the machine, apart from a load generator that waits for a core.

On a machine at its limit, load generator and target wait for each other's cores. That is the load, no other
work; beside a disturbance it is a consequence of this.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from loadcell.analysis.trials import Trial

#: The check that notices a load generator which waits for a core.
WAITING: Final = "client-waiting"
#: Checks that notice other work, or something that stops or slows the machine.
DISTURBANCES: Final = frozenset({
    "steal", "neighbour", "other-processes", "client-paused", "sampling-gap", "throttled", "swap",
    "clock-step",
})  # fmt: skip


@dataclass(frozen=True)
class Noticed:
    """Number of trials that were disturbed, of those that count, and the number by each check. `waited` is
    the number of others in which the load generator waited for a core.
    """

    count: int
    of: int
    kinds: Mapping[str, int]
    waited: int


def noticed_in(trials: Iterable[Trial]) -> Noticed:
    """The disturbances of trials, of those that count."""
    counting = [trial for trial in trials if trial.counts]
    by_trial = [disturbances(trial) for trial in counting]
    kinds = Counter(check for checks in by_trial for check in checks)
    waited = sum(WAITING in warnings(trial) for trial in counting)
    return Noticed(sum(map(bool, by_trial)), len(counting), dict(kinds), waited)


def disturbances(trial: Trial) -> frozenset[str]:
    """Checks that noticed a disturbance; with any of them that of a client that waited for a core."""
    noticed = _noticed(trial)
    return noticed & {*DISTURBANCES, WAITING} if noticed & DISTURBANCES else frozenset()


def warnings(trial: Trial) -> frozenset[str]:
    """Checks that noticed something else."""
    return _noticed(trial) - DISTURBANCES - disturbances(trial)


def _noticed(trial: Trial) -> frozenset[str]:
    return frozenset(check.name for check in trial.checks if check.verdict == "noticed")

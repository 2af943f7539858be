"""Judgement of a fault: what the load shows of it. Instants are seconds from the start of the measurement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final, Literal, get_args

from loadcell.model.json import OMITTED, Word

#: Load before a fault without which there is no baseline, and after it for which a recovery has to last.
LEAST_BASELINE_S: Final = 2.0
HOLD_S: Final = 10.0

Effect = Literal["none", "slow", "errors", "dip", "outage"]
#: From the least to the worst: values of a metric of this kind.
EFFECT_VALUES: Final[Mapping[str, float]] = {
    "none": 0.0, "slow": 0.5, "errors": 1.0, "dip": 2.0, "outage": 3.0,
}  # fmt: skip
EFFECTS: Final[tuple[Effect, ...]] = get_args(Effect)
Management = Literal["ok", "slow", "down"]
#: From the best to the worst: a metric of this kind is an index into them.
MANAGEMENT: Final[tuple[Management, ...]] = ("ok", "slow", "down")
#: Why a fault is not judged: `not-applied`; `no-timeline`: the load recorded none; `no-baseline`: there is
#: too little load before it; `in-outage`: an earlier fault interrupted the load until the end.
Unjudged = Literal["not-applied", "no-timeline", "no-baseline", "in-outage"]
#: Why a recovery has no time: `not-recovered` in the load that was measured; `too-short`: less load follows
#: than a recovery takes to be confirmed.
Censored = Literal["not-recovered", "too-short"]
#: The same, the certain one first.
CENSORED: Final[tuple[Censored, ...]] = get_args(Censored)


@dataclass(frozen=True, slots=True)
class Baseline:
    """Load before a fault: rate and p99 of its successes, and its longest gap between two of them."""

    begin_s: float
    end_s: float
    rate_per_s: float
    p99_ms: float
    gap_s: float


@dataclass(frozen=True, slots=True)
class HungClients:
    """Clients with a request in progress for more than 1 s: most of them at once, as a number and as a share
    of all, and the longest request.
    """

    number: int
    share: float
    longest_s: float


@dataclass(frozen=True, slots=True)
class Dip:
    """Lowest rate over 1 s as a loss in proportion to the baseline, and the lower 95% bound of that depth."""

    depth: float
    at_least: float


@dataclass(frozen=True, slots=True)
class Slow:
    """Largest share of requests over 1 s that were slower than 1.2 times p99 of the baseline, its excess over
    the bound on that share without the fault, and p99 of that second.
    """

    share: float
    at_least: float
    p99_ms: float


@dataclass(frozen=True, slots=True)
class Failed:
    """Share of the operations that failed while a fault was held, and its excess over the 95% bound on the
    share without the fault; 0 within that bound.
    """

    share: float
    at_least: float


@dataclass(frozen=True, slots=True)
class Recovery:
    """Times until the load was again as before; None where it is `censored`.

    `at_s` is the instant. `from_undo_s` is 0 for one that came before the undo, and None without an undo.
    `at_least_s` is how long after the injection there was certainly no recovery, if it was not seen;
    `at_least_from_undo_s` is the same after the undo.
    """

    at_s: float | None = None
    from_injection_s: float | None = None
    from_undo_s: float | None = None
    censored: Annotated[Censored | None, OMITTED] = None
    at_least_s: Annotated[float | None, OMITTED] = None
    at_least_from_undo_s: Annotated[float | None, OMITTED] = None


@dataclass(frozen=True, slots=True)
class ManagementJudgement:
    """The management plane of the storage while a fault lasted, by a probe.

    `down`: an operation failed, or was not answered in time; `slow`: one took much longer than before the
    fault. `longest_s` is the longest answer, of `operation`; `failed` are operations that failed.
    """

    verdict: Management
    answers: int
    longest_s: float
    operation: Word
    failed: Annotated[tuple[Word, ...], OMITTED] = ()


@dataclass(frozen=True, slots=True)
class FaultJudgement:
    """Values of one fault in the load until `until_s`: the next fault that was due later, or the recovery
    from this one if the load is interrupted then, or the end of the measurement.

    `unjudged` says why the values that need a baseline are missing. `first_effect_s` are the earliest and the
    latest time from injection to the first effect. `lost` and `overshoot` are operations below and above
    those of the baseline, until the recovery. `errors` are failures by code.
    """

    until_s: float | None = None
    unjudged: Annotated[Unjudged | None, OMITTED] = None
    effect: Effect | None = None
    baseline: Baseline | None = None
    first_effect_s: tuple[float, float] | None = None
    pause_s: float | None = None
    dip: Dip | None = None
    lost: float | None = None
    overshoot: float | None = None
    recovery: Recovery | None = None
    hung: HungClients | None = None
    errors: Annotated[Mapping[Word, int] | None, OMITTED] = None
    failed: Annotated[Failed | None, OMITTED] = None
    slow: Annotated[Slow | None, OMITTED] = None
    management: Annotated[ManagementJudgement | None, OMITTED] = None

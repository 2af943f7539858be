"""The rate of an open loop: how many requests are due when, whether or not the target has answered the ones
before.

Three ways to write one: `2000/s`; steps, `{steps: [{rate: 500/s, for: 10s}, {rate: 1000/s, for: 10s}]}`; and
a ramp,
`{from: 100/s, to: 5000/s, over: 60s}`. Each begins with the measurement: the warm-up has the rate that comes
first, and what comes last stays until the end.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag, model_validator

from loadcell.model.message import Count, Message, MessageCode, Microseconds
from loadcell.plan.parts import Advice, Options
from loadcell.plan.problems import SettingError
from loadcell.plan.units import Duration, Rate

RATE_TOO_FEW_CONNECTIONS = MessageCode(
    "rate.too-few-connections", "caution", connections=Count, rate=str, share_us=Microseconds
)
RATE_FEW_SAMPLES = MessageCode(
    "rate.few-samples", "caution", count=Count, duration=str, rate=str, slowest=Count
)
RATE_ONLY_PAUSES = MessageCode("plan.rate-only-pauses")
RATE_FLAT_ZERO = MessageCode("plan.rate-flat-zero")
RATE_STEP = MessageCode("rate.step", "info", rate=str, duration=str)
RATE_THEN = MessageCode("rate.then", "info", first=Message, step=Message)
RATE_RAMP = MessageCode("rate.ramp", "info", start=str, end=str, duration=str)

#: what the engine takes; requests closer together are one burst to any machine
HIGHEST = 10_000_000
#: less than a request and its answer take between two processes of one machine
#: (bench/results/client_cost.json: a PostgreSQL that has nothing to do answers a prepared SELECT in some 60
#: microseconds)
_ROUND_TRIP_S = 50e-6
#: with fewer requests the 99th percentile is decided by less than ten of them
_FEWEST = 1_000

#: a year; instants are computed with spans of time, and their clock counts nanoseconds
LONGEST_S = 366 * 86_400
_Rate = Annotated[Rate, Field(ge=0, le=HIGHEST)]
_Positive = Annotated[Duration, Field(gt=0, le=LONGEST_S)]


@dataclass(frozen=True)
class Stretch:
    """Over `seconds` the rate goes evenly from one value to another, each per second."""

    from_per_s: float
    to_per_s: float
    seconds: float


class Step(Options, use_attribute_docstrings=True):
    """A rate that lasts for some time. `0/s` is a pause."""

    rate: _Rate
    """Number of requests are due in a second."""
    for_: _Positive = Field(alias="for")
    """Duration in seconds."""


class Steps(Options, use_attribute_docstrings=True):
    """Rates one after the other."""

    steps: Annotated[tuple[Step, ...], Field(min_length=1)]
    """Each with how long it lasts."""

    @model_validator(mode="after")
    def _some(self) -> Steps:
        if not any(step.rate for step in self.steps):
            raise SettingError(RATE_ONLY_PAUSES())
        return self


class Ramp(Options, use_attribute_docstrings=True):
    """A rate that changes evenly."""

    from_: _Rate = Field(alias="from")
    """The rate at the start of the measurement, and in the warm-up."""
    to: _Rate
    """The rate it comes to, and then keeps."""
    over: _Positive
    """Duration in seconds."""

    @model_validator(mode="after")
    def _some(self) -> Ramp:
        if not self.from_ and not self.to:
            raise SettingError(RATE_FLAT_ZERO())
        return self


def _form(value: Any) -> str:
    """Which of the forms was meant. (These names are not keys, so that no mistake is taken to lie under
    one.)
    """
    if isinstance(value, Steps) or (isinstance(value, Mapping) and "steps" in value):
        return "in-steps"
    return "as-ramp" if isinstance(value, Ramp | Mapping) else "one-rate"


#: a rate as a plan writes it
AnyRate = Annotated[
    Annotated[Annotated[Rate, Field(gt=0, le=HIGHEST)], Tag("one-rate")]
    | Annotated[Steps, Tag("in-steps")]
    | Annotated[Ramp, Tag("as-ramp")],
    Discriminator(_form),
]


def stretches(rate: Rate | Steps | Ramp, duration_s: float) -> tuple[Stretch, ...]:
    """The rate over a measurement of this length; what is written may be shorter, its last value then
    stays.
    """
    match rate:
        case Steps():
            stretches = [Stretch(float(step.rate), float(step.rate), float(step.for_)) for step in rate.steps]
        case Ramp():
            stretches = [Stretch(float(rate.from_), float(rate.to), float(rate.over))]
        case _:
            stretches = [Stretch(float(rate), float(rate), duration_s)]
    left_s = duration_s - sum(stretch.seconds for stretch in stretches)
    if left_s > 0:
        last = stretches[-1].to_per_s
        stretches.append(Stretch(last, last, left_s))
    return tuple(stretches)


def part(rate: Rate | Steps | Ramp, of_it: float) -> Rate | Steps | Ramp:
    """The same course at a part of the height."""

    def lower(rate: Rate) -> Rate:
        return Rate(float(rate) * of_it)

    match rate:
        case Steps():
            return Steps(
                steps=tuple(step.model_copy(update={"rate": lower(step.rate)}) for step in rate.steps)
            )
        case Ramp():
            return rate.model_copy(update={"from_": lower(rate.from_), "to": lower(rate.to)})
    return lower(rate)


def length_s(rate: Rate | Steps | Ramp) -> Duration | None:
    """Duration of the schedule; None for a single rate, which lasts as long as needed."""
    match rate:
        case Steps():
            return Duration(sum(float(step.for_) for step in rate.steps))
        case Ramp():
            return rate.over
    return None


def requests(rate: Rate | Steps | Ramp, duration_s: float) -> float:
    """Number of requests fall due in a measurement of this length (with Poisson arrivals: on average)."""
    return sum(
        (stretch.from_per_s + stretch.to_per_s) / 2 * stretch.seconds
        for stretch in stretches(rate, duration_s)
    )


def time_of(rate: Rate | Steps | Ramp, count: int) -> float:
    """Time at which a number of requests has fallen due, in seconds from the measurement's start (infinite:
    never).
    """
    at_s, remaining = 0.0, float(count)
    for stretch in stretches(rate, float(length_s(rate) or 1)):
        due = (stretch.from_per_s + stretch.to_per_s) / 2 * stretch.seconds
        if due >= remaining:
            growth = (stretch.to_per_s - stretch.from_per_s) / stretch.seconds
            root = math.sqrt(stretch.from_per_s**2 + 2 * growth * remaining)
            return at_s + 2 * remaining / (stretch.from_per_s + root)
        at_s, remaining, last = at_s + stretch.seconds, remaining - due, stretch.to_per_s
    return at_s + remaining / last if last else math.inf


def highest(rate: Rate | Steps | Ramp) -> float:
    """The highest rate there is at any time, per second."""
    return max(
        max(stretch.from_per_s, stretch.to_per_s) for stretch in stretches(rate, float(length_s(rate) or 1))
    )


def text(rate: Rate | Steps | Ramp) -> str:
    """The phrase in English."""
    return str(phrase(rate))


def phrase(rate: Rate | Steps | Ramp) -> Message | str:
    """In a few words: `2000/s`, `500/s for 10s, then 1000/s for 10s`, `100/s to 5000/s over 1min`."""
    match rate:
        case Steps():
            steps = [RATE_STEP(rate=step.rate.text, duration=step.for_.text) for step in rate.steps]
            return reduce(lambda first, step: RATE_THEN(first=first, step=step), steps)
        case Ramp():
            return RATE_RAMP(start=rate.from_.text, end=rate.to.text, duration=rate.over.text)
    return rate.text


def advice(
    rate: Rate | Steps | Ramp | None, connections: int | None, duration_s: float, bound: int | None = None
) -> Iterator[Advice]:
    """Remarks on an open loop before it runs; `bound` is the number of requests that ends it."""
    if rate is None or connections is None:
        return
    peak = highest(rate)
    if connections / peak < _ROUND_TRIP_S:
        share_us = connections / peak * 1e6
        yield Advice(
            "load.clients",
            RATE_TOO_FEW_CONNECTIONS(rate=f"{peak:,.0f}", connections=connections, share_us=share_us),
        )
    count = requests(rate, duration_s)
    if count < _FEWEST and bound is None:
        yield Advice(
            "load.rate",
            RATE_FEW_SAMPLES(
                rate=phrase(rate),
                count=round(count),
                duration=Duration(duration_s).text,
                slowest=max(1, round(count / 100)),
            ),
        )

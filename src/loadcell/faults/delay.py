"""`delay`: bytes between load and target arrive later."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from loadcell.faults.base import NO_ANSWER
from loadcell.faults.carried import CarriedFault, Direction
from loadcell.model.json import JsonObject
from loadcell.model.message import MessageCode
from loadcell.plan.parts import SubjectOptions
from loadcell.plan.problems import SettingError
from loadcell.plan.units import Duration

JITTER_TOO_LONG = MessageCode("fault.jitter-too-long", jitter=str, time=str)

#: The engine's limit.
_LONGEST_S = 3600


class DelayOptions(SubjectOptions, use_attribute_docstrings=True):
    """Delay and direction."""

    time: Annotated[Duration, Field(gt=0, le=_LONGEST_S)]
    """Delay of each byte in a direction."""
    jitter: Annotated[Duration, Field(ge=0)] = Duration(0)
    """Uniform variation of the delay, up and down; at most `time`. Bytes stay in their order."""
    direction: Direction = "to-client"
    """Delayed direction: `to-server`, `to-client` (a round trip takes `time` longer), or `both`."""

    @model_validator(mode="after")
    def _varies_less_than_it_lasts(self) -> DelayOptions:
        if self.jitter > self.time:
            raise SettingError(JITTER_TOO_LONG(jitter=self.jitter.text, time=self.time.text))
        return self


class Delay(CarriedFault[DelayOptions]):
    """Delay bytes of the load's connections."""

    name = "delay"
    synonyms = ("latency", "lag")
    summary = "Delay bytes between load and target"
    Options = DelayOptions
    expected_errors = NO_ANSWER

    def effect(self) -> JsonObject:
        options = self.options
        return {
            "time_ns": options.time.ns,
            "jitter_ns": options.jitter.ns,
            "direction": options.direction,
        }


PART = Delay

"""`bandwidth`: all connections of the load share a link of limited bandwidth."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from loadcell.faults.carried import CarriedFault, Direction
from loadcell.model.json import JsonObject
from loadcell.plan.parts import SubjectOptions
from loadcell.plan.units import Bandwidth as Rate


class BandwidthOptions(SubjectOptions, use_attribute_docstrings=True):
    """Bandwidth and direction."""

    rate: Annotated[Rate, Field(ge=1)]
    """Bandwidth of all connections together in a direction: `8Mbit/s` or `1MB/s`."""
    direction: Direction = "both"
    """Limited direction: `to-server`, `to-client`, or `both`, each with its own `rate`."""


class Bandwidth(CarriedFault[BandwidthOptions]):
    """Limit the bandwidth of the load's connections."""

    name = "bandwidth"
    synonyms = ("throttle",)
    summary = "Limit the bandwidth of all connections together"
    Options = BandwidthOptions

    def effect(self) -> JsonObject:
        return {"bytes_per_s": int(self.options.rate), "direction": self.options.direction}


PART = Bandwidth

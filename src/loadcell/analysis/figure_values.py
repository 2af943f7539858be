"""Values of the metrics of a workload or tool as text, with their units where these are known."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Final

from loadcell.analysis.trials import Trial
from loadcell.model import metrics, numbers
from loadcell.model.message import format_number
from loadcell.model.metrics import MetricFacts, value_text

#: Values from here on are written without a fraction.
INTEGER_FROM: Final = 100
#: Units by the end of a metric's name, as tools and plans write them; the longest first.
_UNITS: Final[Mapping[str, str]] = {
    "_per_second": "/s", "_percent": "%", "_per_s": "/s", "_kib": " KiB", "_mib": " MiB",
    "_gib": " GiB", "_kb": " kB", "_mb": " MB", "_gb": " GB", "_ms": " ms", "_us": " µs", "_ns": " ns",
    "_s": " s",
}  # fmt: skip


def is_size(name: str, trials: Iterable[Trial]) -> bool:
    """True if the metric counts bytes, by its declaration in the records or in this version.

    Names of these state no unit: their values do.
    """
    recorded = next((trial.metrics[name] for trial in trials if name in trial.metrics), None)
    fact = recorded or metrics.facts([name]).get(name)
    return fact is not None and fact.kind == "size"


def written(name: str, value: float, facts: Mapping[str, MetricFacts], *, has_unit: bool = False) -> str:
    """A value with the unit of its declared kind, else with that which its name ends in.

    With `has_unit` the name that stands before it states the unit.
    """
    if not has_unit and name in facts:
        return value_text(facts[name].kind, value)
    is_counted = math.isfinite(value) and (abs(value) >= INTEGER_FROM or value == round(value))
    number = format_number("figure", round(value) if is_counted else value)
    if has_unit:
        return number
    if name.lower().endswith("_bytes"):
        return numbers.size(value)
    return number + next((unit for end, unit in _UNITS.items() if name.lower().endswith(end)), "")

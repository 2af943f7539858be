"""Distribution of response or service times."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import core_schema

from loadcell.model.json import JsonObject, JsonValue

#: Values of one distribution in ascending order, by their keys in JSON.
_RISING = ("min_ms", "p50_ms", "p90_ms", "p95_ms", "p99_ms", "p99.9_ms", "p99.99_ms", "max_ms")
#: Histograms keep three digits; a mean may lie this far beside an extreme that all values share.
_ROUNDING = 0.01
#: A tool's percentile is that of a bucket, and fio's are a 64th wide: it may lie so far above the greatest
#: value, which is exact.
BUCKET = 0.02
_MOMENTS = ("mean_ms", "stdev_ms", "min_ms", "max_ms")
_PERCENTILE = re.compile(r"p(\d+(?:\.\d+)?)_ms")


@lru_cache(maxsize=256)
def _percentile(key: str) -> str | None:
    """The percentile that a key names; None of others."""
    match = _PERCENTILE.fullmatch(key)
    return match[1] if match is not None else None


def is_time(key: str) -> bool:
    """True if a key in JSON is that of a time of a distribution, in milliseconds."""
    return key in _MOMENTS or _percentile(key) is not None


@dataclass(frozen=True, slots=True)
class Latency:
    """Times of `count` requests, in milliseconds; None where the source does not report a value.

    `percentiles_ms` is by percentile as written (`"99"`, `"99.9"`). In JSON each has its own key, `p99.9_ms`.
    """

    count: int | None = None
    mean_ms: float | None = None
    stdev_ms: float | None = None
    min_ms: float | None = None
    max_ms: float | None = None
    percentiles_ms: Mapping[str, float] = field(default_factory=dict)

    def percentile_ms(self, percentile: str) -> float | None:
        """Time that this percentage of the requests did not exceed, in milliseconds."""
        return self.percentiles_ms.get(percentile)

    def values(self) -> dict[str, float]:
        """Reported values by their keys in JSON: `count`, `mean_ms`, ..., `p99.9_ms`."""
        named: dict[str, float | None] = {"count": self.count}
        named |= {name: getattr(self, name) for name in _MOMENTS}
        named |= {f"p{percentile}_ms": value for percentile, value in self.percentiles_ms.items()}
        return {name: value for name, value in named.items() if value is not None}

    def to_json(self) -> dict[str, float]:
        return self.values()

    @classmethod
    def from_values(cls, values: Mapping[str, JsonValue]) -> Latency:
        """Inverse of `values`; what is no finite number is left out."""
        percentiles: dict[str, float] = {}
        moments: dict[str, float] = {}
        count = None
        for name, value in values.items():
            if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
                continue
            if (percentile := _percentile(name)) is not None:
                percentiles[percentile] = float(value)
            elif name in _MOMENTS:
                moments[name] = value
            elif name == "count":
                count = int(value)
        return cls(count, **moments, percentiles_ms=percentiles)

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_after_validator_function(cls.from_values, core_schema.dict_schema())

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonObject:
        number = {"type": "number"}
        return {
            "type": "object",
            "title": cls.__name__,
            "properties": {"count": {"type": "integer"}, **dict.fromkeys(_MOMENTS, number)},
            "patternProperties": {f"^{_PERCENTILE.pattern}$": number},
        }


def contradiction(values: Mapping[str, float | None], bucket: float = BUCKET) -> dict[str, float]:
    """The first two values of a distribution that contradict each other, by their keys in JSON.

    Empty if none do: percentiles rise, and a mean lies between the extremes. A percentile may lie above
    the greatest value by the share `bucket`. Tools that estimate each percentile separately can give
    contradictory ones.
    """
    rising = {name: value for name in _RISING if (value := values.get(name)) is not None}
    for (lower, low), (upper, high) in pairwise(rising.items()):
        if low > high * (1 + bucket if upper == "max_ms" else 1):
            return {lower: low, upper: high}
    mean, least, most = (values.get(name) for name in ("mean_ms", "min_ms", "max_ms"))
    if mean is not None and least is not None and mean < least * (1 - _ROUNDING):
        return {"mean_ms": mean, "min_ms": least}
    if mean is not None and most is not None and mean > most * (1 + _ROUNDING):
        return {"mean_ms": mean, "max_ms": most}
    return {}


#: The share of response times that the client's own lateness may make up, on average and at the 99th
#: percentile. With less, a simulated p99 was at most 7 % too high (tests/truth/test_lateness.py).
MOST_LATE = 0.10
#: The percentile of response times whose lateness is judged.
TAIL, _BEYOND = "p99_ms", 0.01


def tail_lateness(
    lateness: Mapping[str, float | None], response: Mapping[str, float | None]
) -> dict[str, float] | None:
    """Lateness that 1 % of all requests exceeded (`late_ms`), next to the response time that 1 % exceeded.

    `lateness` may be of a part of the requests: those that found a free connection. The 1 % is of all of
    them; where no percentile is stored for that, the next lower one counts. None when either is unknown.
    """
    response_ms, late, requests = response.get(TAIL), lateness.get("count"), response.get("count")
    if not response_ms or late == 0:
        return None
    beyond = _BEYOND if late is None or not requests else _BEYOND * max(1.0, requests / late)
    percentiles = {
        float(percentile): value
        for key, value in lateness.items()
        if value is not None and (percentile := _percentile(key)) is not None
    }
    if not percentiles:
        return None
    stored = [percentile for percentile in percentiles if percentile <= 100 * (1 - beyond) + 1e-9]
    return {"late_ms": percentiles[max(stored)] if stored else 0.0, "response_ms": response_ms}


def late_in_tail(
    lateness: Mapping[str, float | None] | None, response: Mapping[str, float | None] | None
) -> dict[str, float]:
    """`tail_lateness` where it exceeds `MOST_LATE` of the response time; empty where not, or unknown."""
    tail = tail_lateness(lateness, response) if lateness and response else None
    return tail if tail is not None and tail["late_ms"] > MOST_LATE * tail["response_ms"] else {}

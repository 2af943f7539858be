"""Distribution of response or service times."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import core_schema

_MOMENTS = ("mean_ms", "stdev_ms", "min_ms", "max_ms")
_PERCENTILE = re.compile(r"p(\d+(?:\.\d+)?)_ms")


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
    def from_values(cls, values: Mapping[str, Any]) -> Latency:
        """Inverse of `values`; what is no finite number is left out."""
        numbers = {
            name: value
            for name, value in values.items()
            if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        }
        percentiles = {
            match[1]: float(value)
            for name, value in numbers.items()
            if (match := _PERCENTILE.fullmatch(name)) is not None
        }
        count = numbers.get("count")
        moments = {name: numbers.get(name) for name in _MOMENTS}
        return cls(None if count is None else int(count), **moments, percentiles_ms=percentiles)

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_after_validator_function(cls.from_values, core_schema.dict_schema())

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        number = {"type": "number"}
        return {
            "type": "object",
            "title": cls.__name__,
            "properties": {"count": {"type": "integer"}, **dict.fromkeys(_MOMENTS, number)},
            "patternProperties": {f"^{_PERCENTILE.pattern}$": number},
        }

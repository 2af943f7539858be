"""Quantities as people write them: `30s`, `512MB`, `2000/s`, `5%`.

Each is a number of a dedicated type, in one fixed unit, so that it can be computed with as it is: `Duration`
is a float of seconds, `Size` an int of bytes, `Rate` a float per second, `Fraction` a float where 1 is 100 %.
A bare number is refused: nobody should have to guess whether 5 were seconds or milliseconds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic_core import core_schema

from loadcell.model.json import JsonObject
from loadcell.model.message import Message, MessageCode
from loadcell.plan.problems import INVALID, SettingError, nearest, shown

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic_core import CoreSchema

ALLOWED_DURATION = MessageCode("allowed.duration")
ALLOWED_SIZE = MessageCode("allowed.size")
ALLOWED_RATE = MessageCode("allowed.rate")
ALLOWED_BANDWIDTH = MessageCode("allowed.bandwidth")
ALLOWED_SHARE = MessageCode("allowed.share")
INVALID_WITHOUT_UNIT = MessageCode("plan.found-without-unit", value=str, allowed=Message)
INVALID_UNKNOWN_UNIT = MessageCode(
    "plan.found-unknown-unit", value=str, symbol=str, symbols=list, allowed=Message
)
INVALID_NEGATIVE = MessageCode("plan.found-negative", value=str, allowed=Message)

_QUANTITY = re.compile(r"\s*([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))\s*(\S*)\s*")

SECONDS: Mapping[str, Decimal] = {
    "ns": Decimal("1e-9"),
    "us": Decimal("1e-6"),
    "µs": Decimal("1e-6"),
    "ms": Decimal("1e-3"),
    "s": Decimal(1),
    "min": Decimal(60),
    "h": Decimal(3600),
    "d": Decimal(86400),
}
#: kB, MB, GB, TB are powers of 1000 (IEC 80000-13, SI); KiB, MiB, GiB, TiB are powers of 1024
BYTES: Mapping[str, Decimal] = {
    "B": Decimal(1),
    "kB": Decimal(10**3),
    "KB": Decimal(10**3),
    "MB": Decimal(10**6),
    "GB": Decimal(10**9),
    "TB": Decimal(10**12),
    "KiB": Decimal(2**10),
    "MiB": Decimal(2**20),
    "GiB": Decimal(2**30),
    "TiB": Decimal(2**40),
}
BYTES_PER_SECOND: Mapping[str, Decimal] = {f"{unit}/s": factor for unit, factor in BYTES.items()}
BANDWIDTHS: Mapping[str, Decimal] = {
    **BYTES_PER_SECOND,
    "bit/s": Decimal(1) / 8,
    "kbit/s": Decimal(125),
    "Mbit/s": Decimal(125_000),
    "Gbit/s": Decimal(125_000_000),
}
PER_SECOND: Mapping[str, Decimal] = {"/s": Decimal(1), "/min": Decimal(1) / 60, "/h": Decimal(1) / 3600}
PERCENT: Mapping[str, Decimal] = {"%": Decimal("0.01")}

#: what people write out of habit, and what they mean by it
_MEANT = {
    "sec": "s",
    "secs": "s",
    "second": "s",
    "seconds": "s",
    "m": "min",
    "mins": "min",
    "minute": "min",
    "minutes": "min",
    "hr": "h",
    "hour": "h",
    "hours": "h",
    "msec": "ms",
    "day": "d",
    "days": "d",
    "k": "kB",
    "K": "KiB",
    "M": "MiB",
    "G": "GiB",
    "T": "TiB",
    "rps": "/s",
    "qps": "/s",
    "tps": "/s",
    "percent": "%",
}


def split(text: str) -> tuple[Decimal, str] | None:
    """Number and unit of `text` (`"1.5GB"` -> 1.5, `"GB"`; the unit may be empty), None when it is no
    quantity.
    """
    match = _QUANTITY.fullmatch(text)
    return (Decimal(match[1]), match[2]) if match else None


def parse(value: Any, units: Mapping[str, Decimal], allowed: Message, usual: str | None = None) -> Decimal:
    """The quantity `value` says, in the unit whose factor is 1.

    Raises SettingError; for a number without a unit it suggests the `usual` one (default: seconds, or the
    first).
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise SettingError(INVALID(value=shown(value), allowed=allowed))
    parts = split(value) if isinstance(value, str) else (Decimal(str(value)), "")
    if parts is None:
        raise SettingError(INVALID(value=shown(value), allowed=allowed))
    number, unit = parts
    if not unit:
        unit = usual or ("s" if "s" in units else next(iter(units)))
        raise SettingError(INVALID_WITHOUT_UNIT(value=shown(value), allowed=allowed), f"{number}{unit}")
    if unit not in units:
        meant = _MEANT.get(unit) or nearest(unit, units)
        message = INVALID_UNKNOWN_UNIT(
            value=shown(value), symbol=shown(unit), symbols=list(units), allowed=allowed
        )
        raise SettingError(message, f"{number}{meant}" if meant in units else None)
    if number < 0:
        raise SettingError(INVALID_NEGATIVE(value=shown(value), allowed=allowed))
    return number * units[unit]


def _plainest(amount: Decimal, units: Mapping[str, Decimal], choices: tuple[str, ...]) -> str:
    """The shortest writing of `amount` without loss: in the largest unit of `choices` that divides it."""
    for unit in choices:
        scaled = amount / units[unit]
        if scaled and scaled == scaled.to_integral_value():
            return f"{int(scaled)}{unit}"
    if not amount:
        return "0" + next(unit for unit, factor in units.items() if factor == 1)
    return f"{amount.normalize():f}{choices[-1]}"


class _Quantity:
    """Base of all kinds: reading, writing and description for pydantic."""

    units: ClassVar[Mapping[str, Decimal]]
    allowed: ClassVar[Message]
    pattern: ClassVar[str]
    example: ClassVar[str]

    @classmethod
    def read(cls, value: Any) -> Self:
        """From text with a unit, or from a quantity of the same kind. Raises SettingError."""
        if isinstance(value, cls):
            return value
        amount = parse(value, cls.units, cls.allowed)
        return cls(int(amount) if issubclass(cls, int) else float(amount))  # type: ignore[call-arg]

    @property
    def text(self) -> str:
        """As one would write it in a plan."""
        raise AssertionError("every kind writes itself")

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            cls.read,
            serialization=core_schema.plain_serializer_function_ser_schema(
                lambda value: value.text, return_schema=core_schema.str_schema(), when_used="json"
            ),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonObject:
        return {"type": "string", "pattern": cls.pattern, "examples": [cls.example]}


class Duration(_Quantity, float):
    """A length of time: a float of seconds, written `30s`, `5min`, `1h`, `200ms`."""

    units = SECONDS
    allowed = ALLOWED_DURATION()
    pattern = r"^\s*\d+(\.\d*)?\s*(ns|us|µs|ms|s|min|h|d)\s*$"
    example = "30s"

    @property
    def ns(self) -> int:
        """Whole nanoseconds."""
        return round(self * 1e9)

    @property
    def text(self) -> str:
        return _plainest(Decimal(self.ns).scaleb(-9), SECONDS, ("h", "min", "s", "ms", "us", "ns"))


class Size(_Quantity, int):
    """An amount of memory or storage: an int of bytes, written `512MB` (10^6) or `4KiB` (2^10)."""

    units = BYTES
    allowed = ALLOWED_SIZE()
    pattern = r"^\s*\d+(\.\d*)?\s*(B|kB|KB|MB|GB|TB|KiB|MiB|GiB|TiB)\s*$"
    example = "512MB"

    @property
    def text(self) -> str:
        return _plainest(Decimal(self), BYTES, ("TiB", "GiB", "MiB", "KiB", "TB", "GB", "MB", "kB", "B"))


class Rate(_Quantity, float):
    """A frequency: a float per second, written `2000/s`."""

    units = PER_SECOND
    allowed = ALLOWED_RATE()
    pattern = r"^\s*\d+(\.\d*)?\s*/(s|min|h)\s*$"
    example = "2000/s"

    @property
    def text(self) -> str:
        return f"{float(self):.15g}/s"


class Bandwidth(_Quantity, float):
    """Bytes per second: a float, written `5MB/s` or `40Mbit/s`."""

    units = BANDWIDTHS
    allowed = ALLOWED_BANDWIDTH()
    pattern = r"^\s*\d+(\.\d*)?\s*((B|kB|KB|MB|GB|TB|KiB|MiB|GiB|TiB)/s|[kMG]?bit/s)\s*$"
    example = "5MB/s"

    @property
    def text(self) -> str:
        return _plainest(Decimal(float(self)), BYTES_PER_SECOND, ("GB/s", "MB/s", "kB/s", "B/s"))


class Fraction(_Quantity, float):
    """A share: a float where 1 is 100 %, written `5%`."""

    units = PERCENT
    allowed = ALLOWED_SHARE()
    pattern = r"^\s*\d+(\.\d*)?\s*%\s*$"
    example = "5%"

    @property
    def text(self) -> str:
        return f"{float(self) * 100:.15g}%"

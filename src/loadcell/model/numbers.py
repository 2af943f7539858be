"""Numbers and instants as people read them: few significant digits, thousands separators, units."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from datetime import UTC, datetime

#: Significant digits of a performance test's values.
DIGITS = 3
Write = Callable[[float], str]
_BYTES = ("B", "KiB", "MiB", "GiB", "TiB")


def significant(value: float, digits: int = DIGITS) -> str:
    """`12.3`, `0.0123`, `2,859`: `digits` significant ones, but always all digits before the point."""
    if not math.isfinite(value):
        return "∞" if value > 0 else "–"
    if value == 0:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{decimals}f}"
    # 9.996 rounds to 10.00: one digit too many
    return f"{value:,.{max(0, decimals - 1)}f}" if decimals and _digits(text) > digits else text


def _digits(text: str) -> int:
    return len(text.replace(",", "").replace(".", "").replace("-", "").lstrip("0"))


def short(value: float) -> str:
    """As many digits as are significant and needed: `0.928`, `0.1`, `2`."""
    text = significant(value)
    return text.rstrip("0").rstrip(".") if "." in text else text


def whole(value: float) -> str:
    """`1,234,567`."""
    return f"{value:,.0f}"


def rate(value: float) -> str:
    """A value per second, one digit finer than other values: `2,859`, `440.2`."""
    return significant(value, 4)


def milliseconds(value: float) -> str:
    """A latency with its unit: `12.3 ms`, `0.123 ms`, `12.3 µs`, `1.23 s`."""
    if 0 < value < 0.1:
        return f"{significant(value * 1e3)} µs"
    return f"{significant(value / 1e3)} s" if value >= 10_000 else f"{significant(value)} ms"


def microseconds(value: float) -> str:
    """A very short time with its unit: `0.42 µs`, `12.3 µs`, `4.21 ms`."""
    return milliseconds(value / 1e3) if value >= 1_000 else f"{significant(value)} µs"


def share(value: float) -> str:
    """A fraction in percent: `4.4%`, `0.05%`, `<0.01%`, `100%`."""
    percent = value * 100
    if 0 < percent < 0.01:
        return "<0.01%"
    if 99.95 <= percent < 100:
        return ">99.9%"
    return f"{significant(percent, 2 if abs(percent) < 100 else 3)}%"


def change(value: float) -> str:
    """A fraction more or less, in percent: `+4.9%`, `-0.3%`, `+120%`, `±0%`."""
    percent = value * 100
    text = f"{percent:+,.1f}" if abs(percent) < 99.95 else f"{percent:+,.0f}"
    return "±0%" if float(text.replace(",", "")) == 0 else f"{text}%"


def seconds(value: float) -> str:
    """A duration: `9.6 ms`, `0.35 s`, `30 s`, `2 min 5 s`, `1 h 4 min`, `3 d 4 h`."""
    if 0 < abs(value) < 0.1:
        unit, scaled = ("µs", value * 1e6) if abs(value) < 1e-4 else ("ms", value * 1e3)
        return f"{short(scaled)} {unit}"
    if value < 60:
        return f"{value:.0f} s" if value == int(value) else f"{significant(value, 2)} s"
    minutes, remaining_s = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes} min {remaining_s} s" if remaining_s else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours >= 24:
        return f"{hours // 24} d {hours % 24} h" if hours % 24 else f"{hours // 24} d"
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def instant(value: float) -> str:
    """A time since a begin, finer than a duration: `0.674 s`, `2 min 5.1 s`, `1 h 4 min 5 s`."""
    if abs(value) < 59.9995:
        return f"{value:.3f} s" if round(value, 3) else "0 s"
    tenths = round(value * 10)
    minutes, tenths = divmod(tenths, 600)
    if minutes < 60:
        return f"{minutes} min {tenths / 10:.1f} s"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours} h {minutes} min {tenths // 10} s"
    return f"{hours // 24} d {hours % 24} h {minutes} min"


def probability(value: float) -> str:
    """The probability of chance: `0.25`, `0.003`, `<0.001`."""
    return "<0.001" if value < 0.001 else significant(value, 1 if value < 0.01 else 2)


def size(value: float) -> str:
    """Bytes in binary units: `290 MiB`, `32 GiB`, `12 B`; `<1 B` of a mean that is hardly any."""
    if 0 < abs(value) < 1:
        return "<1 B"
    if abs(value) < 1024:
        value = round(value)
    step = 0
    # 1023.6 MiB is written as 1 GiB, no longer as 1,024 MiB
    while abs(value) >= 1023.5 and step < len(_BYTES) - 1:
        value = math.copysign(max(1.0, abs(value) / 1024), value)
        step += 1
    return f"{significant(value)} {_BYTES[step]}" if value != int(value) else f"{value:,.0f} {_BYTES[step]}"


def utc_text(nanoseconds: int | None = None) -> str:
    """An instant (default: now) as ISO 8601 with microseconds and Z."""
    nanoseconds = time.time_ns() if nanoseconds is None else nanoseconds
    seconds, fraction = divmod(nanoseconds, 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{fraction // 1000:06d}Z"


def utc_second(nanoseconds: int | None = None) -> str:
    """The second of an instant (default: now): `2026-11-29T14:25:19Z`."""
    return utc_text(nanoseconds)[:19] + "Z"

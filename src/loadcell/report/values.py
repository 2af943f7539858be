"""Values of a record, of whatever shape, as people read them; a number's unit is the end of its name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loadcell.report.numbers import milliseconds, seconds, size
from loadcell.report.texts import Texts

_UNITS = (("_bytes", size), ("_ms", milliseconds), ("_s", seconds))


def plain(key: str, value: Any, texts: Texts) -> str:
    """A value as text; what is nested is put in one line."""
    if isinstance(value, bool):
        return texts("mark.yes" if value else "mark.no")
    if value is None or value == "":
        return texts("mark.none")
    if isinstance(value, int | float):
        for suffix, write in _UNITS:
            if key.endswith(suffix) and value >= 0:
                return write(value)
        return str(value) if isinstance(value, int) else f"{value:,.4g}"
    if isinstance(value, list | tuple):
        return texts("mark.list").join(plain(key, item, texts) for item in value)
    if isinstance(value, Mapping):
        return texts("mark.list").join(f"{name} {plain(name, item, texts)}" for name, item in value.items())
    return str(value)

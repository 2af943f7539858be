"""Server settings: names and values of the plan, and their record as the server reports them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from loadcell.systems.base import SettingFacts

#: A value as the plan gives it.
Setting = str | int | float | bool


def checked_settings(
    settings: Mapping[str, Setting],
    *,
    canonical: Callable[[str], str],
    pattern: re.Pattern[str],
    kind: str,
    reserved: Mapping[str, str],
) -> dict[str, Setting]:
    """Settings by their canonical names, which match `pattern` (else they are not the name of `kind`).

    Raises ValueError.

    `reserved` are those that loadcell sets itself, each with the reason.
    """
    checked: dict[str, Setting] = {}
    for written, value in settings.items():
        name = canonical(written)
        if not pattern.fullmatch(name):
            raise ValueError(f"`{written}` is not the name of {kind}")
        if name in reserved:
            raise ValueError(f"`{name}` is loadcell's own to set: {reserved[name]}")
        if isinstance(value, str) and ("\n" in value or "\0" in value):
            raise ValueError(f"the value of `{name}` has more than one line")
        if name in checked:
            raise ValueError(f"`{name}` is given twice")
        checked[name] = value
    return checked


def is_secret(value: object) -> bool:
    """True if the plan takes the value from `${env:...}`: it is never read back, the plan's text is recorded."""
    return isinstance(value, str) and "${env:" in value


def read_back(
    effective: Mapping[str, str], planned: Mapping[str, Setting], recorded: Iterable[str]
) -> tuple[SettingFacts, ...]:
    """The settings `recorded` and those of the plan, out of those in effect, sorted by name."""
    names = sorted(name for name in {*recorded, *planned} if name in effective)
    return tuple(
        SettingFacts(
            name, planned[name] if is_secret(planned.get(name)) else effective[name], planned.get(name)
        )
        for name in names
    )


def size_in_bytes(value: object, units: Mapping[str, int], *, case_sensitive: bool = False) -> int | None:
    """Bytes of a memory setting such as `512MB`, with the server's units; None if it is none."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", str(value))
    if match is None:
        return None
    unit = match[2] if case_sensitive else match[2].lower()
    return int(float(match[1]) * units[unit]) if unit in units else None

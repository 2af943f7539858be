"""What plans may say of a server that loadcell runs, and of one that stands already: checks for fields of target options.

To be used as `field_validator("name", ...)(function)`; the option `server` comes before all that they are used on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ValidationInfo


def of_own_server(value: Any, info: ValidationInfo) -> Any:
    """An option of servers that loadcell runs. Raises ValueError for an external one."""
    if info.data.get("server") == "external" and value not in (None, {}):
        if info.field_name == "settings":
            raise ValueError(
                "an external server is never reconfigured: set these on the server itself, or use `server: local`"
            )
        raise ValueError(
            f"an external server is not started by loadcell, so `{info.field_name}` has no meaning"
        )
    return value


def of_external_server(value: Any, info: ValidationInfo) -> Any:
    """An option of servers that stand already. Raises ValueError for others."""
    if value is not None and info.data.get("server", "external") != "external":
        raise ValueError(f"`{info.field_name}` belongs to `server: external`")
    return value


def settings_named(
    settings: Mapping[str, Any],
    *,
    plain: Callable[[str], str],
    shape: re.Pattern[str],
    kind: str,
    reserved: Mapping[str, str],
) -> dict[str, Any]:
    """Server settings by their `plain` names, which are of `shape` (else no name of `kind`). Raises ValueError.

    `reserved` are those that loadcell sets itself, each with the reason.
    """
    named: dict[str, Any] = {}
    for given, value in settings.items():
        name = plain(given)
        if not shape.fullmatch(name):
            raise ValueError(f"`{given}` is not the name of {kind}")
        if name in reserved:
            raise ValueError(f"`{name}` is loadcell's own to set: {reserved[name]}")
        if isinstance(value, str) and ("\n" in value or "\0" in value):
            raise ValueError(f"the value of `{name}` has more than one line")
        if name in named:
            raise ValueError(f"`{name}` is given twice")
        named[name] = value
    return named

"""Python packages that loadcell requires, as its installed metadata lists them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, requires

_NAME = re.compile(r"[\w.-]+")


def direct() -> list[str]:
    """Names of the direct requirements, without those of extras; empty where loadcell is not installed."""
    try:
        lines = requires("loadcell") or []
    except PackageNotFoundError:
        return []
    return sorted(_names(line for line in lines if "extra ==" not in line))


def package_of(module: str) -> str | None:
    """The required package that contains a module, or None for modules of other packages.

    A missing package has no metadata, so names decide: `vl_convert` is in `vl-convert-python`.
    """
    top = _normal(module.partition(".")[0])
    candidates = [name for name in direct() if _normal(name) == top or _normal(name).startswith(f"{top}-")]
    return candidates[0] if candidates else None


def _names(lines: Iterable[str]) -> Iterable[str]:
    return (match[0] for match in map(_NAME.match, lines) if match)


def _normal(name: str) -> str:
    """The name in the form in which package indexes compare names."""
    return re.sub(r"[-_.]+", "-", name).lower()

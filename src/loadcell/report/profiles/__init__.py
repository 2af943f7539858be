"""Presentations of profiles: one module for each kind, with `PRESENTATION`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache

from loadcell.report.profiles.presentation import Presentation
from loadcell.report.profiles.unknown import UNKNOWN


@cache
def presentations() -> Mapping[str, Presentation]:
    """Presentations by kind."""
    modules = pkgutil.iter_modules(__path__, f"{__name__}.")
    declared = (getattr(importlib.import_module(module.name), "PRESENTATION", None) for module in modules)
    return {item.kind: item for item in declared if item is not None}


def presentation_of(kind: str) -> Presentation:
    """Presentation of a kind; that of a kind of a later version makes no claim about its unit."""
    return presentations().get(kind, UNKNOWN)

"""Candidates for the limiting resource: one module each, with `CANDIDATE`."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from loadcell.analysis.limits.candidate import Candidate


@cache
def all_candidates() -> tuple[Candidate, ...]:
    """All candidates, by name."""
    modules = pkgutil.iter_modules(__path__, f"{__name__}.")
    declared = [importlib.import_module(module.name).CANDIDATE for module in modules]
    return tuple(sorted(declared, key=lambda candidate: candidate.name))

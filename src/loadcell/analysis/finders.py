"""Finders of extensions: functions that read a run and its analysis, and return findings.

A module that an entry point of the group `loadcell.findings` names registers its functions with `finder`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from loadcell.analysis.finding import Finding
from loadcell.model import extensions
from loadcell.model.message import ForeignText, MessageCode

if TYPE_CHECKING:
    from loadcell.analysis.analyse import Analysis
    from loadcell.store.read import StoredRun

Finder = Callable[["StoredRun", "Analysis"], Iterable[Finding]]

FINDER_FAILED = MessageCode("extension.finder-failed", "caution", name=str, error=ForeignText)

_finders: list[Finder] = []


def finder(function: Finder) -> Finder:
    """Register a finder."""
    _finders.append(function)
    return function


def find(stored: StoredRun, analysis: Analysis) -> Iterator[Finding]:
    """Findings of all extensions. An exception of a finder becomes a finding. Raises ExtensionError."""
    extensions.load_all(extensions.FINDINGS)
    for function in _finders:
        try:
            yield from function(stored, analysis)
        except Exception as error:
            name = f"{function.__module__}.{function.__name__}"
            yield Finding("trust", FINDER_FAILED(name=name, error=f"{type(error).__name__}: {error}"))

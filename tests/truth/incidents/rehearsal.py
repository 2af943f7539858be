"""Contract of incidents that are made for real, recognised, remedied, and examined again."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from loadcell.incidents.evidence.base import Evidence

from .case import judged


@dataclass(frozen=True)
class Outcome:
    """Size of an incident in words; whether it was recognised, and whether it was gone after the remedy."""

    size: str
    is_seen: bool
    is_gone: bool


@dataclass(frozen=True)
class Rehearsal:
    """An incident, how it is made, and its remedy. It undoes what it makes."""

    incident: str
    made: str
    remedy: str
    run: Callable[[random.Random, Path], Outcome]


def has(incident: str, evidence: Iterable[Evidence]) -> bool:
    """True if any evidence shows the incident."""
    return any(incident in judged(item).all for item in evidence)

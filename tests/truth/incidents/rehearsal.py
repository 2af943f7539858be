"""Contract of incidents that are made for real, recognised, remedied, and examined again."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from loadcell.incidents.evidence.base import Evidence

from .case import judged


@dataclass(frozen=True)
class Outcome:
    """Size of an incident in words; whether it was recognised, and whether it was gone after the remedy.

    `delay_s` is the time from the last sign to its recognition, `repeated` the number of examinations that
    had to be repeated, and `not_judged` the reason why the last one did not judge the incident.
    """

    size: str
    is_seen: bool
    is_gone: bool
    delay_s: float
    repeated: int = 0
    not_judged: str = ""


@dataclass(frozen=True)
class Rehearsal:
    """An incident, how it is made, and its remedy. It undoes what it makes."""

    incident: str
    made: str
    remedy: str
    run: Callable[[random.Random, Path], Outcome]


def has(incident: str, evidence: Sequence[Evidence]) -> bool:
    """True if any evidence shows the incident."""
    return any(incident in judged(item).all for item in evidence)


def is_without(incident: str, evidence: Sequence[Evidence]) -> bool:
    """True if the incident was examined, and no evidence shows it."""
    is_examined = any(incident in judged(item).healthy for item in evidence)
    return is_examined and not has(incident, evidence)

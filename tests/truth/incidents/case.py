"""Contract of replayed incidents and their controls, and their judgement."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from incidents.gc_texts import Log
from incidents.gc_texts import evidence as of_log
from loadcell.incidents.base import Diagnosis, Healthy, examine
from loadcell.incidents.evidence.base import Evidence

#: Longest time between the last sign that a definition needs and the end of the evidence.
LATEST_S: Final = 60.0


@dataclass(frozen=True)
class Example:
    """Evidence of a random size, in words. `sign_s` is the time of the last sign before its end."""

    evidence: Evidence
    size: str
    sign_s: float = 0.0


Build = Callable[[random.Random, Path], Example]


@dataclass(frozen=True)
class Replay:
    """An incident from recorded samples: `seen` has it, each of `near` is below one of its thresholds."""

    incident: str
    seen: Build
    near: tuple[Build, ...]


@dataclass(frozen=True)
class Judged:
    """Incidents that evidence shows, by their level, and those that were examined and not seen."""

    critical: tuple[str, ...]
    warning: tuple[str, ...]
    note: tuple[str, ...]
    healthy: tuple[str, ...]

    @property
    def all(self) -> tuple[str, ...]:
        """Those of any level."""
        return (*self.critical, *self.warning, *self.note)


def judged(evidence: Evidence) -> Judged:
    """Incidents of evidence."""
    judgements = examine(evidence)
    diagnoses = [item for item in judgements if isinstance(item, Diagnosis)]
    healthy = dict.fromkeys(item.incident for item in judgements if isinstance(item, Healthy))

    def of(level: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(item.incident for item in diagnoses if item.level == level))

    return Judged(of("critical"), of("warning"), of("note"), tuple(healthy))


def log_example(log: Log, directory: Path, size: str, sign_s: float = 0.0) -> Example:
    """A GC log as a example."""
    return Example(of_log(directory, log), size, sign_s)

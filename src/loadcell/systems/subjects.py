"""Subjects of faults: parts of a target that a plan can break on purpose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class SubjectAbilities:
    """Abilities of a subject, known before the target is up.

    `startable`: the target can stop and start it.
    """

    startable: bool = False


@dataclass(frozen=True)
class Subject:
    """A subject of a target that is up, by the name that plans use (`postgres`, `storage.brick`).

    `processes` gives the present roots of its process trees; `stop` and `start` are the target's own
    commands, which raise TargetError; None where it has none.
    """

    name: str
    processes: Callable[[], tuple[int, ...]]
    stop: Callable[[], None] | None = None
    start: Callable[[], None] | None = None

"""The plans that come with loadcell, by name: `loadcell run quickstart` needs no path."""

from __future__ import annotations

from pathlib import Path

from loadcell.model.message import MessageCode
from loadcell.plan.problems import Mark, PlanError, Problem, nearest

PLAN_NOT_READY_MADE = MessageCode("plan.not-ready-made", names=list)

#: in an installed package, and in a checkout
_PLACES = (Path(__file__).parent.parent / "ready_plans", Path(__file__).parents[3] / "plans")


def ready_plans() -> dict[str, Path]:
    """Name -> file of every plan that comes with loadcell, by name."""
    for directory in _PLACES:
        plans = {path.stem: path for path in sorted(directory.glob("*.yaml"))}
        if plans:
            return plans
    return {}


def find(text: str) -> Path:
    """The plan a user names: a path, or, when there is no such file, the name of a ready-made plan.

    Raises PlanError when it is neither.
    """
    path = Path(text)
    if "/" in text or path.suffix not in ("", ".yaml") or path.exists():
        return path
    ready = ready_plans()
    near = nearest(path.stem, ready)
    if path.stem in ready:
        return ready[path.stem]
    raise PlanError([Problem(Mark(text), "", PLAN_NOT_READY_MADE(names=list(ready)), near)])

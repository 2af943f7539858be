"""Plans that come with loadcell, and the plan that a user names."""

from __future__ import annotations

from pathlib import Path

from loadcell.model.message import MessageCode
from loadcell.plan.problems import Mark, PlanError, Problem, nearest

PLAN_NOT_READY_MADE = MessageCode("plan.not-ready-made", names=list)

#: in an installed package, and in a checkout
_READY_PLANS = (Path(__file__).parent.parent / "ready_plans", Path(__file__).parents[3] / "plans")


def ready_plans() -> dict[str, Path]:
    """Name -> file of every plan that comes with loadcell, by name."""
    for directory in _READY_PLANS:
        plans = {path.stem: path for path in sorted(directory.glob("*.yaml"))}
        if plans:
            return plans
    return {}


def find_plan(text: str) -> Path:
    """The plan that a user names: a path, or, without such a file, the name of a built-in plan.

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

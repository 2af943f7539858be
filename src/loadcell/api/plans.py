"""Plans as they are given in Python: a path, the name of a built-in plan, or a dictionary."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from ruamel.yaml import YAML

from loadcell import parts
from loadcell.model.json import JsonValue
from loadcell.model.message import MessageCode
from loadcell.plan import load as plan_loader
from loadcell.plan.load import LoadedPlan
from loadcell.plan.problems import Mark, PlanError, Problem
from loadcell.plan.ready import find_plan

VALUE_OF_OTHER_TYPE = MessageCode("api.value-type", type=str)

#: The path of a plan, the name of a built-in one, or the plan itself as a dictionary.
Plan: TypeAlias = str | Path | Mapping[str, object]
#: Columns of a plan's text.
_WIDTH = 100
_NAME = "plan"


def load_plan(
    plan: Plan,
    *,
    overrides: Mapping[str, object] | None = None,
    only: Mapping[str, object] | None = None,
    repeats: int | None = None,
    labels: Mapping[str, str] | None = None,
    name: str | None = None,
) -> LoadedPlan:
    """Load a plan with changes. Raises PlanError with all its mistakes.

    `overrides` are settings by their paths, as after `--set`, and `only` levels by factor. Files that a
    dictionary names are looked for in the current directory; `name` names its runs.
    """
    changes = assignments(overrides)
    if repeats is not None:
        changes = (*changes, f"repeats={repeats}")
    chosen, added = selections(only), tuple(f"{key}={value}" for key, value in (labels or {}).items())
    if isinstance(plan, Mapping):
        return plan_loader.load_text(
            text(plan),
            Path(name or _NAME),
            parts.installed(),
            sets=changes,
            only=chosen,
            added_labels=added,
            placed=False,
            directory=Path.cwd(),
        )
    path = find_plan(plan) if isinstance(plan, str) else plan
    return plan_loader.load_plan(
        path, parts.installed(), sets=changes, only=chosen, added_labels=added, name=name
    )


def text(plan: Mapping[str, object]) -> str:
    """A plan of a dictionary in YAML. Raises PlanError for values of types that a plan does not have."""
    yaml = YAML()
    yaml.width = _WIDTH
    yaml.default_flow_style = False
    out = io.StringIO()
    yaml.dump(_plain(plan, ""), out)
    return out.getvalue()


def assignments(overrides: Mapping[str, object] | None) -> tuple[str, ...]:
    """Changed settings as after `--set`: texts as they are, other values as JSON."""
    return tuple(f"{path}={_written(value, path)}" for path, value in (overrides or {}).items())


def selections(only: Mapping[str, object] | None) -> tuple[str, ...]:
    """Selected levels as after `--only`."""
    chosen = []
    for factor, levels in (only or {}).items():
        several = isinstance(levels, Iterable) and not isinstance(levels, str)
        labels = ",".join(str(level) for level in levels) if several else str(levels)  # type: ignore[attr-defined]
        chosen.append(f"{factor}={labels}")
    return tuple(chosen)


def _written(value: object, path: str) -> str:
    return value if isinstance(value, str) else json.dumps(_plain(value, path), ensure_ascii=False)


def _plain(value: object, path: str) -> JsonValue:
    """A value as plans have it: also paths, tuples, ranges, and numbers of NumPy."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item, f"{path}.{key}".lstrip(".")) for key, item in value.items()}
    if isinstance(value, Sequence | range) and not isinstance(value, bytes | bytearray):
        return [_plain(item, path) for item in value]
    number = getattr(value, "item", None)
    if callable(number) and getattr(value, "shape", None) == ():
        return _plain(number(), path)
    raise PlanError([Problem(Mark(_NAME), path, VALUE_OF_OTHER_TYPE(type=type(value).__name__))])

"""Specifications for the engine that state only what a test is about."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from loadcell.execution.executor import GroupOrder, LoadOrder

#: Defaults by dotted path, where `*` stands for any key or index; the engine's own tests use them, too.
DEFAULTS: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parent.parent / "engine/tests/src/defaults.json").read_text(encoding="utf-8")
)


def complete(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The specification with every field that the engine requires."""
    completed: dict[str, Any] = section_of("", spec)
    for holder in [completed, *completed.get("groups", [])]:
        if "workload" in holder:
            holder["workload"] = {name: section_of(name, part) for name, part in holder["workload"].items()}
    return completed


def load_order(spec: Mapping[str, Any], made_by: str | None = None) -> LoadOrder:
    """Order of a load with one client group from the engine's specification of it."""
    spec = complete(spec)
    group = GroupOrder("", spec["workload"], {})
    return LoadOrder(spec["target"], (group,), spec["load"], spec["seed"], made_by)


def section_of(path: str, value: Any) -> Any:
    """The part of a specification at `path`, such as `kv` or `target.store`, with all its fields."""
    if isinstance(value, list | tuple):
        return [section_of(f"{path}.*", item) for item in value]
    if not isinstance(value, Mapping):
        return value
    fields = {**DEFAULTS.get(path, {}), **value}
    prefix = f"{path}." if path else ""
    return {key: section_of(f"{prefix}*", section_of(f"{prefix}{key}", item)) for key, item in fields.items()}

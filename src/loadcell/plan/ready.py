"""The plans that come with loadcell, by name: `loadcell run quickstart` needs no path."""

from __future__ import annotations

from pathlib import Path

#: in an installed package, and in a checkout
_PLACES = (Path(__file__).parent.parent / "ready_plans", Path(__file__).parents[3] / "plans")


def ready_plans() -> dict[str, Path]:
    """Name -> file of every plan that comes with loadcell, by name."""
    for place in _PLACES:
        found = {path.stem: path for path in sorted(place.glob("*.yaml"))}
        if found:
            return found
    return {}


def find(text: str) -> Path:
    """The plan a user names: a path, or, when there is no such file, the name of a ready-made plan."""
    path = Path(text)
    if not path.exists() and "/" not in text:
        return ready_plans().get(path.stem, path) if path.suffix in ("", ".yaml") else path
    return path

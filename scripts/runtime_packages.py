"""The packages of an installation: what pyproject.toml requires, and what that requires in turn."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]


def runtime_packages() -> dict[str, Distribution]:
    """The packages that are installed with loadcell by default, by their normalised names.

    Raises PackageNotFoundError if one is not installed here.
    """
    document = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    waiting = [(Requirement(line), "") for line in document["project"]["dependencies"]]
    packages: dict[str, Distribution] = {}
    visited: set[tuple[str, str]] = set()
    while waiting:
        required, extra_of_parent = waiting.pop()
        if required.marker is not None and not required.marker.evaluate({"extra": extra_of_parent}):
            continue
        name = re.sub(r"[-_.]+", "-", required.name).lower()
        packages[name] = distribution(required.name)
        for extra in {"", *required.extras}:
            if (name, extra) not in visited:
                visited.add((name, extra))
                waiting += [(Requirement(line), extra) for line in packages[name].requires or []]
    return packages

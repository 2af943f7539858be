"""Random orders of tests in which those of one module, and of one class, stay adjacent.

Fixtures of a module or a class are then set up once in a repeat, not before every test.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest


def shuffled(items: Sequence[pytest.Item], source: random.Random) -> list[pytest.Item]:
    """The tests in a random order."""
    return _shuffled(items, source, 1)


def _shuffled(items: Sequence[pytest.Item], source: random.Random, depth: int) -> list[pytest.Item]:
    groups: dict[object, list[pytest.Item]] = {}
    for item in items:
        chain = item.listchain()
        groups.setdefault(chain[depth] if depth < len(chain) else item, []).append(item)
    ordered = list(groups.values())
    source.shuffle(ordered)
    return [
        item
        for group in ordered
        for item in (group if len(group) == 1 else _shuffled(group, source, depth + 1))
    ]

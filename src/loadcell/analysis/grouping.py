"""Grouping of equivalent items."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


def groups(items: Iterable[T], alike: Callable[[T, T], bool]) -> list[list[T]]:
    """Items in groups of which each is `alike` to every other: in the order given, each in the first group
    that it fits.
    """
    classes: list[list[T]] = []
    for item in items:
        home = next((group for group in classes if all(alike(item, other) for other in group)), None)
        if home is None:
            classes.append([item])
        else:
            home.append(item)
    return classes

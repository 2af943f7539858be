"""Classes in stacks of JVMs, whose innermost frames are those of objects or of locks."""

from __future__ import annotations

from typing import Final

from loadcell.analysis import flames
from loadcell.analysis.flames import Profile
from loadcell.model import numbers

_MOST_CLASSES: Final = 3


def largest_classes(profile: Profile) -> list[str]:
    """The innermost frames with the largest shares."""
    largest = flames.functions(profile.stacks)[:_MOST_CLASSES]
    return [
        f"{function.name} {numbers.share(function.self_samples / profile.samples)}"
        for function in largest
        if function.self_samples
    ]

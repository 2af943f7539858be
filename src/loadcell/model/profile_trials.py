"""Names of trials that only profile: `profile-<treatment>` for CPU time, `profile-<kind>-<treatment>` for
another kind.
"""

from __future__ import annotations

from typing import Final

ROLE: Final = "profile"
#: The kind that names do not have: it was the first one.
_FIRST: Final = "cpu"


def name_of(kind: str, treatment: str) -> str:
    """Name of the trial that takes a profile of a treatment."""
    return f"{ROLE}-{treatment}" if kind == _FIRST else f"{ROLE}-{kind}-{treatment}"


def kind_of(name: str, treatment: str) -> str:
    """Kind of the profile that a trial of this name takes; empty for the name of no such trial."""
    if name == name_of(_FIRST, treatment):
        return _FIRST
    begin, end = f"{ROLE}-", f"-{treatment}"
    if name.startswith(begin) and name.endswith(end):
        return name[len(begin) : -len(end)]
    return ""

"""What servers of several kinds complain of alike."""

from __future__ import annotations

from collections.abc import Sequence

from loadcell.reasons import Reason, because


def setting_unknown(line: str, said: str, near: Sequence[str]) -> Reason:
    """The server has no such setting as is in this line of the plan; `near` are names like it that it has, the nearest first."""
    if near:
        return because("server.setting-misspelt", line=line, said=said, near=near[0])
    return because("server.setting-unknown", line=line, said=said)

"""What servers of several kinds complain of alike."""

from __future__ import annotations

from collections.abc import Sequence

from loadcell.model.message import Message
from loadcell.systems.messages import SERVER_SETTING_MISSPELT
from loadcell.systems.shared.messages import SERVER_SETTING_UNKNOWN


def setting_unknown(line: str, said: str, near: Sequence[str]) -> Message:
    """The server has no such setting as is in this line of the plan; `near` are names like it that it has, the nearest first."""
    if near:
        return SERVER_SETTING_MISSPELT(line=line, said=said, near=near[0])
    return SERVER_SETTING_UNKNOWN(line=line, said=said)

"""Startup failures that servers of several kinds have in common, recognised in the last lines of their
output.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

from loadcell.model.message import NO_OUTPUT, Message
from loadcell.systems.base import TargetError
from loadcell.systems.messages import (
    SERVER_DATA_CLOSED,
    SERVER_PORTS_TAKEN,
    SERVER_SETTING_MISSPELT,
    SERVER_SETTING_REFUSED,
    SERVER_SETTING_UNKNOWN,
    WHERE_DATA_DIRECTORY,
)
from loadcell.systems.shared.owned_directory import no_room


class PortTakenError(TargetError):
    """Another process took the port after it was chosen and before the server bound it: worth another try."""


class StillHeldError(TargetError):
    """Shared memory of a server that was killed a moment ago is still in use: worth another try."""


def common_error(output: str, kind: str, device_full: re.Pattern[str]) -> TargetError | None:
    """A taken port, a full device or a closed directory; `kind` is the target as the plan names it."""
    if "Address already in use" in output:
        return PortTakenError(SERVER_PORTS_TAKEN())
    return room_or_access_error(output, kind, device_full)


def room_or_access_error(output: str, kind: str, device_full: re.Pattern[str]) -> TargetError | None:
    """A full device, or a directory that the server's user may not enter (reported by the launcher as
    `closed:`).
    """
    if device_full.search(output):
        return no_room(kind, WHERE_DATA_DIRECTORY())
    if closed := re.search(r"^closed: (.*)$", output, re.MULTILINE):
        return TargetError(SERVER_DATA_CLOSED(path=closed[1], kind=kind))
    return None


def setting_error(
    name: str, value: object, message: str, kind: str, *, unknown: bool = False, names: Iterable[str] = ()
) -> TargetError:
    """A setting of the plan that the server refuses, or (`unknown`) does not have; `names` are those that it
    has.
    """
    line = f"{name}: {value}"
    if not unknown:
        return TargetError(SERVER_SETTING_REFUSED(line=line, said=message, kind=kind, name=name))
    if near := difflib.get_close_matches(name, list(names), n=1):
        return TargetError(SERVER_SETTING_MISSPELT(line=line, said=message, near=near[0]))
    return TargetError(SERVER_SETTING_UNKNOWN(line=line, said=message))


def last_line(lines: Sequence[str]) -> str | Message:
    """The last line that is not blank."""
    return next((line.strip() for line in reversed(lines) if line.strip()), NO_OUTPUT)

"""What a server that did not come up said about it, turned into a finding with advice."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from loadcell.model.message import NO_OUTPUT, Message
from loadcell.systems.base import TargetError
from loadcell.systems.messages import (
    SERVER_DATA_CLOSED,
    SERVER_NOT_STARTED,
    SERVER_PORTS_TAKEN,
    SERVER_SETTING_MISSPELT,
    SERVER_SETTING_REFUSED,
    WHERE_DATA_DIRECTORY,
)
from loadcell.systems.redis.messages import REDIS_NO_MEMORY, REDIS_SETTING_UNKNOWN
from loadcell.systems.redis.settings import RESERVED, THAT_MATTER
from loadcell.systems.shared.owned_directory import no_room

#: A line of the log: `1234:M 21 Nov 2026 10:00:00.000 # Failed opening ...`.
_SPOKEN = re.compile(r"^\d+:[A-Z] .*? [#*] (.*)$")
_NO_ROOM = re.compile(r"No space left on device|Disk quota exceeded")


class PortTakenError(TargetError):
    """Somebody else took the port between our choosing it and the server's binding it: worth another try."""


def of_start(words: Sequence[str], settings: Mapping[str, Any]) -> TargetError:
    """Why the server did not start, from the last lines of its log. `settings` are those of the plan."""
    text = "\n".join(words)
    if "Address already in use" in text:
        return PortTakenError(SERVER_PORTS_TAKEN())
    if _NO_ROOM.search(text):
        return no_room("redis", WHERE_DATA_DIRECTORY())
    closed = re.search(r"^closed: (.*)$", text, re.MULTILINE)
    if closed:
        return TargetError(SERVER_DATA_CLOSED(path=closed[1], kind="redis"))
    refused = _refused(text, settings)
    if refused is not None:
        return refused
    memory = re.search(r"Out of memory allocating \d+ bytes|Can't allocate memory", text)
    if memory:
        return TargetError(REDIS_NO_MEMORY(said=memory[0]))
    return TargetError(SERVER_NOT_STARTED(said=_last_words(words)))


def _refused(text: str, settings: Mapping[str, Any]) -> TargetError | None:
    """A line of the configuration that the server does not take."""
    found = re.search(r"^>>> '(\S+)(.*)'$\n(.*)", text, re.MULTILINE)
    if found is None:
        return None
    name, said = found[1], found[3].strip()
    if name not in settings:
        return None
    line = f"{name}: {settings[name]}"
    if "Bad directive" not in said:
        return TargetError(SERVER_SETTING_REFUSED(line=line, said=said, kind="redis", name=name))
    near = difflib.get_close_matches(name, [*THAT_MATTER, *RESERVED], n=1)
    if near and near[0] != name:
        return TargetError(SERVER_SETTING_MISSPELT(line=line, said=said, near=near[0]))
    return TargetError(REDIS_SETTING_UNKNOWN(line=line, said=said))


def _last_words(words: Sequence[str]) -> str | Message:
    spoken = [found[1] for line in words if (found := _SPOKEN.match(line))]
    # The last is the cause; what comes before it on the way tells of nothing.
    said = spoken[-1:] or [line.strip() for line in words if line.strip()][-1:]
    return said[0] if said else NO_OUTPUT

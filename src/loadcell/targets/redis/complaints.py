"""What a server that did not come up said about it, turned into a finding with advice."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from loadcell.targets.base import TargetError
from loadcell.targets.redis.settings import RESERVED, THAT_MATTER
from loadcell.targets.shared.home import no_room

#: A line of the log: `1234:M 21 Nov 2026 10:00:00.000 # Failed opening ...`.
_SPOKEN = re.compile(r"^\d+:[A-Z] .*? [#*] (.*)$")
_NO_ROOM = re.compile(r"No space left on device|Disk quota exceeded")


class PortTakenError(TargetError):
    """Somebody else took the port between our choosing it and the server's binding it: worth another try."""


def of_start(words: Sequence[str], settings: Mapping[str, Any]) -> TargetError:
    """Why the server did not start, from the last lines of its log. `settings` are those of the plan."""
    text = "\n".join(words)
    if "Address already in use" in text:
        return PortTakenError(
            "other programs took every port that was chosen for the server",
            advice="try again; if it stays so, look for what holds the ports of 127.0.0.1 (`ss -ltnp`)",
        )
    if _NO_ROOM.search(text):
        return no_room("redis", "the data directory")
    closed = re.search(r"^closed: (.*)$", text, re.MULTILINE)
    if closed:
        return TargetError(
            f"the server's user cannot enter the data directory: {closed[1]}",
            advice="name a directory in `target.redis.data` that all users can reach, or a user in `target.redis.run_as` "
            "who can reach this one",
        )
    refused = _refused(text, settings)
    if refused is not None:
        return refused
    memory = re.search(r"Out of memory allocating \d+ bytes|Can't allocate memory", text)
    if memory:
        return TargetError(
            f"the server got no memory: {memory[0]}", advice="free memory on this machine, or use fewer keys"
        )
    return TargetError(
        f"the server did not start: {_last_words(words)}",
        advice="the trial's output.log has all that it said",
    )


def _refused(text: str, settings: Mapping[str, Any]) -> TargetError | None:
    """A line of the configuration that the server does not take."""
    found = re.search(r"^>>> '(\S+)(.*)'$\n(.*)", text, re.MULTILINE)
    if found is None:
        return None
    name, said = found[1], found[3].strip()
    if name not in settings:
        return None
    if "Bad directive" in said:
        near = difflib.get_close_matches(name, [*THAT_MATTER, *RESERVED], n=1)
        advice = (
            f"did you mean `{near[0]}`?"
            if near and near[0] != name
            else "this server has no such setting, or its value has another number of words"
        )
    else:
        advice = f"correct `target.redis.settings.{name}`"
    return TargetError(f"the server refused `{name}: {settings[name]}`: {said}", advice=advice)


def _last_words(words: Sequence[str]) -> str:
    spoken = [found[1] for line in words if (found := _SPOKEN.match(line))]
    # The last is the cause; what comes before it on the way tells of nothing.
    said = spoken[-1:] or [line.strip() for line in words if line.strip()][-1:]
    return said[0] if said else "it said nothing"

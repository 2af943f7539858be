"""Errors of a server that did not start, from the last lines of its output."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence

from loadcell.model.message import Message
from loadcell.systems.base import TargetError
from loadcell.systems.messages import SERVER_NOT_STARTED
from loadcell.systems.redis.messages import REDIS_NO_MEMORY, REDIS_SETTING_UNKNOWN
from loadcell.systems.redis.settings import RECORDED, RESERVED
from loadcell.systems.shared.settings import Setting
from loadcell.systems.shared.startup_errors import common_error, last_line, setting_error

#: A line of the log: `1234:M 21 Nov 2026 10:00:00.000 # Failed opening ...`.
_LOG_LINE = re.compile(r"^\d+:[A-Z] .*? [#*] (.*)$")
_DEVICE_FULL = re.compile(r"No space left on device|Disk quota exceeded")


def startup_error(lines: Sequence[str], settings: Mapping[str, Setting]) -> TargetError:
    """The reason why the server did not start. `settings` are those of the plan."""
    output = "\n".join(lines)
    error = common_error(output, "redis", _DEVICE_FULL) or _refused_setting(output, settings)
    if error is not None:
        return error
    memory = re.search(r"Out of memory allocating \d+ bytes|Can't allocate memory", output)
    if memory:
        return TargetError(REDIS_NO_MEMORY(said=memory[0]))
    return TargetError(SERVER_NOT_STARTED(said=_last_message(lines)))


def _refused_setting(output: str, settings: Mapping[str, Setting]) -> TargetError | None:
    match = re.search(r"^>>> '(\S+)(.*)'$\n(.*)", output, re.MULTILINE)
    if match is None or match[1] not in settings:
        return None
    name, message = match[1], match[3].strip()
    if "Bad directive" not in message:
        return setting_error(name, settings[name], message, "redis")
    near = difflib.get_close_matches(name, [*RECORDED, *RESERVED], n=1)
    if near and near[0] != name:
        return setting_error(name, settings[name], message, "redis", unknown=True, names=near)
    return TargetError(REDIS_SETTING_UNKNOWN(line=f"{name}: {settings[name]}", said=message))


def _last_message(lines: Sequence[str]) -> str | Message:
    """The last logged message, which is the cause; else the last line."""
    messages = [match[1] for line in lines if (match := _LOG_LINE.match(line))]
    return messages[-1] if messages else last_line(lines)

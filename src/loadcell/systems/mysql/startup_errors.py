"""Errors of a server that did not start, from the last lines of its output."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from loadcell.systems.base import TargetError
from loadcell.systems.messages import SERVER_DATA_IN_USE, SERVER_INIT_FAILED, SERVER_NOT_STARTED
from loadcell.systems.mysql.messages import MYSQL_NO_MEMORY, MYSQL_NO_MEMORY_FOR
from loadcell.systems.shared.settings import Setting
from loadcell.systems.shared.startup_errors import (
    common_error,
    last_line,
    room_or_access_error,
    setting_error,
)

#: A line of the log: `2026-11-21 10:00:00 0 [ERROR] InnoDB: ...`; without the time while the server reads its
#: options.
_ERROR_LINE = re.compile(r"\[ERROR\] (?:\S*(?:mariadbd|mysqld): )?(.*)")
_DEVICE_FULL = re.compile(r"No space left on device|Disk quota exceeded|Errcode: 28|\bdisk is full\b")
_NO_MEMORY = re.compile(r"Cannot allocate memory for the buffer pool|Out of memory|mmap\(\d+ bytes\) failed")


def startup_error(
    lines: Sequence[str], settings: Mapping[str, Setting], names: Iterable[str] = ()
) -> TargetError:
    """The reason why the server did not start.

    `settings` are those of the plan, `names` those that the server has.
    """
    output = "\n".join(lines)
    if error := common_error(output, "mysql", _DEVICE_FULL):
        return error
    if re.search(r"Unable to lock \S+ error: 11", output):
        return TargetError(SERVER_DATA_IN_USE())
    if memory := _NO_MEMORY.search(output):
        size = settings.get("innodb_buffer_pool_size")
        if size is None:
            return TargetError(MYSQL_NO_MEMORY(said=memory[0]))
        return TargetError(MYSQL_NO_MEMORY_FOR(size=size, said=memory[0]))
    messages = _messages(lines)
    return _refused_setting(messages, settings, names) or TargetError(
        SERVER_NOT_STARTED(said=messages[0] if messages else last_line(lines))
    )


def install_error(output: str) -> TargetError:
    """The reason why the data directory could not be made."""
    if error := room_or_access_error(output, "mysql", _DEVICE_FULL):
        return error
    lines = output.splitlines()
    message = next(iter(_messages(lines)), None) or last_line(lines)
    return TargetError(SERVER_INIT_FAILED(program="mariadb-install-db", said=message))


def _messages(lines: Sequence[str]) -> list[str]:
    return [match[1].strip() for line in lines if (match := _ERROR_LINE.search(line))]


def _refused_setting(
    messages: Sequence[str], settings: Mapping[str, Setting], names: Iterable[str]
) -> TargetError | None:
    for message in messages:
        for name, value in settings.items():
            if re.search(rf"(?<![\w.]){name.replace('_', '[_-]')}(?![\w.])", message, re.IGNORECASE):
                unknown = "unknown variable" in message or "unknown option" in message
                return setting_error(name, value, message, "mysql", unknown=unknown, names=names)
    return None

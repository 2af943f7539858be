"""What a server that did not come up said about it, turned into a finding with advice."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from loadcell.model.message import NO_OUTPUT, Message
from loadcell.systems.base import TargetError
from loadcell.systems.messages import (
    SERVER_DATA_CLOSED,
    SERVER_DATA_IN_USE,
    SERVER_INIT_FAILED,
    SERVER_NOT_STARTED,
    SERVER_PORTS_TAKEN,
    SERVER_SETTING_REFUSED,
    WHERE_DATA_DIRECTORY,
)
from loadcell.systems.mysql.messages import MYSQL_NO_MEMORY, MYSQL_NO_MEMORY_FOR
from loadcell.systems.shared.owned_directory import no_room
from loadcell.systems.shared.startup_errors import setting_unknown

#: A line of the log: `2026-11-21 10:00:00 0 [ERROR] InnoDB: ...`; without the time while the server reads its options.
_SPOKEN = re.compile(r"\[ERROR\] (?:\S*(?:mariadbd|mysqld): )?(.*)")
_NO_ROOM = re.compile(r"No space left on device|Disk quota exceeded|Errcode: 28|\bdisk is full\b")


class PortTakenError(TargetError):
    """Somebody else took the port between our choosing it and the server's binding it: worth another try."""


def of_start(words: Sequence[str], settings: Mapping[str, Any], known: Iterable[str] = ()) -> TargetError:
    """Why the server did not start, from the last lines of its log. `settings` are those of the plan."""
    text = "\n".join(words)
    if "Address already in use" in text:
        return PortTakenError(SERVER_PORTS_TAKEN())
    if _NO_ROOM.search(text):
        return no_room("mysql", WHERE_DATA_DIRECTORY())
    closed = re.search(r"^closed: (.*)$", text, re.MULTILINE)
    if closed:
        return _closed(closed[1])
    if re.search(r"Unable to lock \S+ error: 11", text):
        return TargetError(SERVER_DATA_IN_USE())
    spoken = [found[1].strip() for line in words if (found := _SPOKEN.search(line))]
    memory = re.search(
        r"Cannot allocate memory for the buffer pool|Out of memory|mmap\(\d+ bytes\) failed", text
    )
    if memory:
        size = settings.get("innodb_buffer_pool_size")
        if size is None:
            return TargetError(MYSQL_NO_MEMORY(said=memory[0]))
        return TargetError(MYSQL_NO_MEMORY_FOR(size=size, said=memory[0]))
    return _refused(spoken, settings, known) or TargetError(
        SERVER_NOT_STARTED(said=spoken[0] if spoken else last_words(words))
    )


def of_install(output: str) -> TargetError:
    """Why the data directory could not be made."""
    if _NO_ROOM.search(output):
        return no_room("mysql", WHERE_DATA_DIRECTORY())
    closed = re.search(r"^closed: (.*)$", output, re.MULTILINE)
    if closed:
        return _closed(closed[1])
    spoken = [found[1] for line in output.splitlines() if (found := _SPOKEN.search(line))]
    said = spoken[0] if spoken else last_words(output.splitlines())
    return TargetError(SERVER_INIT_FAILED(program="mariadb-install-db", said=said))


def last_words(words: Sequence[str]) -> str | Message:
    return next((line.strip() for line in reversed(words) if line.strip()), NO_OUTPUT)


def _closed(where: str) -> TargetError:
    return TargetError(SERVER_DATA_CLOSED(path=where, kind="mysql"))


def _refused(spoken: Sequence[str], settings: Mapping[str, Any], known: Iterable[str]) -> TargetError | None:
    for said in spoken:
        for name, value in settings.items():
            if not re.search(rf"(?<![\w.]){name.replace('_', '[_-]')}(?![\w.])", said, re.IGNORECASE):
                continue
            line = f"{name}: {value}"
            if "unknown variable" in said or "unknown option" in said:
                near = difflib.get_close_matches(name, list(known), n=1)
                return TargetError(setting_unknown(line, said, near))
            return TargetError(SERVER_SETTING_REFUSED(line=line, said=said, kind="mysql", name=name))
    return None

"""What a server that did not come up said about it, turned into a finding with advice."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
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
from loadcell.systems.postgres.messages import (
    POSTGRES_DATA_IN_USE_BY,
    POSTGRES_NO_EXTENSION,
    POSTGRES_NO_MEMORY,
    POSTGRES_NO_MEMORY_FOR,
    POSTGRES_OTHER_VERSION,
    POSTGRES_STILL_HELD,
)
from loadcell.systems.shared.owned_directory import no_room
from loadcell.systems.shared.startup_errors import setting_unknown

#: A line of the log, or what the server says before it has a log.
_SPOKEN = re.compile(r"(?:\b(?:LOG|FATAL|PANIC|ERROR|HINT|DETAIL|WARNING): +|^postgres: )(.*)")
#: How a full device shows, by the kernel's words or by a write that came out short.
_NO_ROOM = re.compile(
    r"No space left on device|Disk quota exceeded|wrote only \d+ of \d+ bytes|Check free disk space"
)
_GRAVE = re.compile(r"\b(?:FATAL|PANIC|ERROR): +(.*)")

#: Settings that decide how much shared memory the server asks the kernel for.
_MEMORY = (
    "shared_buffers",
    "huge_pages",
    "huge_page_size",
    "max_connections",
    "wal_buffers",
    "shared_memory_type",
)


class PortTakenError(TargetError):
    """Somebody else took the port between our choosing it and the server's binding it: worth another try."""


class StillHeldError(TargetError):
    """The shared memory of a server that was killed a moment ago is still in use: worth another try."""


def of_start(
    words: Sequence[str], settings: Mapping[str, Any], known: Callable[[], Iterable[str]] = tuple
) -> TargetError:
    """Why the server did not start, from the last lines of its log.

    `settings` are those of the plan; `known` gives the names of all settings this server has.
    """
    text = "\n".join(words)
    for telling in (_port, _locked, _held, _room, _other_version, _memory):
        trouble = telling(text, settings)
        if trouble is not None:
            return trouble
    return _refused(words, settings, known) or TargetError(SERVER_NOT_STARTED(said=last_words(words)))


def of_initdb(output: str) -> TargetError:
    """Why `initdb` failed."""
    if _NO_ROOM.search(output):
        return no_room("postgres", WHERE_DATA_DIRECTORY())
    closed = re.search(r"^closed: (.*)$", output, re.MULTILINE)
    if closed:
        return TargetError(SERVER_DATA_CLOSED(path=closed[1], kind="postgres"))
    lines = output.splitlines()
    said = next((line.partition("error: ")[2] for line in lines if "error: " in line), None) or last_words(
        lines
    )
    return TargetError(SERVER_INIT_FAILED(program="initdb", said=said))


def last_words(words: Sequence[str]) -> str | Message:
    """The line that says most: the gravest the server wrote, else its last."""
    grave = [found[1] for line in words if (found := _GRAVE.search(line))]
    if grave:
        return grave[0]
    return next((line.strip() for line in reversed(words) if line.strip()), NO_OUTPUT)


def _port(text: str, _: Mapping[str, Any]) -> TargetError | None:
    if "Address already in use" not in text:
        return None
    return PortTakenError(SERVER_PORTS_TAKEN())


def _locked(text: str, _: Mapping[str, Any]) -> TargetError | None:
    if not re.search(r'lock file "[^"]*" already exists', text):
        return None
    holder = re.search(r"\(PID (\d+)\) running in data directory \"([^\"]*)\"", text)
    if holder is None:
        return TargetError(SERVER_DATA_IN_USE())
    return TargetError(POSTGRES_DATA_IN_USE_BY(path=holder[2], pid=holder[1]))


def _held(text: str, _: Mapping[str, Any]) -> TargetError | None:
    if "pre-existing shared memory block" not in text:
        return None
    return StillHeldError(POSTGRES_STILL_HELD())


def _room(text: str, _: Mapping[str, Any]) -> TargetError | None:
    if not _NO_ROOM.search(text) or re.search("shared memory|dev/shm", text):
        return None
    return no_room("postgres", WHERE_DATA_DIRECTORY())


def _other_version(text: str, _: Mapping[str, Any]) -> TargetError | None:
    found = re.search(
        r"initialized by PostgreSQL version (\S+), which is not compatible with this version (.*)", text
    )
    if found is None:
        return None
    return TargetError(POSTGRES_OTHER_VERSION(found=found[1].rstrip(","), version=found[2].rstrip(".")))


def _memory(text: str, settings: Mapping[str, Any]) -> TargetError | None:
    if not re.search(r"could not (?:map anonymous|create|resize) shared memory", text):
        return None
    named = [f"`{name}: {settings[name]}`" for name in _MEMORY if name in settings]
    said = last_words(text.splitlines())
    if not named:
        return TargetError(POSTGRES_NO_MEMORY(said=said))
    return TargetError(POSTGRES_NO_MEMORY_FOR(settings=named, said=said))


def _refused(
    words: Sequence[str], settings: Mapping[str, Any], known: Callable[[], Iterable[str]]
) -> TargetError | None:
    spoken = [found[1].strip() for line in words if (found := _SPOKEN.search(line))]
    for said in spoken:
        places = {name: found.start() for name in settings if (found := _named(name, said))}
        if not places:
            continue
        name = min(places, key=lambda one: places[one])
        line = f"{name}: {settings[name]}"
        if "unrecognized configuration parameter" in said:
            near = difflib.get_close_matches(name, list(known()), n=1)
            return TargetError(setting_unknown(line, without_place(said), near))
        why = SERVER_SETTING_REFUSED(line=line, said=without_place(said), kind="postgres", name=name)
        return TargetError(why)
    preload = str(settings.get("shared_preload_libraries", ""))
    for said in spoken:
        missing = re.search(r'could not access file "([^"]+)"', said)
        if missing and missing[1] in preload:
            return TargetError(POSTGRES_NO_EXTENSION(libraries=preload, said=said))
    return None


def _named(name: str, said: str) -> re.Match[str] | None:
    return re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.])", said, re.IGNORECASE)


def without_place(said: str) -> str:
    """Without the server's own file and line, which are not the user's."""
    return re.sub(r' in file "[^"]*" line \d+', "", said)

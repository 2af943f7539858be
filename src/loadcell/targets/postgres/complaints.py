"""What a server that did not come up said about it, turned into a finding with advice."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from loadcell.targets.base import TargetError
from loadcell.targets.shared.home import no_room

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
    return _refused(words, settings, known) or TargetError(
        f"the server did not start: {last_words(words)}", advice="the trial's output.log has all that it said"
    )


def of_initdb(output: str) -> TargetError:
    """Why `initdb` failed."""
    if _NO_ROOM.search(output):
        return no_room("postgres", "the data directory")
    closed = re.search(r"^closed: (.*)$", output, re.MULTILINE)
    if closed:
        return TargetError(
            f"the server's user cannot enter the data directory: {closed[1]}",
            advice="name a directory in `target.postgres.data` that all users can reach, or a user in "
            "`target.postgres.run_as` who can reach this one",
        )
    lines = output.splitlines()
    said = next((line.partition("error: ")[2] for line in lines if "error: " in line), None) or last_words(
        lines
    )
    return TargetError(f"initdb failed: {said}", advice="the trial's output.log has all that it said")


def last_words(words: Sequence[str]) -> str:
    """The line that says most: the gravest the server wrote, else its last."""
    grave = [found[1] for line in words if (found := _GRAVE.search(line))]
    if grave:
        return grave[0]
    return next((line.strip() for line in reversed(words) if line.strip()), "it said nothing")


def _port(text: str, _: Mapping[str, Any]) -> TargetError | None:
    if "Address already in use" not in text:
        return None
    return PortTakenError(
        "other programs took every port that was chosen for the server",
        advice="try again; if it stays so, look for what holds the ports of 127.0.0.1 (`ss -ltnp`)",
    )


def _locked(text: str, _: Mapping[str, Any]) -> TargetError | None:
    if not re.search(r'lock file "[^"]*" already exists', text):
        return None
    holder = re.search(r"\(PID (\d+)\) running in data directory \"([^\"]*)\"", text)
    who = f"the server with process id {holder[1]}" if holder else "another server"
    return TargetError(
        f"the data directory is in use by {who}",
        advice="wait for the run that uses it, or name another directory",
    )


def _held(text: str, _: Mapping[str, Any]) -> TargetError | None:
    if "pre-existing shared memory block" not in text:
        return None
    return StillHeldError(
        "processes of a server that was killed still use its data directory",
        advice="end them (`ps -C postgres`), then try again",
    )


def _room(text: str, _: Mapping[str, Any]) -> TargetError | None:
    if not _NO_ROOM.search(text) or re.search("shared memory|dev/shm", text):
        return None
    return no_room("postgres", "the data directory")


def _other_version(text: str, _: Mapping[str, Any]) -> TargetError | None:
    found = re.search(
        r"initialized by PostgreSQL version (\S+), which is not compatible with this version (.*)", text
    )
    if found is None:
        return None
    return TargetError(
        f"the data directory is of PostgreSQL {found[1].rstrip(',')}, the server of {found[2].rstrip('.')}",
        advice="set `target.postgres.version`, or name another directory in `target.postgres.data`",
    )


def _memory(text: str, settings: Mapping[str, Any]) -> TargetError | None:
    if not re.search(r"could not (?:map anonymous|create|resize) shared memory", text):
        return None
    named = [f"`{name}: {settings[name]}`" for name in _MEMORY if name in settings]
    return TargetError(
        f"the server got no memory for {' and '.join(named) or 'its shared buffers'}: {last_words(text.splitlines())}",
        advice="set a smaller `target.postgres.settings.shared_buffers` (for huge_pages: reserve them first, vm.nr_hugepages)",
    )


def _refused(
    words: Sequence[str], settings: Mapping[str, Any], known: Callable[[], Iterable[str]]
) -> TargetError | None:
    spoken = [found[1].strip() for line in words if (found := _SPOKEN.search(line))]
    for said in spoken:
        places = {name: found.start() for name in settings if (found := _named(name, said))}
        if not places:
            continue
        name = min(places, key=lambda one: places[one])
        if "unrecognized configuration parameter" in said:
            near = difflib.get_close_matches(name, list(known()), n=1)
            advice = f"did you mean `{near[0]}`?" if near else "this server has no such setting"
        else:
            advice = f"correct `target.postgres.settings.{name}`"
        return TargetError(
            f"the server refused `{name}: {settings[name]}`: {without_place(said)}", advice=advice
        )
    preload = str(settings.get("shared_preload_libraries", ""))
    for said in spoken:
        missing = re.search(r'could not access file "([^"]+)"', said)
        if missing and missing[1] in preload:
            return TargetError(
                f"the server refused `shared_preload_libraries: {preload}`: {said}",
                advice="install the extension for these binaries, or leave it out",
            )
    return None


def _named(name: str, said: str) -> re.Match[str] | None:
    return re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.])", said, re.IGNORECASE)


def without_place(said: str) -> str:
    """Without the server's own file and line, which are not the user's."""
    return re.sub(r' in file "[^"]*" line \d+', "", said)

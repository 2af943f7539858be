"""Errors of a server that did not start, from the last lines of its output."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from loadcell.model.message import Message
from loadcell.systems.base import TargetError
from loadcell.systems.messages import SERVER_DATA_IN_USE, SERVER_INIT_FAILED, SERVER_NOT_STARTED
from loadcell.systems.postgres.messages import (
    POSTGRES_DATA_IN_USE_BY,
    POSTGRES_NO_EXTENSION,
    POSTGRES_NO_MEMORY,
    POSTGRES_NO_MEMORY_FOR,
    POSTGRES_OTHER_VERSION,
    POSTGRES_STILL_HELD,
)
from loadcell.systems.shared.settings import Setting
from loadcell.systems.shared.startup_errors import (
    StillHeldError,
    common_error,
    last_line,
    room_or_access_error,
    setting_error,
)

#: A line of the log, or of the server before it has a log.
_LOG_LINE = re.compile(r"(?:\b(?:LOG|FATAL|PANIC|ERROR|HINT|DETAIL|WARNING): +|^postgres: )(.*)")
_ERROR_LINE = re.compile(r"\b(?:FATAL|PANIC|ERROR): +(.*)")
#: The kernel's message for a full device, or a write that came out short; not where shared memory is full.
_DEVICE_FULL = re.compile(
    r"\A(?!.*(?:shared memory|dev/shm)).*?(?:No space left on device|Disk quota exceeded"
    r"|wrote only \d+ of \d+ bytes|Check free disk space)",
    re.DOTALL,
)
#: Settings that determine how much shared memory the server asks the kernel for.
_MEMORY = (
    "shared_buffers",
    "huge_pages",
    "huge_page_size",
    "max_connections",
    "wal_buffers",
    "shared_memory_type",
)


def startup_error(
    lines: Sequence[str], settings: Mapping[str, Setting], names: Callable[[], Iterable[str]] = tuple
) -> TargetError:
    """The reason why the server did not start.

    `settings` are those of the plan; `names` gives those that the server has.
    """
    output = "\n".join(lines)
    return (
        common_error(output, "postgres", _DEVICE_FULL)
        or _directory_in_use(output)
        or _other_version(output)
        or _no_memory(output, settings)
        or _refused_setting(lines, settings, names)
        or TargetError(SERVER_NOT_STARTED(said=gravest_line(lines)))
    )


def initdb_error(output: str) -> TargetError:
    """The reason why `initdb` failed."""
    if error := room_or_access_error(output, "postgres", _DEVICE_FULL):
        return error
    lines = output.splitlines()
    message = next((line.partition("error: ")[2] for line in lines if "error: " in line), None)
    return TargetError(SERVER_INIT_FAILED(program="initdb", said=message or gravest_line(lines)))


def gravest_line(lines: Sequence[str]) -> str | Message:
    """The first error of the log, else the last line."""
    errors = [match[1] for line in lines if (match := _ERROR_LINE.search(line))]
    return errors[0] if errors else last_line(lines)


def _directory_in_use(output: str) -> TargetError | None:
    if "pre-existing shared memory block" in output:
        return StillHeldError(POSTGRES_STILL_HELD())
    if not re.search(r'lock file "[^"]*" already exists', output):
        return None
    holder = re.search(r"\(PID (\d+)\) running in data directory \"([^\"]*)\"", output)
    if holder is None:
        return TargetError(SERVER_DATA_IN_USE())
    return TargetError(POSTGRES_DATA_IN_USE_BY(path=holder[2], pid=holder[1]))


def _other_version(output: str) -> TargetError | None:
    match = re.search(
        r"initialized by PostgreSQL version (\S+), which is not compatible with this version (.*)", output
    )
    if match is None:
        return None
    versions = {"found": match[1].rstrip(","), "version": match[2].rstrip(".")}
    return TargetError(POSTGRES_OTHER_VERSION(**versions))


def _no_memory(output: str, settings: Mapping[str, Setting]) -> TargetError | None:
    if not re.search(r"could not (?:map anonymous|create|resize) shared memory", output):
        return None
    lines = [f"`{name}: {settings[name]}`" for name in _MEMORY if name in settings]
    message = gravest_line(output.splitlines())
    if not lines:
        return TargetError(POSTGRES_NO_MEMORY(said=message))
    return TargetError(POSTGRES_NO_MEMORY_FOR(settings=lines, said=message))


def _refused_setting(
    lines: Sequence[str], settings: Mapping[str, Setting], names: Callable[[], Iterable[str]]
) -> TargetError | None:
    messages = [match[1].strip() for line in lines if (match := _LOG_LINE.search(line))]
    for message in messages:
        positions = {name: match.start() for name in settings if (match := _mention(name, message))}
        if positions:
            name = min(positions, key=positions.__getitem__)
            unknown = "unrecognized configuration parameter" in message
            return setting_error(
                name, settings[name], without_position(message), "postgres", unknown=unknown,
                names=names() if unknown else (),
            )  # fmt: skip
    preload = str(settings.get("shared_preload_libraries", ""))
    for message in messages:
        missing = re.search(r'could not access file "([^"]+)"', message)
        if missing and missing[1] in preload:
            return TargetError(POSTGRES_NO_EXTENSION(libraries=preload, said=message))
    return None


def _mention(name: str, message: str) -> re.Match[str] | None:
    return re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.])", message, re.IGNORECASE)


def without_position(message: str) -> str:
    """The message without file and line of the server's configuration, which is not the user's file."""
    return re.sub(r' in file "[^"]*" line \d+', "", message)

"""What a server that did not come up said about it, turned into a finding with advice."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from loadcell.targets.base import TargetError
from loadcell.targets.shared.home import no_room

#: A line of the log: `2026-11-21 10:00:00 0 [ERROR] InnoDB: ...`; without the time while the server reads its options.
_SPOKEN = re.compile(r"\[ERROR\] (?:\S*(?:mariadbd|mysqld): )?(.*)")
_NO_ROOM = re.compile(r"No space left on device|Disk quota exceeded|Errcode: 28|\bdisk is full\b")


class PortTakenError(TargetError):
    """Somebody else took the port between our choosing it and the server's binding it: worth another try."""


def of_start(words: Sequence[str], settings: Mapping[str, Any], known: Iterable[str] = ()) -> TargetError:
    """Why the server did not start, from the last lines of its log. `settings` are those of the plan."""
    text = "\n".join(words)
    if "Address already in use" in text:
        return PortTakenError(
            "other programs took every port that was chosen for the server",
            advice="try again; if it stays so, look for what holds the ports of 127.0.0.1 (`ss -ltnp`)",
        )
    if _NO_ROOM.search(text):
        return no_room("mysql", "the data directory")
    closed = re.search(r"^closed: (.*)$", text, re.MULTILINE)
    if closed:
        return _closed(closed[1])
    if re.search(r"Unable to lock \S+ error: 11", text):
        return TargetError(
            "the data directory is in use by another server",
            advice="wait for the run that uses it, or name another directory",
        )
    spoken = [found[1].strip() for line in words if (found := _SPOKEN.search(line))]
    memory = re.search(
        r"Cannot allocate memory for the buffer pool|Out of memory|mmap\(\d+ bytes\) failed", text
    )
    if memory:
        size = settings.get("innodb_buffer_pool_size")
        return TargetError(
            f"the server got no memory{f' for `innodb_buffer_pool_size: {size}`' if size else ''}: {memory[0]}",
            advice="set a smaller `target.mysql.settings.innodb_buffer_pool_size`",
        )
    return _refused(spoken, settings, known) or TargetError(
        f"the server did not start: {spoken[0] if spoken else last_words(words)}",
        advice="the trial's output.log has all that it said",
    )


def of_install(output: str) -> TargetError:
    """Why the data directory could not be made."""
    if _NO_ROOM.search(output):
        return no_room("mysql", "the data directory")
    closed = re.search(r"^closed: (.*)$", output, re.MULTILINE)
    if closed:
        return _closed(closed[1])
    spoken = [found[1] for line in output.splitlines() if (found := _SPOKEN.search(line))]
    said = spoken[0] if spoken else last_words(output.splitlines())
    return TargetError(
        f"mariadb-install-db failed: {said}", advice="the trial's output.log has all that it said"
    )


def last_words(words: Sequence[str]) -> str:
    return next((line.strip() for line in reversed(words) if line.strip()), "it said nothing")


def _closed(where: str) -> TargetError:
    return TargetError(
        f"the server's user cannot enter the data directory: {where}",
        advice="name a directory in `target.mysql.data` that all users can reach, or a user in `target.mysql.run_as` who "
        "can reach this one",
    )


def _refused(spoken: Sequence[str], settings: Mapping[str, Any], known: Iterable[str]) -> TargetError | None:
    for said in spoken:
        for name, value in settings.items():
            if not re.search(rf"(?<![\w.]){name.replace('_', '[_-]')}(?![\w.])", said, re.IGNORECASE):
                continue
            if "unknown variable" in said or "unknown option" in said:
                near = difflib.get_close_matches(name, list(known), n=1)
                advice = f"did you mean `{near[0]}`?" if near else "this server has no such setting"
            else:
                advice = f"correct `target.mysql.settings.{name}`"
            return TargetError(f"the server refused `{name}: {value}`: {said}", advice=advice)
    return None

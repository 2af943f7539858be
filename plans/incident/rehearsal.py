"""Rehearsals of incidents: made, examined by `loadcell doctor`, remedied, and examined again.

The steps of a rehearsal are a generator: it makes the incident and yields an examination, applies the remedy
and yields the second one. It undoes everything in `finally` or `with`. Standard library only.
"""

from __future__ import annotations

import argparse
import ctypes
import fcntl
import json
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from doctor import examination as examine

_CLONE_NEWNS: Final = 0x20000
_CLONE_NEWNET: Final = 0x40000000
_SET_FLAGS: Final = 0x8914
_UP: Final = 1
#: Words of examinations that have time limits.
_LIVE: Final = ("--live", "--pid")
_TRIES: Final = 5
#: The first examination, which `loadcell doctor RUN` and the report of the run show.
RETAINED: Final = Path("doctor.json")


@dataclass(frozen=True)
class Examination:
    """An examination by these words of the command line.

    A finding counts if its values or its summary contain `about`, and if its last sign is after `since_s`.
    """

    words: tuple[str, ...]
    size: str
    about: str = ""
    since_s: float | None = None


Steps = Iterator[Examination]


@dataclass(frozen=True)
class Rehearsal:
    """An incident: how it is made, its remedy, and their steps."""

    made: str
    remedy: str
    steps: Callable[[random.Random, Path], Steps]


@dataclass(frozen=True)
class Outcome:
    """Size of an incident in words; whether it was recognised, and whether it was gone after the remedy."""

    size: str
    is_recognised: bool
    is_gone: bool
    examinations: int
    longest_s: float


def rehearse(name: str, rehearsal: Rehearsal, chance: random.Random, directory: Path) -> Outcome:
    """Make an incident, remedy it, and undo both."""
    steps = rehearsal.steps(chance, directory)
    results: list[tuple[bool, float, str]] = []
    try:
        for examination in steps:
            begin = time.monotonic()
            document = _examined(name, examination.words)
            is_named = any(_concerns(item, examination) for item in _of(name, document, "diagnoses"))
            if not results:
                RETAINED.write_text(json.dumps(document))
            results.append((is_named, time.monotonic() - begin, examination.size))
    finally:
        steps.close()  # type: ignore[attr-defined]
    (is_recognised, first_s, size), (is_named, second_s, _) = results
    return Outcome(size, is_recognised, not is_named, len(results), max(first_s, second_s))


def _examined(name: str, words: tuple[str, ...]) -> dict[str, Any]:
    """The JSON of an examination for an incident. What reached its limit on a busy host is examined again."""
    for _number in range(_TRIES):
        document: dict[str, Any] = examine(*words)
        is_examined = _of(name, document, "diagnoses") or _of(name, document, "healthy")
        if is_examined or words[0] not in _LIVE:
            return document
    reasons = [item["text"] for item in document["unseen"] if item["incident"] == name]
    reasons += [item["text"] for item in _of(name, document, "unseen")]
    raise OSError(f"the doctor did not examine it: {', '.join(reasons)}")


def _of(name: str, document: Mapping[str, Any], part: str) -> list[dict[str, Any]]:
    return [item for subject in document["subjects"] for item in subject[part] if item["incident"] == name]


def _concerns(diagnosis: Mapping[str, Any], examination: Examination) -> bool:
    if examination.since_s is not None:
        end = diagnosis["end_utc"]
        if end is None or datetime.fromisoformat(end).timestamp() < examination.since_s:
            return False
    return examination.about in json.dumps([diagnosis["values"], diagnosis["summary"]])


def private_network() -> None:
    """Move this process into a new network namespace, whose loopback is up. Raises OSError."""
    _unshare(_CLONE_NEWNET)
    with socket.socket() as link:
        fcntl.ioctl(link, _SET_FLAGS, struct.pack("16sH22x", b"lo", _UP))


def private_mounts() -> None:
    """Move this process into a new mount namespace, which ends with it. Raises OSError."""
    _unshare(_CLONE_NEWNS)
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)


def _unshare(flag: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if library.unshare(flag) != 0:
        raise OSError(ctypes.get_errno(), "cannot make a namespace; it needs root")


def main(rehearsals: Mapping[str, Rehearsal]) -> None:
    """Rehearse an incident, and print its metrics.

    `SCRIPT INCIDENT` prints them as lines, `--json` as JSON; without a word the variable INCIDENT names it.
    `--list` prints all incidents of the script.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("incident", nargs="?", default=os.environ.get("INCIDENT"))
    parser.add_argument("--limit", type=float, default=0, help="seconds; everything is undone then")
    parser.add_argument("--seed", help="for the size of the incident; random without it")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.list:
        rows = [
            {"incident": name, "made": item.made, "remedy": item.remedy} for name, item in rehearsals.items()
        ]
        print(json.dumps(rows))
        return
    if options.incident not in rehearsals:
        parser.error(f"the incident is {options.incident}: use one of {', '.join(rehearsals)}")
    signal.signal(signal.SIGALRM, _end)
    signal.signal(signal.SIGTERM, _end)
    signal.setitimer(signal.ITIMER_REAL, options.limit)
    chance, begin = random.Random(options.seed), time.monotonic()  # noqa: S311 - sizes
    with tempfile.TemporaryDirectory(prefix="incident-", dir=Path.cwd()) as directory:
        try:
            outcome = rehearse(options.incident, rehearsals[options.incident], chance, Path(directory))
        except (OSError, subprocess.CalledProcessError) as error:
            detail = getattr(error, "stderr", None) or error
            sys.exit(f"{options.incident} cannot be made here: {detail}")
    if options.json:
        print(json.dumps(asdict(outcome)))
        return
    elapsed_s = time.monotonic() - begin
    print(f"size: {outcome.size}")
    print(f"examinations as expected: {outcome.is_recognised + outcome.is_gone}")
    print(f"others: {outcome.examinations - outcome.is_recognised - outcome.is_gone}")
    print(f"examinations per second: {outcome.examinations / elapsed_s:.3f}")
    print(f"recognised: {outcome.is_recognised:d}")
    print(f"gone: {outcome.is_gone:d}")
    print(f"examination: {outcome.longest_s:.2f} s")


def _end(number: int, _frame: object) -> None:
    """End by an exception, which undoes everything."""
    raise OSError("it took too long" if number == signal.SIGALRM else "it was ended")


def ended(process: subprocess.Popen[Any]) -> None:
    """Kill a process, and wait for its end."""
    process.kill()
    process.wait()


def program(name: str) -> str:
    """A program of the JDK in JAVA_HOME, or else on PATH."""
    home = os.environ.get("JAVA_HOME")
    return str(Path(home, "bin", name)) if home else name

"""Rehearsals of incidents: made, examined by `loadcell doctor`, remedied, and examined again.

The steps of a rehearsal are a generator: it makes the incident and yields an examination, applies the remedy
and yields the second one. It undoes everything in `finally` or `with`. Standard library only.

An incident is gone only where the doctor examined it again and did not name it.
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
class Result:
    """Answer of the doctor about the incident: whether it was examined and named, after how many tries.

    `delay_s` is the time from the last sign to the end of the examination.
    """

    is_examined: bool
    is_named: bool
    tries: int
    delay_s: float
    duration_s: float
    reason: str = ""


@dataclass(frozen=True)
class Outcome:
    """Size of an incident in words, and the results before and after the remedy.

    `is_gone` is False where the second examination did not judge the incident.
    """

    size: str
    is_recognised: bool
    is_gone: bool
    results: tuple[Result, ...]

    @property
    def not_examined(self) -> int:
        """Examinations that did not judge the incident."""
        return sum(not result.is_examined for result in self.results)


def rehearse(name: str, rehearsal: Rehearsal, chance: random.Random, directory: Path) -> Outcome:
    """Make an incident, remedy it, and undo both."""
    steps = rehearsal.steps(chance, directory)
    results: list[Result] = []
    size = ""
    try:
        for examination in steps:
            size = size or examination.size
            document, result = _examined(name, examination)
            if not results:
                RETAINED.write_text(json.dumps(document))
            results.append(result)
    finally:
        steps.close()  # type: ignore[attr-defined]
    before, after = results
    return Outcome(size, before.is_named, after.is_examined and not after.is_named, tuple(results))


def _examined(name: str, examination: Examination) -> tuple[dict[str, Any], Result]:
    """An examination for an incident. What reached its limit on a busy host is examined again."""
    most = _TRIES if examination.words[0] in _LIVE else 1
    made_s = time.time()
    for number in range(1, most + 1):
        begin_s = time.time()
        document: dict[str, Any] = examine(*examination.words)
        now_s = time.time()
        diagnosed = _of(name, document, "diagnoses")
        is_examined = bool(diagnosed or _of(name, document, "healthy"))
        if is_examined or number == most:
            break
    named = [item for item in diagnosed if _concerns(item, examination)]
    ends = [datetime.fromisoformat(item["end_utc"]).timestamp() for item in named if item["end_utc"]]
    last_sign_s = min(made_s, max(ends, default=made_s))
    reasons = [item["text"] for item in document["unseen"] if item["incident"] == name]
    reasons += [item["text"] for item in _of(name, document, "unseen")]
    reason = "" if is_examined else ", ".join(reasons) or "the doctor does not mention it"
    return document, Result(is_examined, bool(named), number, now_s - last_sign_s, now_s - begin_s, reason)


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
    for result in outcome.results:
        if not result.is_examined:
            print(f"not examined: {result.reason}", file=sys.stderr)
    expected, count = outcome.is_recognised + outcome.is_gone, len(outcome.results)
    print(f"size: {outcome.size}")
    print(f"examinations as expected: {expected}")
    print(f"others: {count - expected}")
    print(f"examinations per second: {count / elapsed_s:.3f}")
    print(f"recognised: {outcome.is_recognised:d}")
    print(f"gone: {outcome.is_gone:d}")
    print(f"not examined: {outcome.not_examined}")
    print(f"delay: {outcome.results[0].delay_s:.2f} s")
    print(f"examination: {max(result.duration_s for result in outcome.results):.2f} s")


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

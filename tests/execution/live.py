"""loadcell as a person runs it: to its end, or as a separate process that is observed from outside while it
works.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from lines import LOADCELL, called
from loadcell.store.read import StoredRun, read_run

PATIENCE_S = 90.0

#: Two trials of two seconds on data that are there in no time, with a load that leaves the machine to others.
PLAN = """
target: {postgres: {server: embedded}}
workload: {sysbench: {script: oltp_read_only, tables: 1, table_size: 1000}}
load: {clients: 2, rate: 50/s, max_backlog: 1min, warmup: 0s, duration: 2s, interval: 500ms}
repeats: 2
order: as-written
expect: [errors == 0]
"""


def external(dsn: str) -> str:
    """The same plan on a server that is running."""
    return PLAN.replace("server: embedded", f"server: external, dsn: '{dsn}'")


def until(condition: Callable[[], Any], why: str) -> Any:
    """Wait until `condition` returns something true, and return it."""
    deadline = time.monotonic() + PATIENCE_S
    while not (result := condition()):
        assert time.monotonic() < deadline, f"waited in vain for {why}"
        time.sleep(0.02)
    return result


def descendants(pid: int) -> Iterator[int]:
    """Processes below one, however deep."""
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = [int(child) for child in task.read_text().split()]
        except OSError:
            continue
        for child in children:
            yield child
            yield from descendants(child)


def command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        return ""


def living(pids: list[int]) -> list[int]:
    """Those that still are, zombies left out."""
    results = []
    for pid in pids:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state != "Z":
            results.append(pid)
    return results


class Live:
    """One `loadcell run` under way in `home`, writing to `home/run`."""

    def __init__(
        self, home: Path, plan: str = PLAN, *options: str, env: dict[str, str] | None = None
    ) -> None:
        self.home = home
        self.path = home / "run"
        (home / "plan.yaml").write_text(plan)
        arguments = options or ("--out", "run", "--no-report")
        self.process = subprocess.Popen(
            [LOADCELL, "run", "plan.yaml", *arguments],
            cwd=home, env={**os.environ, **(env or {})}, start_new_session=True, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self.out = self.err = ""

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()

    def server(self) -> int:
        """Process id of the postmaster."""
        return int(until(lambda: self._child("postgres -D"), "the server"))

    def worker(self) -> int:
        """Process id of the worker."""
        return int(until(lambda: self._child("loadcell.execution.worker"), "the worker"))

    def _child(self, words: str) -> int | None:
        return next((pid for pid in descendants(self.process.pid) if words in command_line(pid)), None)

    def measured(self, trial: int = 1) -> None:
        """Wait until the first interval of a trial's measurement has been written."""
        until(
            lambda: any(
                ",measure,transaction," in file.read_text()
                for file in self.path.glob(f"trials/.{trial:03d}-*.part/intervals.csv")
            ),
            "an interval",
        )

    def in_phase(self, phase: str, trial: int = 1) -> None:
        """Wait until a trial (by number) has come to a phase."""

        def reached() -> bool:
            for events in self.path.glob(f"trials/.{trial:03d}-*.part/events.jsonl"):
                lines = [json.loads(line) for line in events.read_text().splitlines() if line.endswith("}")]
                return any(line["event"] == "phase" and line["phase"] == phase for line in lines)
            return False

        until(reached, f"phase {phase} of trial {trial}")

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def end(self) -> int:
        """Wait for the end; gives the exit status."""
        self.out, self.err = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode

    def stored(self) -> StoredRun:
        return read_run(self.path)

    def statuses(self) -> list[str]:
        return [trial.status for trial in self.stored().trials]


def loadcell(
    home: Path, *arguments: str, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a loadcell command in `home` to its end, within this process: `Live` and tests/cli start others."""
    return called(home, *arguments, **(env or {}))


def measured(
    home: Path, *arguments: str, out: str = "run", attempts: int = 3
) -> subprocess.CompletedProcess[str]:
    """Run a plan into `out`, again where trials were invalid: on a busy machine, that is no fault of the run.

    A trial that failed ends the attempts, and the last attempt counts.
    """
    for _ in range(attempts):
        shutil.rmtree(home / out, ignore_errors=True)
        done = loadcell(home, "run", *arguments, "--out", out)
        statuses = {trial.status for trial in read_run(home / out).trials}
        if done.returncode != 3 or "invalid" not in statuses or statuses - {"ok", "invalid"}:
            break
    return done

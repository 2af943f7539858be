"""Has a load made: by a worker process, or in tests by something that only says it did."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from loadcell.execution.messages import WORKER_ENDED, WORKER_KILLED, WORKER_KILLED_FOR_GOOD
from loadcell.linux.process import LineReader
from loadcell.model.engine_messages import engine_failure
from loadcell.model.message import Message, MessageError

#: How often a waiting executor looks round: at the clock, and whether an end was asked for.
TICK_S = 0.1
_STANDARD_ERROR = 2
#: How long a worker may take to end in order once asked, before it is killed: drain, merge, write.
STOP_PATIENCE_S = 15.0

#: What a specification says to the worker, and not to whoever makes the load in it.
OF_THE_WORKER = ("made_by", "pin")

OnEvent = Callable[[dict[str, Any]], None]


class LoadError(MessageError):
    """The load could not be made, or broke: what was found, what to do about it."""


class LoadTimeoutError(Exception):
    """The load had not ended by its time limit, and was killed."""

    def __init__(self, limit_s: float) -> None:
        super().__init__(f"not ended after {limit_s:g} s")
        self.limit_s = limit_s


class LoadStoppedError(Exception):
    """The load was ended early because an end was asked for, and there is nothing to tell of it."""


class Executor(Protocol):
    """Executes a load from a specification (contract of the engine, docs/explanation/engine.md)."""

    def execute(
        self,
        mode: str,
        spec: dict[str, Any],
        *,
        on_event: OnEvent,
        on_output: Callable[[str], None],
        on_tick: Callable[[], None],
        limit_s: float,
        stop_asked: Callable[[], bool],
        on_start: Callable[[int], None] | None = None,
    ) -> dict[str, Any]:
        """Make the load (`mode` is run or prepare) and give its result.

        `made_by` in the specification names the module that makes it; without it, the engine does. `pin` in
        it says where the process that makes it runs, `[cpus, memory]`.

        `on_tick` is called some ten times a second, `on_start` once, with the process that will make the load
        and has not begun to. Raises LoadError, LoadTimeoutError, and LoadStoppedError where the end that was
        asked for came before anything was measured.
        """
        ...

    def kill(self) -> None:
        """End whatever is under way at once; may be called from a signal handler."""
        ...


class WorkerExecutor:
    """Starts a worker process for each load. Must be used from the main thread.

    (The kernel's parent-death signal is tied to the thread that started the child, so it must be one that
    lives.)
    """

    def __init__(
        self, command: tuple[str, ...] = (sys.executable, "-m", "loadcell.execution.worker")
    ) -> None:
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None

    def start_at(self, mono_ns: int) -> None:
        """Give the start instant to the armed load that has reported `ready` (CLOCK_MONOTONIC of its
        machine).

        To be called once, from `on_event`. The instant should lie at least half a second ahead.
        """
        if self._process is None or self._process.stdin is None or self._process.stdin.closed:
            raise ValueError("no armed load is waiting")
        with contextlib.suppress(BrokenPipeError):  # the worker has ended, and reports why
            self._process.stdin.write(json.dumps({"start_at_mono_ns": mono_ns}).encode() + b"\n")
            self._process.stdin.close()

    def kill(self) -> None:
        process = self._process
        if process is not None and process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)

    def execute(
        self,
        mode: str,
        spec: dict[str, Any],
        *,
        on_event: OnEvent,
        on_output: Callable[[str], None],
        on_tick: Callable[[], None],
        limit_s: float,
        stop_asked: Callable[[], bool],
        on_start: Callable[[int], None] | None = None,
    ) -> dict[str, Any]:
        deadline = time.monotonic() + limit_s
        how = {key: spec.get(key) for key in OF_THE_WORKER}
        spec = {key: value for key, value in spec.items() if key not in OF_THE_WORKER}
        order = json.dumps({"mode": mode, "parent": os.getpid(), **how, "spec": spec}).encode() + b"\n"
        process = self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        lines: list[tuple[int, str]] = []
        try:
            output = LineReader(process, lambda stream, line: lines.append((stream, line)))
            if on_start is not None:  # it waits for its order
                on_start(process.pid)
            with contextlib.suppress(BrokenPipeError):  # it died at once; what it said on stderr tells why
                assert process.stdin is not None
                process.stdin.write(order)
                process.stdin.flush()
                if not _is_armed(mode, spec):
                    process.stdin.close()
            del order
            last: dict[str, Any] | None = None
            asked_at: float | None = None
            while output.open:
                output.read(TICK_S)
                for stream, line in lines:
                    if stream == _STANDARD_ERROR:
                        on_output(line)
                        continue
                    event = json.loads(line)
                    if event.get("type") in ("result", "error"):
                        last = event
                    else:
                        on_event(event)
                lines.clear()
                on_tick()
                now = time.monotonic()
                if now > deadline:
                    raise LoadTimeoutError(limit_s)
                if asked_at is None and stop_asked():
                    asked_at = now
                    process.terminate()
                if asked_at is not None and now > asked_at + STOP_PATIENCE_S:
                    raise LoadStoppedError
            code = process.wait(timeout=5)
        finally:
            self._end(process)
        if asked_at is not None and not _measured(mode, last):
            raise LoadStoppedError
        if last is None:
            raise _died(code)
        if last["type"] == "error":
            raise LoadError(_failure(last["error"], spec.get("target", {}).get("protocol", "")))
        result: dict[str, Any] = last["result"]
        return result

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """Leave no worker behind, whatever happened."""
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
        self._process = None


def _failure(error: Mapping[str, Any], protocol: str) -> Message:
    """The error of a worker: the engine's, or a message of the catalogue from what made the load in its
    place.
    """
    if "reason" in error:
        return engine_failure(error, protocol)
    return Message(str(error["code"]), error["args"], recorded=(str(error["finding"]), str(error["advice"])))


def _is_armed(mode: str, spec: Mapping[str, Any]) -> bool:
    return mode == "run" and spec.get("load", {}).get("armed_ns") is not None


def _measured(mode: str, last: dict[str, Any] | None) -> bool:
    """True if what a worker said at its end is a load that had been measured for a while."""
    if mode != "run" or last is None or last["type"] != "result":
        return False
    return bool((last["result"].get("window") or {}).get("duration_ns"))


def _died(code: int) -> LoadError:
    if code >= 0:
        return LoadError(WORKER_ENDED(status=str(code)))
    name = signal.Signals(-code).name if -code in set(signal.Signals) else str(-code)
    if -code == signal.SIGKILL:
        return LoadError(WORKER_KILLED_FOR_GOOD(signal=name))
    return LoadError(WORKER_KILLED(signal=name))

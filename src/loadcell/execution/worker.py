"""Worker process of one load: `python -m loadcell.execution.worker`, an order on stdin, JSON lines on stdout.

The order is one line: `{"mode": "run" | "prepare", "parent": PID, "made_by": MODULE | null, "pin": [CPUS,
MEMORY] | null, "spec": {...}}`. The output lines are the engine's events, `{"type": "pinned", "cpus",
"memory"}` where the order pins the process (as read back), and last either `{"type": "result", "result":
...}` or `{"type": "error", "error": {"code", "args", "finding", "advice"}}`, a message of the catalogue with
its English text. `loadcell.model.load_result` reads them.

An armed load (`armed_ns` in its specification) reports `{"type": "ready", "mono_ns", "utc_ns"}` once all
clients are connected. It then begins at the instant of a second line on stdin, `{"start_at_mono_ns": N}`, of
CLOCK_MONOTONIC of this machine.

The process imports nothing but the engine and the standard library, so that it starts fast and its memory and
CPU time are those of the load. A load that the engine does not make is made by the module `made_by`, which
has functions `run`, `prepare` and `stop` with the engine's contract (`loadcell/_engine.pyi`), and imports as
little. It may also raise a MessageError.

SIGTERM and SIGINT end the load early and in order; the death of the parent ends the process at once.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from loadcell.linux import launcher
from loadcell.linux.process import die_with_parent
from loadcell.model import engine_messages
from loadcell.model.message import ForeignText, Message, MessageCode, MessageError

if TYPE_CHECKING:
    from loadcell.model.json import JsonObject

WORKER_AFFINITY = MessageCode("worker.affinity", said=ForeignText)
WORKER_NO_ENGINE = MessageCode("worker.no-engine", said=ForeignText)
WORKER_BROKEN = MessageCode("worker.broken", error=str, said=ForeignText)
WORKER_ENGINE = MessageCode("worker.engine", said=ForeignText)


def die_with(parent: int) -> None:
    """Have the kernel kill this process when its parent dies; exit if it has died already."""
    die_with_parent()
    if os.getppid() != parent:
        os._exit(1)


def settle(cpus: str, memory: str, say: Callable[[str], None]) -> bool:
    """Pin the process before it has threads. Return whether the kernel permits it."""
    try:
        launcher.pin(cpus, memory)
    except OSError as error:
        say(_failed(WORKER_AFFINITY(said=error.strerror)))
        return False
    there = launcher.pinned()
    say(json.dumps({"type": "pinned", "cpus": there[0], "memory": there[1]}))
    return True


def receive_start(start_at: Callable[[int], None]) -> None:
    """Read the start instant of an armed load from stdin on a thread, and hand it to the engine."""

    def receive() -> None:
        if line := sys.stdin.buffer.readline():
            start_at(json.loads(line)["start_at_mono_ns"])

    threading.Thread(target=receive, daemon=True).start()


def main() -> int:
    """Read the order, execute it, and write its result."""
    order = json.loads(sys.stdin.buffer.readline())
    die_with(order["parent"])
    lines = os.dup(1)  # output of libraries goes to stderr, never between the lines
    os.dup2(2, 1)

    def say(line: str) -> None:
        data = memoryview(line.encode() + b"\n")
        while data:
            data = data[os.write(lines, data) :]

    if order.get("pin"):
        cpus, memory = order["pin"]
        if not settle(cpus, memory, say):
            return 1
    try:
        from loadcell import _engine  # noqa: PLC0415 - an engine that cannot be loaded is reported
    except ImportError as error:
        say(_failed(WORKER_NO_ENGINE(said=error)))
        return 1

    maker: Any = importlib.import_module(order["made_by"]) if order.get("made_by") else _engine
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: maker.stop())
    if order["mode"] == "run" and order["spec"].get("load", {}).get("armed_ns") is not None:
        receive_start(_engine.start_at)
    act = maker.run if order["mode"] == "run" else maker.prepare
    try:
        result = act(json.dumps(order["spec"]), say)
    except _engine.EngineError as error:
        say(_failed(_engine_failure(error, order["spec"])))
        return 1
    except MessageError as error:
        say(_failed(error.message))
        return 1
    except Exception as error:  # the parent needs a last line in any case
        say(_failed(WORKER_BROKEN(error=type(error).__name__, said=error)))
        raise
    say('{"type":"result","result":' + result + "}")
    return 0


def _engine_failure(error: Exception, spec: JsonObject) -> Message:
    """The reason of an error that the engine raises for a specification."""
    try:
        document: JsonObject = json.loads(str(error))
    except ValueError:
        document = {}
    if not isinstance(document, dict) or "reason" not in document:
        return WORKER_ENGINE(said=error)
    return engine_messages.engine_failure(document, str(spec["target"].get("protocol", "")))


def _failed(reason: Message) -> str:
    """Last line of a worker that has failed (`loadcell.model.load_result.Failed`)."""
    return json.dumps({"type": "error", "error": reason.document()})


if __name__ == "__main__":
    sys.exit(main())

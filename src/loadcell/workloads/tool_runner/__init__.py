"""Makes a load by running a tool: what the worker calls instead of the engine, under the engine's contract
(`_engine.pyi`).

Standard library only, and the readers of tools' outputs: the worker's memory and CPU time are the load's own.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import time
from collections.abc import Callable, Iterator

from loadcell.workloads.tool_runner.child import Children
from loadcell.workloads.tool_runner.sequence import Course
from loadcell.workloads.tool_runner.spec import Order

Say = Callable[[str], None]

_running: Children | None = None
_stopped = False


def stop() -> None:
    """End what is running, or would run next. May be called from a signal handler."""
    global _stopped
    _stopped = True
    if _running is not None:
        _running.stop()


def run(spec: str, say: Say) -> str:
    """Run the tool that `spec` names: first without being measured, then measured; its metrics as the
    engine's result.
    """
    with _course(spec) as course:
        return json.dumps(course.run(say))


def prepare(spec: str, say: Say) -> str:  # noqa: ARG001
    """Run the commands that make the data. Returns `{"duration_s"}`."""
    with _course(spec) as course:
        began = time.monotonic()
        course.prepare()
        return json.dumps({"duration_s": time.monotonic() - began})


@contextlib.contextmanager
def _course(spec: str) -> Iterator[Course]:
    """Run the order, and leave nothing behind. Raises OrderError."""
    global _running
    order = Order.of(json.loads(spec))
    children = _running = Children(order.directory)
    if _stopped:
        children.stop()
    try:
        yield Course(order, children)
    finally:
        _running = None
        shutil.rmtree(order.directory, ignore_errors=True)
        children.close()


__all__ = ["prepare", "run", "stop"]

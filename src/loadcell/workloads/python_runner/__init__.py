"""Makes a load by calling a Python function: what the worker calls instead of the engine, under the engine's
contract (`_engine.pyi`).

The function runs in a fresh process of the interpreter that the plan names (`harness.py`). Standard library
only: the worker's memory and CPU time are the load's own.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from loadcell.model.message import NO_OUTPUT, Bytes, ForeignText, Message, MessageCode, MessageError
from loadcell.model.python_memory import CURVE, SPANS
from loadcell.workloads.child import Children, Ended, Output, cpu_time_s
from loadcell.workloads.load_directory import load_directory
from loadcell.workloads.python_runner.account import Account, Clock
from loadcell.workloads.python_runner.memory import MemoryCurve, MemoryLimit, Spans, limited
from loadcell.workloads.python_runner.packages import lack
from loadcell.workloads.python_runner.spec import PythonSpec

if TYPE_CHECKING:
    from loadcell.model.json import JsonObject
    from loadcell.workloads.python_runner.profiling import Profiling

PYTHON_NOT_STARTED = MessageCode("python.not-started", program=str, output=ForeignText)
PYTHON_STEP_FAILED = MessageCode("python.step-failed", step=Message, error=str, output=ForeignText)
PYTHON_STEP_FAILED_AT = MessageCode(
    "python.step-failed-at", step=Message, error=str, output=ForeignText, position=str
)
PYTHON_ENDED = MessageCode("python.ended", how=Message, output=ForeignText)
PYTHON_STOPPED = MessageCode("python.stopped")
PYTHON_MEMORY_LIMIT = MessageCode("python.memory-limit", limit_bytes=Bytes, kind=str)
_STEPS = {
    step: MessageCode(f"python.step.{step}")
    for step in ("data", "setup", "spans", "call", "profile", "verify", "teardown")
}

HARNESS = Path(__file__).with_name("harness.py")
#: Between the order to begin and the begin: all processes have read it by then.
_LEAD_NS = 20_000_000

Say = Callable[[str], None]


class PythonError(MessageError):
    """The function cannot be measured."""


class Course:
    """One load: the data set if there is none yet, then the measurement."""

    def __init__(self, order: JsonObject, directory: Path, children: Children) -> None:
        self._order = order
        self._section = PythonSpec.of(order["workload"]["python"])
        self._directory, self._children = directory, children
        parent = order["target"].get("directory")
        self._data = self._section.data_file(Path(parent) if parent else directory)
        self._profiling: Profiling | None = None
        if (profile := self._section.profile) is not None:
            from loadcell.workloads.python_runner.profiling import Profiling  # noqa: PLC0415 - only to profile

            self._profiling = Profiling(profile, self._section, directory)
            if not self._profiling.takes_all_clients:
                self._section = replace(self._section, processes=False)
                self._order = {**order, "load": {**order["load"], "clients": 1}}

    @property
    def retained(self) -> list[str]:
        """Files of the directory that belong to the trial."""
        return [CURVE, SPANS, *(() if self._profiling is None else self._profiling.files)]

    def run(self, say: Say) -> JsonObject:
        """The engine's result. Raises PythonError."""
        if self._data is not None and not self._data.exists():
            self._execute("data", lambda _: None)
        load = self._order["load"]
        reader, writer = os.pipe()
        clock = Clock.now()
        processes = load["clients"] if self._section.processes else 1
        account = Account(load, clock, processes, self._section.verify)
        with contextlib.ExitStack() as stack:
            stack.callback(os.close, reader)
            starter = stack.enter_context(os.fdopen(writer, "wb", buffering=0))
            spans, curve = Spans(), MemoryCurve(self._directory / CURVE)
            stack.callback(lambda: spans.write(self._directory))
            curve.start()
            stack.callback(curve.stop)

            def on_line(line: JsonObject) -> None:
                if self._profiling is not None:
                    self._profiling.take(line)
                if line["type"] == "started":
                    curve.processes.append(line["process"])
                elif line["type"] == "set-up":
                    if self._profiling is None:  # a profiler may take long to write what it found
                        say(json.dumps({"type": "laid-out"}))
                elif line["type"] == "span":
                    spans.add(line["name"], line["begin"], line["end"])
                elif account.take(line, say):
                    frequency = 0
                    if self._profiling is not None:
                        frequency = self._profiling.prepare(account.processes)
                    start_ns = time.monotonic_ns() + _LEAD_NS
                    account.begin(start_ns)
                    measure_ns = start_ns + load["warmup_ns"]
                    if load["warmup_ns"]:
                        spans.add("warmup", start_ns, measure_ns)
                    spans.add("measure", measure_ns, measure_ns + load["duration_ns"])
                    starter.write(b"%d %d\n" % (start_ns, frequency) if frequency else b"%d\n" % start_ns)
                    stack.enter_context(
                        _phases(say, clock, start_ns, load["warmup_ns"], self._measurement_begins)
                    )

            used_s = cpu_time_s()
            self._execute("measure", on_line, stdin=reader)
        return account.result(cpu_time_s() - used_s, say)

    def _measurement_begins(self) -> None:
        if self._profiling is not None:
            self._profiling.measure()

    def _execute(self, mode: str, on_line: Callable[[JsonObject], None], stdin: int | None = None) -> None:
        """Run the harness to its end, within the limit of memory. Raises PythonError."""
        with limited(self._section.memory_bytes) as limit:
            self._execute_within(limit, mode, on_line, stdin)

    def _execute_within(
        self,
        limit: MemoryLimit | None,
        mode: str,
        on_line: Callable[[JsonObject], None],
        stdin: int | None,
    ) -> None:
        """Run the harness to its end. Raises PythonError."""
        file = self._directory / f"{mode}.json"
        file.write_text(json.dumps(self._harness_order(mode, limit)))
        failures: list[JsonObject] = []
        with contextlib.closing(Output()) as output:

            def take(stream: int, line: str) -> None:
                if stream != 1:
                    output.take(stream, line)
                elif (event := json.loads(line))["type"] == "failed":
                    failures.append(event)
                else:
                    on_line(event)

            ended = self._harness(file, take, stdin)
            if self._children.stopped:
                raise PythonError(PYTHON_STOPPED())
            if limit is not None and (limit.was_reached() or _is_of_memory(failures)):
                reached = PYTHON_MEMORY_LIMIT(limit_bytes=self._section.memory_bytes, kind=limit.kind)
                raise PythonError(reached)
            for event in failures:
                raise PythonError(self._lack_of_packages(event) or _failure(event))
            if ended.status != 0:
                raise PythonError(PYTHON_ENDED(how=ended.how, output=output.last_words or NO_OUTPUT))

    def _lack_of_packages(self, event: JsonObject) -> Message | None:
        """Missing packages as the reason of a failed import."""
        if event["name"] not in {ModuleNotFoundError.__name__, ImportError.__name__}:
            return None
        profile = self._section.profile
        wanted = [*self._section.packages, *(() if profile is None else profile.packages)]
        return lack(self._section.interpreter, wanted)

    def _harness_order(self, mode: str, limit: MemoryLimit | None) -> JsonObject:
        """The order of the harness (`harness.Order`); the environment may hold secrets, and is not in it."""
        section, load = self._section, self._order["load"]
        order = asdict(section)
        del order["env"], order["verify"], order["packages"]
        return {
            **order,
            "profile": None if self._profiling is None else self._profiling.order(),
            "verify": section.verify is not None,
            "ordered": section.verify is None or section.verify.ordered,
            "mode": mode,
            "data_file": None if self._data is None else str(self._data),
            "group": None if limit is None or limit.entry is None else str(limit.entry),
            "seed": self._order["seed"],
            "first_client": 0,
            **{name: load[name] for name in ("clients", "warmup_ns", "duration_ns", "schedule")},
        }

    def _harness(self, order: Path, take: Callable[[int, str], None], stdin: int | None) -> Ended:
        """The end of a process of the harness. Raises PythonError if it does not start."""
        section = self._section
        environment = {**section.environment(), "directory": str(self._directory)}
        command = [section.interpreter, str(HARNESS), str(order)]
        descriptor = subprocess.DEVNULL if stdin is None else stdin
        try:
            return self._children.run(command, environment, self._directory, take, stdin=descriptor)
        except OSError as error:
            message = PYTHON_NOT_STARTED(program=section.interpreter, output=error.strerror)
            raise PythonError(message) from error


def _is_of_memory(failures: Sequence[JsonObject]) -> bool:
    return any(event["name"] == MemoryError.__name__ for event in failures)


def _failure(event: JsonObject) -> Message:
    """Message of a step that has failed."""
    step, error, output = _STEPS[event["step"]](), event["name"], event["text"]
    if not event["position"]:
        return PYTHON_STEP_FAILED(step=step, error=error, output=output)
    return PYTHON_STEP_FAILED_AT(step=step, error=error, output=output, position=event["position"])


@contextlib.contextmanager
def _phases(
    say: Say, clock: Clock, start_ns: int, warmup_ns: int, on_measure: Callable[[], None]
) -> Iterator[None]:
    """Say when warm-up and measurement begin, at these instants."""

    def tell(phase: str, mono_ns: int) -> None:
        event = {"type": "phase", "phase": phase, "mono_ns": mono_ns, "utc_ns": clock.utc_ns(mono_ns)}
        say(json.dumps(event))
        if phase == "measure":
            on_measure()

    if warmup_ns:
        tell("warmup", start_ns)
    measure_ns = start_ns + warmup_ns
    delay_s = max(0.0, (measure_ns - time.monotonic_ns()) / 1e9)
    timer = threading.Timer(delay_s, tell, ["measure", measure_ns])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.join(delay_s + 1)
        end_ns = time.monotonic_ns()
        tell("drain", end_ns)


_running: Children | None = None
_stopped = False


def stop() -> None:
    """End what is running, or would run next. May be called from a signal handler."""
    global _stopped
    _stopped = True
    if _running is not None:
        _running.stop()


def run(spec: str, say: Say) -> str:
    """Call the function that `spec` names, first without being measured, then measured."""
    global _running
    order = json.loads(spec)
    receiver = os.getppid()
    directory = load_directory(order["target"].get("directory"), receiver)
    (directory / CURVE).touch()
    children = _running = Children(directory, receiver)
    if _stopped:
        children.stop()
    try:
        course = Course(order, directory, children)
        say(json.dumps({"type": "retained-files", "directory": str(directory), "names": course.retained}))
        return json.dumps(course.run(say))
    finally:
        _running = None
        children.close()


__all__ = ["run", "stop"]

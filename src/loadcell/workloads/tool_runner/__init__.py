"""Makes a load by running a tool: what the worker calls instead of the engine, under the engine's contract
(`_engine.pyi`).

The course of a load: version, commands before, warm-up, the measured command, its metrics, commands after.
Standard library only, and the readers of tools' outputs: the worker's memory and CPU time are the load's own.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from loadcell.ingest import checks, extract, text
from loadcell.ingest.base import Measured, NotItsOutputError, Reading
from loadcell.ingest.readers import reader
from loadcell.model.message import NO_OUTPUT, Count, ForeignText, Message, MessageCode
from loadcell.workloads.child import Children, Ended, Output, TooMuchError, cpu_time_s
from loadcell.workloads.load_directory import OrderError
from loadcell.workloads.tool_runner import registry, result
from loadcell.workloads.tool_runner.registry import Tool, missing_program
from loadcell.workloads.tool_runner.result import Intervals, Say, phase
from loadcell.workloads.tool_runner.spec import Order

if TYPE_CHECKING:
    from loadcell.model.json import JsonObject

TOOL_NOT_RUN = MessageCode("tool.not-run", program=str, said=ForeignText)
TOOL_PRINTED_TOO_MUCH = MessageCode("tool.printed-too-much", program=str)
TOOL_STOPPED = MessageCode("tool.stopped")
TOOL_NO_THROUGHPUT = MessageCode("tool.no-throughput", program=str, setting=str)
TOOL_UNREADABLE = MessageCode("tool.unreadable", program=str, why=Message)
TOOL_NO_FIGURE = MessageCode("tool.no-figure", count=Count, program=str)
TOOL_METRIC_MISSING = MessageCode("tool.figure-not-found", name=str, why=Message)
TOOL_FILE_TOO_LARGE = MessageCode("tool.file-too-large", path=str)
TOOL_NO_FILE = MessageCode("tool.no-file", path=str, place=str, said=ForeignText)
TOOL_FAILED = MessageCode("tool.failed", how=str, program=str, said=ForeignText)

#: How long a tool may take to say its version, and beyond its own time to end a warm-up by itself.
_VERSION_LIMIT_S, _WARMUP_SLACK_S = 5.0, 5.0
#: How much of a file that a tool leaves is read.
_LARGEST_FILE = 256 << 20
_DURATION = "${duration_s}"


@dataclass(frozen=True)
class _Figures:
    """Results: the total, its parts, the tool's metrics, and the lines that were not understood."""

    total: Measured
    reading: Reading
    metrics: Mapping[str, float]


class Course:
    """One order, carried out by one set of child processes. Its methods raise OrderError."""

    def __init__(self, order: Order, children: Children) -> None:
        self.order = order
        self._children = children
        self._words = order.words()
        self._name = order.section.name or Path(self._words[0]).name
        #: the tool whose output it is: itself, or the one that a command's output is read as
        self._read_as = registry.of_output(order.section.reads)

    def prepare(self) -> None:
        """Run the commands that make the data."""
        self._others(self.order.section.prepare)

    def run(self, say: Say) -> JsonObject:
        """Everything else: the engine's result."""
        self.order.check()
        about: JsonObject = {"name": self._name, "command": self.order.filled(self._words)}
        if (version := self._version(about["command"][0])) is not None:
            about["version"] = version
        self._others(self.order.section.before)
        self._warm_up(say)
        began = phase(say, "measure")
        used_s = cpu_time_s()
        with contextlib.closing(Output(errors_apart=self._errors_apart)) as output:
            progress = None if self._read_as is None else self._read_as.progress
            intervals = Intervals(say, None if progress is None else progress.follow(), began)
            ended = self._start(about["command"], output, follow=intervals.line)
            used_s = cpu_time_s() - used_s
            self._went_well(ended, self._words, output)
            values = self._figures(output, ended.wall_s)
        intervals.finish(values.reading.measured)
        phase(say, "drain")
        self._others(self.order.section.after)
        total, parts = values.total, values.reading.measured
        about |= {"settings": dict(parts[0].settings), "parts": [part.title for part in parts]}
        if self._read_as is not None and self._read_as.parts_at_once:
            about |= result.groups(parts)
        if any(part.printed for part in parts):
            about["disagreements"] = checks.detail(parts)
        if values.reading.unread:
            about |= {"unread": values.reading.unread, "unread_examples": list(values.reading.examples)}
        duration_ns = round((total.duration_s or ended.wall_s) * 1e9)
        return result.result(
            total, parts, result.Window(*began, duration_ns), values.metrics, about, _client(used_s)
        )

    # -- commands

    def _others(self, commands: Sequence[Sequence[str]]) -> None:
        """Run commands that are not measured, each to its end."""
        for command in commands:
            words = self.order.filled(self.order.other(command))
            with contextlib.closing(Output()) as output:
                self._went_well(self._start(words, output), words, output)

    def _start(
        self,
        words: Sequence[str],
        output: Output,
        *,
        follow: Callable[[str], None] | None = None,
        duration_ns: int | None = None,
        end_after_s: float | None = None,
    ) -> Ended:
        def on_line(stream: int, line: str) -> None:
            if output.take(stream, line) and follow is not None:
                follow(line)

        environment = self.order.environment(duration_ns)
        program = shutil.which(words[0], path=environment["PATH"])
        if program is None:
            raise OrderError(missing_program(words[0], Path(self.order.section.plan)))
        output.announce(words)
        try:
            return self._children.run(
                [program, *words[1:]], environment, self.order.directory, on_line, end_after_s
            )
        except OSError as error:
            raise OrderError(TOOL_NOT_RUN(program=words[0], said=error.strerror)) from error
        except TooMuchError:
            raise OrderError(TOOL_PRINTED_TOO_MUCH(program=words[0])) from None

    def _went_well(self, ended: Ended, words: Sequence[str], output: Output) -> None:
        """Raise OrderError unless the program ended by itself with status 0."""
        if self._children.stopped:
            raise OrderError(TOOL_STOPPED())
        if ended.status == 0:
            return
        output_text = _error_in_json(output) or output.last_words or NO_OUTPUT
        raise OrderError(TOOL_FAILED(program=Path(words[0]).name, how=ended.how, said=output_text))

    def _version(self, program: str) -> str | None:
        """The tool's version text."""
        tool = self.order.tool
        if tool is None:
            return None
        with contextlib.closing(Output(passed_on=False)) as output:
            self._start([program, *tool.version], output, end_after_s=_VERSION_LIMIT_S)
            lines = [
                line.strip()
                for line in output.text().splitlines()
                if any(letter.isdigit() for letter in line)
            ]
        return lines[0][:200] if lines else None

    def _warm_up(self, say: Say) -> None:
        """The same command for the time of the warm-up; one that has no time is ended when that is over."""
        warmup_ns = self.order.load.warmup_ns
        if not warmup_ns:
            return
        phase(say, "warmup")
        slack_s = _WARMUP_SLACK_S if any(_DURATION in word for word in self._words) else 0.0
        with contextlib.closing(Output()) as output:
            ended = self._start(
                self.order.filled(self._words, warmup_ns),
                output,
                duration_ns=warmup_ns,
                end_after_s=warmup_ns / 1e9 + slack_s,
            )
            if not ended.asked or self._children.stopped:
                self._went_well(ended, self._words, output)

    # -- metrics

    @property
    def _errors_apart(self) -> bool:
        return self._read_as is not None and self._read_as.errors_apart

    def _figures(self, output: Output, wall_s: float) -> _Figures:
        named = self._named(output)
        if self._read_as is None:
            reading = Reading((extract.measured(named, wall_s),))
            total, metrics = reading.measured[0], dict(reading.measured[0].figures)
        else:
            reading = self._read(output, self._read_as)
            total = result.total_of(reading.measured, at_once=self._read_as.parts_at_once)
            total = _with_named(total, named)
            metrics = result.figures(reading.measured)
            metrics |= {name: value for name, value in named.items() if name not in extract.PLACED}
        if total.throughput_per_s is None:
            raise OrderError(TOOL_NO_THROUGHPUT(program=self._name, setting="throughput: {pattern: ...}"))
        unit = self.order.section.unit or total.unit
        return _Figures(replace(total, unit=unit), reading, metrics)

    def _read(self, output: Output, tool: Tool) -> Reading:
        """The measurement, by the tool's reader."""
        try:
            reading = reader(tool.name).read(text.Output((self._file(output),)))
        except NotItsOutputError as error:
            raise OrderError(TOOL_UNREADABLE(program=self._name, why=error.message)) from None
        if not reading.measured:
            raise OrderError(TOOL_NO_FIGURE(program=self._name, count=reading.unread))
        return replace(reading, measured=result.named_apart(reading.measured))

    def _named(self, output: Output) -> dict[str, float]:
        """The metrics that the plan names; all are required."""
        sources = self.order.section.figures
        printed = self._file(output).read_text(encoding="utf-8", errors="replace") if sources else ""
        values = {}
        for name, source in sources.items():
            try:
                values[name] = extract.value(source, printed)
            except extract.NoFigureError as error:
                raise OrderError(TOOL_METRIC_MISSING(name=name, why=error.message)) from None
        return values

    def _file(self, output: Output) -> Path:
        """The output to be read: what was printed, or the file that the plan names."""
        file = self.order.section.output
        if file is None:
            return output.file()
        path = self.order.directory / self.order.filled([file])[0]
        try:
            with path.open("rb") as opened:
                if os.fstat(opened.fileno()).st_size > _LARGEST_FILE:
                    raise OrderError(TOOL_FILE_TOO_LARGE(path=path))
            return path
        except OSError as error:
            raise OrderError(TOOL_NO_FILE(path=path, said=error.strerror, place="${directory}")) from error


def _with_named(total: Measured, named: Mapping[str, float]) -> Measured:
    """The tool's metrics, with those that the plan takes from elsewhere."""
    counts = {name: round(named[name]) for name in ("succeeded", "failed") if name in named}
    return replace(
        total,
        throughput_per_s=named.get("throughput", total.throughput_per_s),
        succeeded=counts.get("succeeded", total.succeeded),
        failed=counts.get("failed", total.failed),
        duration_s=named.get("duration", total.duration_s),
        response={**total.response, **extract.response(named)},
    )


def _error_in_json(output: Output) -> str | None:
    """Error text in the output of tools that print JSON."""
    try:
        document = json.loads(output.text())
    except ValueError:
        return None
    error = document.get("error") if isinstance(document, dict) else None
    return str(error)[:500] if error else None


def _client(used_s: float) -> JsonObject:
    """The load's own cost: that of the tool's processes. How busy each of its threads was, nobody knows."""
    return {"threads": [], "cpu_ns": round(used_s * 1e9), "max_rss_bytes": None, "lateness": None}


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
    with _course(spec, say) as course:
        return json.dumps(course.run(say))


def prepare(spec: str, say: Say) -> str:  # noqa: ARG001
    """Run the commands that make the data. Returns `{"duration_s"}`."""
    with _course(spec) as course:
        began = time.monotonic()
        course.prepare()
        return json.dumps({"duration_s": time.monotonic() - began})


@contextlib.contextmanager
def _course(spec: str, say: Say | None = None) -> Iterator[Course]:
    """Run the order, and leave nothing but the files that are announced to `say`. Raises OrderError."""
    global _running
    order = Order.of(json.loads(spec))
    leaves_files = say is not None and bool(order.section.files)
    if say is not None and leaves_files:
        announced = {
            "type": "retained-files",
            "directory": str(order.directory),
            "names": list(order.section.files),
        }
        say(json.dumps(announced))
    children = _running = Children(order.directory, os.getppid() if leaves_files else None)
    if _stopped:
        children.stop()
    try:
        yield Course(order, children)
    finally:
        _running = None
        if not leaves_files:
            shutil.rmtree(order.directory, ignore_errors=True)
        children.close()


__all__ = ["prepare", "run", "stop"]

"""Names of the files of a run, types of their columns, commands about a run for users to type, and errors.

docs/reference/run-directory.md explains the files.
"""

from __future__ import annotations

import errno
import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from loadcell.model import python_profile
from loadcell.model.message import ForeignText, Message, MessageCode, MessageError

if TYPE_CHECKING:
    from loadcell.model.trial_record import TrialRecord

THEN_RESUME = MessageCode("unwritable.then-resume", resume=str)
THEN_REPEAT = MessageCode("unwritable.then-repeat")
ELSEWHERE_OUT = MessageCode("unwritable.elsewhere-out")
ELSEWHERE_COPY = MessageCode("unwritable.elsewhere-copy")
ELSEWHERE_CHANGE = MessageCode("unwritable.elsewhere-change")
UNWRITABLE_NO_SPACE = MessageCode("unwritable.no-space", path=str, said=ForeignText, then=Message)
UNWRITABLE_QUOTA = MessageCode("unwritable.quota", path=str, said=ForeignText, then=Message)
UNWRITABLE_READ_ONLY = MessageCode("unwritable.read-only", path=str, said=ForeignText, elsewhere=Message)
UNWRITABLE_NO_PERMISSION = MessageCode(
    "unwritable.no-permission", path=str, said=ForeignText, elsewhere=Message
)
UNWRITABLE_NOT_A_DIRECTORY = MessageCode(
    "unwritable.not-a-directory", path=str, said=ForeignText, elsewhere=Message
)
UNWRITABLE = MessageCode("unwritable", path=str, said=ForeignText, elsewhere=Message)

SCHEMA: Final = 1

PLAN: Final = "plan.yaml"
RUN: Final = "run.json"
ENVIRONMENT: Final = "environment.json"
TRIALS: Final = "trials"
FILES: Final = "files"
#: Where an imported run keeps the files it was made of.
SOURCES: Final = "sources"
TRIAL: Final = "trial.json"
INTERVALS: Final = "intervals.csv"
LATENCY: Final = "latency.hlog"
EVENTS: Final = "events.jsonl"
OUTPUT: Final = "output.log"
#: The GC log of the JVM of a trial.
GC_LOG: Final = "gc.log"
#: In front of lines of the worker, or of a tool that it runs; with `$ ` behind it stands a command.
WORKER_LINE: Final = "worker: "
#: The heap over time, of a process under massif.
HEAP: Final = "heap.csv"
HEAP_COLUMNS: Final = ("t_s", "mono_ns", "heap_bytes", "overhead_bytes", "client_bytes")
#: Completions in slots of 10 ms, and slow requests, of trials with faults (`loadcell.model.timeline`).
TIMELINE: Final = "timeline.csv"
TIMELINE_COLUMNS: Final = (
    "t_s", "group", "succeeded", "failed", "first_ns", "last_ns", "slowest_ns", "response_ns", "errors",
)  # fmt: skip
SLOW: Final = "slow.csv"
SLOW_COLUMNS: Final = ("client", "group", "intended_s", "start_s", "end_s", "outcome")
#: Columns of both that hold text.
TIMELINE_WORDS: Final = frozenset({"group", "response_ns", "errors", "outcome"})
FOLDED: Final = "profile.folded"
FLAMES: Final = "profile.svg"
#: Objects by class, as the JVM counts them.
CLASSES_BEFORE: Final = "classes-before.txt"
CLASSES_AFTER: Final = "classes-after.txt"

#: Files of a trial besides the tables, which are CSV.
_FILES: Final = frozenset({
    TRIAL, INTERVALS, LATENCY, EVENTS, OUTPUT, HEAP, TIMELINE, SLOW, FOLDED, FLAMES, CLASSES_BEFORE,
    CLASSES_AFTER, *python_profile.FILES,
})  # fmt: skip


def is_reserved(name: str) -> bool:
    """True if loadcell writes, or may write, a file of this name in the directory of a trial."""
    return name in _FILES or name.lower().endswith(".csv")


INTERVAL_COLUMNS: Final = (
    "t_s", "mono_ns", "utc", "phase", "operation", "kind", "duration_s",
    "started", "succeeded", "failed", "retried", "in_flight", "backlog", "throughput_per_s",
    "response_mean_ms", "response_p50_ms", "response_p90_ms", "response_p95_ms", "response_p99_ms",
    "response_p99.9_ms", "response_max_ms",
    "service_mean_ms", "service_p50_ms", "service_p99_ms", "service_max_ms",
)  # fmt: skip

#: Columns of these, and of every monitor's samples, that hold words and instants of loadcell.
INTERVAL_WORDS: Final = frozenset({"utc", "phase", "operation", "kind"})
SAMPLE_WORDS: Final = frozenset({"utc"})

#: Beside them where printed intervals were joined: the lowest and the highest of their throughputs.
REACH_COLUMNS: Final = ("throughput_per_s_lowest", "throughput_per_s_highest")

#: What the sampler puts in front of every monitor's own columns.
SAMPLE_HEAD: Final = ("t_s", "mono_ns", "utc", "late_ms", "cost_ms")


def sample_files(trial: TrialRecord) -> dict[str, str]:
    """Files of a trial's monitors: `postgres` is a monitor's first table, `postgres.waits` a further one."""
    files: dict[str, str] = {}
    for name, monitor in trial.monitors.items():
        if monitor.file is not None:
            files[name] = monitor.file
        files |= {f"{name}.{table}": file for table, file in (monitor.tables or {}).items()}
    return files


_PART = re.compile(r"^\.(?P<name>.+)\.part$")


def part_name(trial: str) -> str:
    """The directory a trial is written to until it is finished."""
    return f".{trial}.part"


def trial_of_part(directory: str) -> str | None:
    """The trial whose unfinished directory this is; None for any other name."""
    match = _PART.match(directory)
    return match["name"] if match else None


def replaced_name(trial: str, attempt: int) -> str:
    """Where the record of an earlier attempt at a trial stays when a resumed run repeats it."""
    return f".{trial}.replaced-{attempt}"


def new_run_directory(results: Path, plan_name: str, started: datetime, short_id: str) -> Path:
    """`results/<plan>/<UTC time>-<short id>`; sorts by time."""
    return results / plan_name / f"{started.astimezone(UTC):%Y%m%dT%H%M%SZ}-{short_id}"


#: The time in the names of such directories.
STARTED = re.compile(r"(\d{8}T\d{6})Z-")


def short_id(name: str) -> str:
    """The short id in the name of a run's directory; of one that a user named, its name."""
    return name.rpartition("-")[2] if STARTED.match(name) else name


def is_run(path: Path) -> bool:
    """True if this directory is a run's."""
    return (path / RUN).is_file()


ColumnType = Literal["text", "integer", "number"]

#: Columns in front of every frame of a run: the trial of each row.
FRONT: Final[Mapping[str, ColumnType]] = {
    "trial": "text", "number": "integer", "treatment": "text", "repeat": "integer", "block": "integer",
}  # fmt: skip
#: Columns of events: `t_s` counts from the measurement's start, `detail` is JSON.
EVENT_COLUMNS: Final[Mapping[str, ColumnType]] = {
    "t_s": "number", "mono_ns": "integer", "utc": "text", "event": "text", "detail": "text",
}  # fmt: skip

_INTEGERS = frozenset({"mono_ns", "pid", "started", "succeeded", "failed", "retried", "in_flight"})
#: Text columns of intervals, and of samples of runs that recorded no `text_columns`.
UNDECLARED_TEXT = INTERVAL_WORDS | frozenset({
    "name", "role", "device", "interface", "wait_event_type",
    "wait_event",
    "backend_type", "object", "context", "query_id", "query",
})  # fmt: skip
_SQL_TYPES: Mapping[ColumnType, str] = {"text": "VARCHAR", "integer": "BIGINT", "number": "DOUBLE"}


def text_columns(trial: TrialRecord, file: str) -> frozenset[str]:
    """Columns of a trial's CSV file that hold text, as the monitor that wrote it declared them."""
    for monitor in trial.monitors.values():
        declared = monitor.text_columns or {}
        if file in declared:
            return SAMPLE_WORDS | frozenset(declared[file])
    return UNDECLARED_TEXT


def column_types(header: Sequence[str], text: Collection[str]) -> dict[str, ColumnType]:
    """Types of the columns of CSV files whose columns `text` hold text."""
    return {name: "text" if name in text else "integer" if name in _INTEGERS else "number" for name in header}


def sql_types(types: Mapping[str, ColumnType]) -> dict[str, str]:
    """DuckDB's types of columns."""
    return {name: _SQL_TYPES[kind] for name, kind in types.items()}


def header_of(content: bytes) -> list[str]:
    """Names of the columns in the first line of CSV text."""
    return content.partition(b"\n")[0].decode("utf-8", "replace").split(",")


def resume_command(run: Path | str, by: str) -> str:
    """The command that resumes a run: that of its record (`resumed_by`) with its directory."""
    return f"{by} --resume {quoted(run)}"


def quoted(path: Path | str) -> str:
    """A path as one word of a shell."""
    return shlex.quote(str(path))


class StoreError(MessageError):
    """A run directory could not be written, found or read."""

    def __str__(self) -> str:
        return f"{self.finding}. {self.advice}"


_UNWRITABLE = {
    errno.ENOSPC: UNWRITABLE_NO_SPACE,
    errno.EDQUOT: UNWRITABLE_QUOTA,
    errno.EROFS: UNWRITABLE_READ_ONLY,
    errno.EACCES: UNWRITABLE_NO_PERMISSION,
    errno.EPERM: UNWRITABLE_NO_PERMISSION,
    errno.ENOTDIR: UNWRITABLE_NOT_A_DIRECTORY,
}


def cannot_write(
    path: Path, error: OSError, resume: str | None = None, elsewhere: MessageCode = ELSEWHERE_OUT
) -> StoreError:
    """The error for a failed write to `path`.

    `resume` is the command that resumes the run (default: the command is repeated); `elsewhere` is how the
    command gets another directory.
    """
    then = THEN_REPEAT() if resume is None else THEN_RESUME(resume=resume)
    code = _UNWRITABLE.get(error.errno or 0, UNWRITABLE)
    return StoreError(code.pick(path=path, said=error.strerror or error, then=then, elsewhere=elsewhere()))

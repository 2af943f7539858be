"""Outputs of pidstat and iostat, cut to the window of one trial."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

#: Environment of iostat, and of all witnesses: timestamps with a time zone, English texts.
ENVIRONMENT = {"S_TIME_FORMAT": "ISO", "LC_ALL": "C"}
#: Options for samples of one second with timestamps: seconds since 1970 of pidstat, ISO 8601 of iostat.
PIDSTAT = ("pidstat", "-H", "-u", "-d", "-w", "1")
IOSTAT = ("iostat", "-x", "-y", "-t", "1")
#: Columns of pidstat that are no measured values.
_NAMES = ("UID", "PID", "CPU", "Command")


@dataclass(frozen=True)
class Window:
    """The measurement of a trial: seconds since 1970, and seconds of the monotonic clock, for perf."""

    trial: str
    start_s: float
    start_mono_s: float
    duration_s: float

    @staticmethod
    def of(record: dict[str, Any]) -> Window | None:
        """The window of a trial.json; None of a trial without one."""
        window = record.get("measure") or {}
        if window.get("started_utc") is None or not window.get("duration_s"):
            return None
        start = datetime.fromisoformat(window["started_utc"])
        name = f"{record['treatment']}, repeat {record['repeat']}"
        return Window(name, start.timestamp(), window["started_mono_ns"] / 1e9, window["duration_s"])

    def has_sample(self, second: float) -> bool:
        """True if the sample of one second that ended at this second, of which fractions are cut off, lies
        within the window.
        """
        return self.start_s + 1 <= second <= self.start_s + self.duration_s - 1

    @property
    def perf_time(self) -> str:
        """As perf's option --time takes it."""
        return f"{self.start_mono_s:.6f},{self.start_mono_s + self.duration_s:.6f}"


def pidstat_averages(lines: Sequence[str], window: Window) -> Iterator[str]:
    """Means of pidstat's samples within the window, of processes with a value of 1 or more."""
    tables: dict[tuple[str, ...], dict[tuple[str, str], list[float]]] = {}
    seconds: set[float] = set()
    header: tuple[str, ...] = ()
    for line in lines:
        words = line.split()
        if "PID" in words:
            header = tuple(words[1:])
            tables.setdefault(header, {})
        elif header and len(words) > len(header) and words[0].isdigit() and window.has_sample(int(words[0])):
            seconds.add(int(words[0]))
            values = words[1 : len(header)]
            process = values[header.index("PID")], " ".join(words[len(header) :])
            row = tables[header].setdefault(process, [0.0] * len(header))
            for index, value in enumerate(values):
                with contextlib.suppress(ValueError):  # "-" for a processor
                    row[index] += float(value)
    yield f"{len(seconds)} samples"
    for columns, processes in tables.items():
        measured = [index for index, column in enumerate(columns) if column not in _NAMES]
        yield "".join(f"{columns[index]:>10}" for index in measured) + f"{'PID':>8}  Command"
        for (pid, command), sums in processes.items():
            averages = [sums[index] / len(seconds) for index in measured]
            if any(mean >= 1 for mean in averages):
                yield "".join(f"{mean:>10.2f}" for mean in averages) + f"{pid:>8}  {command}"


def iostat_samples(lines: Sequence[str], window: Window) -> Iterator[str]:
    """Samples of iostat within the window, without blank lines and devices of files."""
    is_within = False
    for line in lines:
        with contextlib.suppress(ValueError):
            is_within = window.has_sample(datetime.fromisoformat(line.strip()).timestamp())
        if is_within and line.strip() and not line.startswith(("loop", "ram")):
            yield line.rstrip()

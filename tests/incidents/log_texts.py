"""Logs of services with an incident, and of healthy ones near it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from loadcell.incidents import application_logs
from loadcell.incidents.base import Judgement, examine
from loadcell.incidents.evidence.application_log import ApplicationLog, Spans

BEGIN_S = datetime(2026, 11, 29, 10, 0, 0, tzinfo=UTC).timestamp()


@dataclass
class ServiceLog:
    """Entries at instants in seconds; `clock` gives the stamp of an instant."""

    clock: Callable[[float], float] = lambda at_s: at_s
    zone: str = "Z"
    entries: list[tuple[float, str, str, str]] = field(default_factory=list)

    def add(
        self, at_s: float, thread: str = "main", level: str = "INFO", text: str = "stored 17 rows"
    ) -> None:
        """One entry."""
        self.entries.append((at_s, thread, level, text))

    def thread(
        self,
        name: str,
        begin_s: float,
        end_s: float,
        spacing_s: float = 0.5,
        quiet: tuple[tuple[float, float], ...] = (),
        seed: int = 1,
    ) -> None:
        """Entries of a thread at about equal distances, with none within the quiet spans."""
        chance = random.Random(f"{name}{seed}")
        at_s = begin_s + chance.random() * spacing_s
        while at_s < end_s:
            if not any(begin <= at_s < end for begin, end in quiet):
                self.add(at_s, name)
            at_s += spacing_s * (0.8 + 0.4 * chance.random())

    def lines(self) -> list[str]:
        """Lines in the order of time."""
        return [
            f"{self.stamp(at_s)} [{thread}] {level} {text}\n"
            for at_s, thread, level, text in sorted(self.entries)
        ]

    def stamp(self, at_s: float) -> str:
        """A time stamp."""
        shown = datetime.fromtimestamp(BEGIN_S + self.clock(at_s), UTC)
        return f"{shown:%Y-%m-%dT%H:%M:%S}.{shown.microsecond // 1000:03}{self.zone}"

    def write(self, path: Path) -> Path:
        """The log as a file."""
        path.write_text("".join(self.lines()))
        return path


def evidence(directory: Path, *logs: ServiceLog, others: tuple[Spans, ...] = ()) -> ApplicationLog:
    """The evidence of logs of several services."""
    paths = [log.write(directory / f"service-{'abcdef'[number]}.log") for number, log in enumerate(logs)]
    read, _ = application_logs.read([(path, path.name) for path in paths], others=others)
    return read


def judged(directory: Path, *logs: ServiceLog, others: tuple[Spans, ...] = ()) -> tuple[Judgement, ...]:
    """Judgements of logs of several services."""
    return examine(evidence(directory, *logs, others=others))

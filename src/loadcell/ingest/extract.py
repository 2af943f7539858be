"""Metrics taken from any command's output by a pattern, a path into its JSON, or a column of its CSV."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from statistics import mean, median
from typing import TYPE_CHECKING

from loadcell.ingest.base import Measured
from loadcell.ingest.printed_numbers import number
from loadcell.model.message import Message, MessageCode, MessageError

if TYPE_CHECKING:
    from loadcell.model.json import JsonValue

FIGURE_NOTHING = MessageCode("figure.nothing", sought=Message)
FIGURE_NO_NUMBER = MessageCode("figure.no-number", found=str, sought=Message)
FIGURE_PATTERN = MessageCode("figure.pattern", text=str)
FIGURE_JSON = MessageCode("figure.json", text=str)
FIGURE_CSV = MessageCode("figure.csv", text=str)
FIGURE_PATH = MessageCode("figure.path", text=str, example=str)
FIGURE_EMPTY_PATH = MessageCode("figure.empty-path")

#: Which of several values is the figure.
TAKE: Mapping[str, Callable[[Sequence[float]], float]] = {
    "last": lambda values: values[-1],
    "first": lambda values: values[0],
    "min": min,
    "max": max,
    "mean": mean,
    "median": median,
    "sum": sum,
}

#: Metrics with a place in every trial's record; any other name is a metric of the command.
INTEGERS = ("throughput", "succeeded", "failed", "duration")
LATENCIES = ("mean", "stdev", "min", "max", "p50", "p90", "p95", "p99", "p99.9", "p99.99")
PLACED = (*INTEGERS, *(f"latency.{name}" for name in LATENCIES))

_STEP = re.compile(r"""\.?([A-Za-z_][\w%/ -]*)|\[(-?\d+|\*)\]|\["([^"]*)"\]|\['([^']*)'\]""")
_DOCUMENT = re.compile(r"^[\[{]", re.MULTILINE)
_SEPARATORS = (",", ";", "\t")


class NoFigureError(MessageError):
    """A value was not found; the reason says what was looked for."""


@dataclass(frozen=True)
class FigureSource:
    """Position of one metric in an output: one of `pattern`, a path into `json`, and a column of `csv`.

    `take` selects from several values, and `times` multiplies the selected one.
    """

    pattern: str | None = None
    json: str | None = None
    csv: str | None = None
    take: str = "last"
    times: float = 1.0


def path_of(text: str) -> list[str | int | None]:
    """`jobs[0].read["iops_mean"]` taken apart; None stands for `[*]`, every one. Raises NoFigureError."""
    steps: list[str | int | None] = []
    at = 0
    while at < len(text):
        match = _STEP.match(text, at)
        if match is None or match.end() == at:
            raise NoFigureError(FIGURE_PATH(text=repr(text), example="jobs[0].read.iops"))
        plain, index, *quoted = match.groups()
        if index is not None:
            steps.append(None if index == "*" else int(index))
        else:
            steps.append(next(part for part in (plain, *quoted) if part is not None))
        at = match.end()
    if not steps:
        raise NoFigureError(FIGURE_EMPTY_PATH())
    return steps


def value(source: FigureSource, text: str) -> float:
    """One figure from the whole output. Raises NoFigureError."""
    if source.pattern is not None:
        sought = FIGURE_PATTERN(text=repr(source.pattern))
        texts = _by_pattern(source.pattern, text)
    elif source.json is not None:
        sought = FIGURE_JSON(text=repr(source.json))
        texts = _by_path(source.json, text)
    else:
        assert source.csv is not None
        sought = FIGURE_CSV(text=repr(source.csv))
        texts = _by_column(source.csv, text)
    if not texts:
        raise NoFigureError(FIGURE_NOTHING(sought=sought))
    try:
        values = [number(str(item)) for item in texts]
    except ValueError:
        raise NoFigureError(FIGURE_NO_NUMBER(sought=sought, found=repr(texts[-1]))) from None
    return TAKE[source.take](values) * source.times


def _by_pattern(pattern: str, text: str) -> list[str]:
    return [match[1] for match in re.finditer(pattern, text, re.MULTILINE) if match[1] is not None]


def _by_path(path: str, text: str) -> list[JsonValue]:
    steps = path_of(path)
    return [value for document in _documents(text) for value in _follow(document, steps)]


def _documents(text: str) -> Iterator[JsonValue]:
    """Every JSON document that begins where a line does, whatever stands round it.

    One that was cut is none: what is within it
    is not taken for the whole."""
    decoder, at = json.JSONDecoder(), 0
    while (begin := _DOCUMENT.search(text, at)) is not None:
        try:
            document, at = decoder.raw_decode(text, begin.start())
        except ValueError:
            at = begin.end()
        else:
            yield document


def _follow(document: JsonValue, steps: Sequence[str | int | None]) -> Iterator[JsonValue]:
    if not steps:
        if isinstance(document, int | float | str) and not isinstance(document, bool):
            yield document
        return
    step, *following = steps
    for below in _below(document, step):
        yield from _follow(below, following)


def _below(document: JsonValue, step: str | int | None) -> list[JsonValue]:
    """The node that one step leads to; None if there is none."""
    if isinstance(document, dict):
        return list(document.values()) if step is None else [document[step]] if step in document else []
    if isinstance(document, list):
        if step is None:
            return document
        if isinstance(step, int) and -len(document) <= step < len(document):
            return [document[step]]
    return []


def _by_column(column: str, text: str) -> list[str]:
    """Below the first line that has a cell of this name, whatever parts its cells, down to the first that has
    fewer.
    """
    lines = text.splitlines()
    for at, line in enumerate(lines):
        for separator in _SEPARATORS:
            head = next(csv.reader([line], delimiter=separator, skipinitialspace=True), [])
            cells = [cell.strip() for cell in head]
            if column in cells:
                index = cells.index(column)
                rows = csv.reader(lines[at + 1 :], delimiter=separator, skipinitialspace=True)
                complete_rows = takewhile(lambda row: len(row) >= len(cells), rows)  # noqa: B023 (used up at once)
                return [row[index].strip() for row in complete_rows]
    return []


def measured(values: Mapping[str, float], wall_s: float) -> Measured:
    """A measurement from a command's values by name; without a throughput, the number of executions per
    second.
    """
    duration_s = values.get("duration", wall_s)
    throughput = values.get("throughput", 1 / wall_s if wall_s > 0 else None)
    others = {name: value for name, value in values.items() if name not in PLACED}
    counted = {name: round(values[name]) for name in ("succeeded", "failed") if name in values}
    if "throughput" not in values:
        counted.setdefault("succeeded", 1)
    return Measured(
        "command", "operation", throughput, counted.get("succeeded"), counted.get("failed"), duration_s,
        response=response(values), figures=others,
    )  # fmt: skip


def response(values: Mapping[str, float]) -> dict[str, float]:
    """The latencies among the values, in ms by the record's keys."""
    return {
        f"{name.removeprefix('latency.')}_ms": value
        for name, value in values.items()
        if name.startswith("latency.")
    }

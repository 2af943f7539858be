"""Results on the terminal: a line for each test, with the interval of its median."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from rich.cells import cell_len

from loadcell.model import numbers
from loadcell.model.message import Message, MessageCode
from loadcell.pytest_plugin import messages, wording
from loadcell.pytest_plugin.results import TestResult
from loadcell.stats.repeats import summarise

_HEADINGS = tuple(
    MessageCode(f"pytest.table.{name}", "info") for name in ("test", "median", "interval", "spread", "memory")
)
_NONE = "-"
_GAP = "  "
#: Tests whose remarks are printed; the run's record has all.
_MOST_REMARKS = 5


def lines(results: Sequence[TestResult], group_by: str) -> list[str]:
    """The table of all timed tests, in groups where there are several."""
    groups: dict[str, list[TestResult]] = {}
    for result in results:
        if result.call_times_ms:
            groups.setdefault(_group(result, group_by), []).append(result)
    if not groups:
        return []
    headings = [wording.written(code()) for code in _HEADINGS]
    rows = {name: [_row(result) for result in members] for name, members in groups.items()}
    every = [headings, *(row for members in rows.values() for row in members)]
    widths = [max(cell_len(row[column]) for row in every) for column in range(len(headings))]
    table = [_line(headings, widths)]
    for name, members in rows.items():
        if len(rows) > 1 and name and [row[0] for row in members] != [name]:
            table += ["", f"[{name}]"]
        table += [_line(row, widths) for row in members]
    return table


def _group(result: TestResult, group_by: str) -> str:
    """The group of a test by one of the labels that pytest-benchmark names."""
    function, bracket, parameters = result.node_id.partition("[")
    by_label = {
        "fullname": result.node_id,
        "fullfunc": function,
        "name": result.node_id.rpartition("::")[2],
        "func": function.rpartition("::")[2],
        "param": parameters.removesuffix("]") if bracket else "",
    }
    return by_label.get(group_by.partition(":")[0], result.group or "")


def _row(result: TestResult) -> list[str]:
    repeats = summarise(result.call_times_ms)
    interval = repeats.interval
    return [
        result.node_id,
        numbers.milliseconds(repeats.median or 0.0),
        _NONE
        if interval is None
        else f"{numbers.milliseconds(interval.low)} - {numbers.milliseconds(interval.high)}",
        _NONE if repeats.spread is None else numbers.share(repeats.spread),
        _NONE if result.peak_bytes is None else numbers.size(result.peak_bytes),
    ]


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    """A line: the first column to the left, all others to the right."""
    padded = [
        cell + " " * (width - cell_len(cell)) if column == 0 else " " * (width - cell_len(cell)) + cell
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return _GAP.join(padded).rstrip()


def remarks(results: Sequence[TestResult], moved: Collection[str]) -> Iterator[Message]:
    """Remarks on tests that failed in a repeat, left threads, or changed the working directory."""
    every = [*_failures(results), *_threads(results)]
    every += [messages.DIRECTORY(test=node_id) for node_id in moved]
    yield from every[:_MOST_REMARKS]
    if len(every) > _MOST_REMARKS:
        yield messages.MORE_REMARKS(count=len(every) - _MOST_REMARKS)


def _failures(results: Iterable[TestResult]) -> Iterator[Message]:
    for result in results:
        failures = [outcome.failure for outcome in result.outcomes.values() if outcome.failure]
        if failures:
            yield messages.REPEAT_FAILED(
                test=result.node_id,
                count=len(failures),
                repeats=len(result.outcomes),
                output=failures[0],
            )


def _threads(results: Iterable[TestResult]) -> Iterator[Message]:
    for result in results:
        most = max((outcome.threads for outcome in result.outcomes.values()), default=0)
        if most:
            yield messages.THREADS(test=result.node_id, count=most)

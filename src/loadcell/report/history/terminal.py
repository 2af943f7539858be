"""A plan's history on a terminal: a line a treatment with its runs as a little curve, then sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from loadcell.analysis.history import findings
from loadcell.analysis.history.changes import Change
from loadcell.model import numbers
from loadcell.report.history.gather import Gathered
from loadcell.report.terminal import WIDTH, print_findings
from loadcell.report.texts import Texts

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

BARS = "▁▂▃▄▅▆▇█"
#: Columns of a curve, and treatments listed: those that changed come first.
CURVE, MOST_ROWS = 24, 30
#: A curve's height stands for at least this share of its level: noise is no mountain.
LEAST_HEIGHT = 0.2


def spark(values: Sequence[float], width: int = CURVE) -> str:
    """Values as a curve of blocks, the latest at the right; more than `width` are joined to their means."""
    if not values:
        return ""
    size = -(-len(values) // width)
    first = len(values) % size
    parts = [values[:first]] if first else []
    parts += [values[begin : begin + size] for begin in range(first, len(values), size)]
    joined = [sum(part) / len(part) for part in parts]
    low, high = min(joined), max(joined)
    middle, height = (low + high) / 2, max(high - low, LEAST_HEIGHT * abs(low + high) / 2)
    if height == 0:
        return BARS[len(BARS) // 2] * len(joined)
    places = [(value - middle) / height + 0.5 for value in joined]
    return "".join(BARS[min(len(BARS) - 1, int(place * len(BARS)))] for place in places)


def print_history(
    gathered: Gathered, lang: str, console: Console | None = None, page: str | None = None
) -> None:
    """Print it; `page` is the command that writes the page, if it was not written."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    texts, history = Texts(lang, gathered.unit), gathered.history
    out = console or Console(width=None if Console().is_terminal else WIDTH, highlight=False)
    metric = texts(f"history.metric.{history.metric.name}")
    runs = history.runs
    head = texts(
        "history.head", count=len(runs), metric=metric, first=runs[0].started_utc[:10], last=runs[-1].started_utc[:10]
    )  # fmt: skip
    out.print()
    out.print(Text(gathered.title, style="bold"))
    out.print(Text(head, style="dim"))
    out.print()
    ordered = sorted(history.series, key=lambda one: not history.changes_of(one))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), show_edge=False)
    table.add_column(texts("column.treatment"), overflow="ellipsis", no_wrap=True, max_width=22)
    table.add_column(texts("history.column.runs"), justify="right", no_wrap=True)
    table.add_column(texts("history.column.curve"), no_wrap=True)
    table.add_column(texts("history.column.now"), justify="right", no_wrap=True)
    table.add_column(texts("history.column.changes"), overflow="ellipsis", no_wrap=True)
    for one in ordered[:MOST_ROWS]:
        marks = Text(" ").join(_mark(change, gathered) for change in history.changes_of(one)[-2:])
        table.add_row(
            Text(one.label),
            str(len(one.values)),
            spark(one.values),
            _written(one.values[-1], gathered),
            marks,
        )
    out.print(table)
    if len(ordered) > MOST_ROWS:
        out.print(Text(texts("terminal.more-rows", count=len(ordered) - MOST_ROWS), style="dim"))
    out.print()
    print_findings(list(findings.find(history)), texts, out)
    for unread in gathered.left_out:
        out.print(Text(f"! {unread}", style="yellow"), soft_wrap=True)
    if page is not None:
        out.print()
        out.print(Text(f"{texts('history.page')} {page}", style="dim"), soft_wrap=True)
    out.print()


def _mark(change: Change, gathered: Gathered) -> Text:
    from rich.text import Text

    rose = change.share > 0
    better = rose == gathered.history.metric.higher_is_better
    after = gathered.history.runs[change.first].short
    return Text(
        f"{'▲' if rose else '▼'}{numbers.share(abs(change.share))} @{after}",
        style="green" if better else "red",
    )


def _written(value: float, gathered: Gathered) -> str:
    throughput = gathered.history.metric.name == "throughput"
    return numbers.rate(value) if throughput else numbers.milliseconds(value)

"""What a terminal shows of two machines: what differs, baselines as ratios, and what a workload follows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loadcell.analysis.hosts import findings as saying
from loadcell.report.hosts import words
from loadcell.report.hosts.compared import Compared
from loadcell.report.terminal import WIDTH, print_findings
from loadcell.report.texts import Texts

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

#: More rows than this scroll the sentences away.
MOST_FACTS, MOST_ROWS = 14, 24
_STYLES = {"faster": "green", "slower": "red", "same": "", "ambiguous": "yellow"}


def print_machines(
    found: Compared, lang: str = "en", page: str | None = None, console: Console | None = None
) -> None:
    """Print it to `console` (standard output by default); `page` is what to type for the page."""
    from rich.console import Console
    from rich.text import Text

    texts = Texts(lang)
    out = console or Console(width=None if Console().is_terminal else WIDTH, highlight=False)
    first, second = (machine.label for machine in found.machines.machines)
    out.print()
    out.print(Text(texts("hosts.compare.title", first=first, second=second), style="bold"))
    out.print()
    print_findings(list(saying.of_machines(found.machines)), texts, out)
    for one in found.workloads:
        out.print()
        name = one.hypothesis.workload.name
        out.print(Text(texts("hosts.section.follows", workload=name), style="bold"))
        print_findings(list(found.of(one)), texts, out)
    if found.machines.differing:
        out.print()
        out.print(_facts(found, texts))
        _hidden(len(found.machines.differing) - MOST_FACTS, texts, out)
    if found.machines.rows:
        out.print()
        out.print(_rows(found, texts))
        _hidden(len(found.machines.rows) - MOST_ROWS, texts, out)
    out.print()
    if page is not None:
        out.print(Text(f"{texts('compare.terminal.hint')} {page}", style="dim"), soft_wrap=True)
        out.print()


def _hidden(count: int, texts: Texts, out: Console) -> None:
    from rich.text import Text

    if count > 0:
        out.print(Text(texts("compare.terminal.hidden", count=count), style="dim"))


def _table() -> Table:
    from rich import box
    from rich.table import Table

    return Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)


def _facts(found: Compared, texts: Texts) -> Table:
    from rich.text import Text

    table = _table()
    table.add_column(texts("hosts.column.fact"), overflow="fold")
    for machine in found.machines.machines:
        table.add_column(Text(machine.label), overflow="fold")
    table.add_column(texts("hosts.column.ratio"), justify="right", no_wrap=True)
    for fact in found.machines.differing[:MOST_FACTS]:
        ratio = "" if fact.times is None else words.times(fact.times)
        table.add_row(
            Text(words.fact_name(fact, texts)), *(Text(value) for value in words.fact_values(fact, texts)), ratio
        )  # fmt: skip
    return table


def _rows(found: Compared, texts: Texts) -> Table:
    from rich.text import Text

    table = _table()
    table.add_column(texts("hosts.column.score"), overflow="fold")
    for machine in found.machines.machines:
        table.add_column(
            Text(machine.label), justify="right", overflow="ellipsis", no_wrap=True, max_width=10
        )
    table.add_column(texts("hosts.column.unit"), no_wrap=True)
    table.add_column(texts("hosts.column.ratio"), justify="right", no_wrap=True)
    table.add_column(texts("column.verdict"), no_wrap=True)
    for row in found.machines.rows[:MOST_ROWS]:
        table.add_row(
            Text(words.row(row, texts)),
            *(words.figure(one.median) for one in row.scores),
            words.unit(row.score, texts),
            words.times(row.times.value),
            Text(texts(f"compare.verdict.{row.verdict.word}"), style=_STYLES[row.verdict.word]),
        )
    return table

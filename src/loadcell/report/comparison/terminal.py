"""What a terminal shows of a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from loadcell.analysis.compare import findings
from loadcell.analysis.compare.compare import Row
from loadcell.report.comparison.gather import Gathered
from loadcell.report.comparison.words import Words
from loadcell.report.terminal import WIDTH, print_findings
from loadcell.report.texts import Texts

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

#: More rows than this scroll the sentences away.
MOST_ROWS = 28
#: Between two columns: padding and what the frame takes.
GAP = 2
_STYLES = {"faster": "green", "slower": "red", "same": "", "ambiguous": "yellow"}


def print_comparison(
    gathered: Gathered, lang: str = "en", page: str | None = None, console: Console | None = None
) -> None:
    """Print it to `console` (standard output by default): differences, table, ranking, findings; `page` is what to open."""
    from rich.console import Console
    from rich.text import Text

    out = console or Console(width=None if Console().is_terminal else WIDTH, highlight=False)
    comparison = gathered.comparison
    words = Words(comparison, Texts(lang, gathered.unit))
    texts = words.texts
    out.print()
    title = str(gathered.runs[0].run.get("title") or gathered.runs[0].id)
    out.print(Text(title, style="bold"))
    differing = list(findings.differing(comparison.sides, gathered.all_differences))
    if differing:
        out.print()
        print_findings(differing, texts, out)
    shown = [row for row in comparison.rows if row in words.by_importance(comparison.rows)[:MOST_ROWS]]
    for side in range(1, len(comparison.sides.sides)):
        rows = [row for row in shown if row.side == side]
        if rows:
            out.print()
            out.print(
                Text(texts("compare.against", other=words.side(side), first=words.side(0)), style="dim")
            )
            out.print()
            out.print(_table(rows, words, out.width))
    hidden = len(comparison.rows) - len(shown)
    if hidden:
        out.print(Text(texts("compare.terminal.hidden", count=hidden), style="dim"))
    if comparison.ranking:
        out.print()
        out.print(_ranking(words))
    out.print()
    print_findings(findings.find(comparison, gathered.noise_from), texts, out)
    out.print()
    if page is not None:
        out.print(Text(f"{texts('compare.terminal.hint')} {page}", style="dim"), soft_wrap=True)
        out.print()


def _table(rows: Sequence[Row], words: Words, width: int) -> Table:
    """Figures are never cut short; the names of contexts give way."""
    from rich import box
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    texts = words.texts
    several = len(words.sides.contexts) > 1
    titles = [
        texts("compare.column.figure"), _brief(words.side(0)), _brief(words.side(rows[0].side)),
        texts("compare.column.change"), texts("compare.column.interval"), texts("column.verdict"),
    ]  # fmt: skip
    cells = [
        [
            words.short(row.metric), words.figure(row, 0), words.figure(row, 1), words.change(row.effect),
            words.interval(row.effect).replace("% … ", "…"), words.verdict(row),
        ]
        for row in rows
    ]  # fmt: skip
    needed = [max(cell_len(text) for text in column) for column in zip(titles, *cells, strict=True)]
    left = max(8, width - sum(needed) - GAP * len(needed) - 1)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
    if several:
        table.add_column(texts("compare.column.where"), overflow="ellipsis", no_wrap=True, max_width=left)
    for position, (title, least) in enumerate(zip(titles, needed, strict=True)):
        figure = 1 <= position <= 4
        table.add_column(title, justify="right" if figure else "left", no_wrap=True, min_width=least)
    before: str | None = None
    for row, own in zip(rows, cells, strict=True):
        style = _STYLES[row.verdict.word]
        context = words.context(row.context)
        table.add_row(
            *([Text("" if context == before else context)] if several else []),
            *(Text(text) for text in own[:-1]),
            Text(own[-1], style=style),
        )
        before = context
    return table


def _brief(name: str, most: int = 10) -> str:
    """A heading that does not widen its column: a level without its factor, cut short."""
    last = name.rsplit(" = ", 1)[-1]
    return last if len(last) <= most else f"{last[: most - 1]}…"


def _ranking(words: Words) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    texts, comparison = words.texts, words.comparison
    table = Table(
        box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False,
        title=texts("compare.table.ranking", metric=words.metric(comparison.metrics[0])),
        caption=texts("compare.table.ranking.note"), title_justify="left", caption_justify="left",
    )  # fmt: skip
    table.add_column(texts("column.number"), justify="right")
    table.add_column(texts("compare.column.side"), overflow="ellipsis", no_wrap=True)
    table.add_column(texts("compare.column.change"), justify="right", no_wrap=True)
    table.add_column(texts("compare.column.interval"), justify="right", no_wrap=True)
    table.add_column(texts("compare.column.groups"), no_wrap=True)
    of_side = {row.side: row for row in comparison.headline}
    for place, ranked in enumerate(comparison.ranking, 1):
        row = of_side.get(ranked.index)
        table.add_row(
            str(place),
            Text(words.side(ranked.index)),
            texts("compare.first") if row is None else words.change(row.effect),
            texts("mark.none") if row is None else words.interval(row.effect),
            ranked.groups,
        )
    return table

"""`loadcell query SQL [RUN...]`: query runs with SQL."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich import table, text

from loadcell.cli import arguments
from loadcell.cli.command import argument, command, option
from loadcell.cli.messages import RUN_NONE_IN
from loadcell.cli.streams import echo_data, echo_json
from loadcell.model import terminal
from loadcell.store import find as run_finder
from loadcell.store import layout
from loadcell.store import query as sql_query

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loadcell.store.query import Answer

#: What begins a formula in spreadsheets.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


@command("query")
@argument("sql")
@argument("runs", nargs=-1, metavar="[RUN]...", shell_complete=arguments.runs)
@option("--json", "form", flag_value="json", group="output")
@option("--csv", "form", flag_value="csv", group="output")
@option("--quote-formulas", is_flag=True, group="output")
@option("--results", type=click.Path(path_type=Path), default="results", group="selection")
def query(sql: str, runs: tuple[str, ...], form: str | None, quote_formulas: bool, results: Path) -> None:
    """Query runs with SQL."""
    answer = sql_query.query(_paths(runs, results), sql)
    if form == "json":
        echo_json(_as_json(answer))
    elif form == "csv":
        echo_data(_as_csv(answer, quote_formulas=quote_formulas))
    else:
        _show(answer)


def _paths(runs: tuple[str, ...], results: Path) -> list[Path]:

    if not runs:
        run_paths = run_finder.runs_under(results)
        if not run_paths:
            raise layout.StoreError(RUN_NONE_IN(results=results.absolute()))
        return run_paths
    paths: list[Path] = []
    for name in runs:
        many = run_finder.runs_under(Path(name)) if Path(name).is_dir() else []
        paths += many or [run_finder.find_run(name, results)]
    return paths


def _as_json(answer: Answer) -> str:

    rows = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
    return json.dumps(rows, indent=2, ensure_ascii=False, default=str)


def _as_csv(answer: Answer, *, quote_formulas: bool) -> str:
    output = io.StringIO()
    writer = csv.writer(output, lineterminator="\n")
    write = _quoted if quote_formulas else list
    writer.writerow(write(answer.columns))
    writer.writerows(write(row) for row in answer.rows)
    return output.getvalue()


def _quoted(row: Iterable[Any]) -> list[Any]:
    """A row whose texts no spreadsheet executes (OWASP, CSV injection)."""
    return [f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell for cell in row]


def _show(answer: Answer) -> None:
    """Print a table if it fits the terminal, otherwise each row with one line per column, as psql does."""
    output = terminal.Terminal()
    rows = [[_cell(value) for value in row] for row in answer.rows]
    widths = [max(map(len, column)) for column in zip(answer.columns, *rows, strict=True)]
    if rows and sum(widths) + 2 * (len(widths) - 1) > output.width and len(widths) > 1:
        _show_expanded(answer, rows, output)
        return
    answers = table.Table(box=None, pad_edge=False, padding=(0, 1), header_style="bold")
    for index, name in enumerate(answer.columns):
        numeric = all(isinstance(row[index], (int, float)) or row[index] is None for row in answer.rows)
        answers.add_column(
            text.Text(name), justify="right" if numeric and answer.rows else "left", overflow="fold"
        )
    for row in rows:
        answers.add_row(*map(text.Text, row))
    output.print(answers)


def _show_expanded(answer: Answer, rows: Sequence[Sequence[str]], output: terminal.Terminal) -> None:
    name_width = min(max(map(len, answer.columns)), output.width // 2)
    for number, row in enumerate(rows, 1):
        output.print(text.Text(f"{number} ".ljust(output.width, "─"), style="dim"))
        for name, value in zip(answer.columns, row, strict=True):
            line = text.Text(f"{name:{name_width}}  {' '.join(value.splitlines())}")
            line.stylize("bold", 0, name_width)
            output.print(line, overflow="ellipsis", no_wrap=True)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) and abs(value) < 1e6 else str(value)

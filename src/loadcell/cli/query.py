"""`loadcell query SQL [RUN...]`: ask runs anything."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from loadcell.cli.messages import RUN_NONE_IN
from loadcell.store import find as run_finder
from loadcell.store import layout
from loadcell.store import query as sql_query

if TYPE_CHECKING:
    from loadcell.store.query import Answer


@click.command("query")
@click.argument("sql")
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option("--json", "form", flag_value="json", help="Print a JSON object a row, in a list.")
@click.option("--csv", "form", flag_value="csv", help="Print CSV.")
@click.option(
    "--results",
    type=click.Path(path_type=Path),
    default="results",
    help="Where runs are looked for. Default: ./results.",
)
def query(sql: str, runs: tuple[str, ...], form: str | None, results: Path) -> None:
    """Answer SQL from the files of RUNs (default: all under ./results).

    The views are `trials`, `intervals`, `samples` (of all monitors) and `events`; DuckDB's SQL, read only.
    RUN is a directory (of a run, or of many), the beginning of a run's name or short id, or `last`.

    \b
    loadcell query "SELECT treatment, median(throughput_per_s)
                    FROM trials GROUP BY ALL"
    loadcell query "DESCRIBE samples" last
    """
    answer = sql_query.query(_paths(runs, results), sql)
    if form == "json":
        click.echo(_as_json(answer))
    elif form == "csv":
        click.echo(_as_csv(answer), nl=False)
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


def _as_csv(answer: Answer) -> str:
    import csv

    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(answer.columns)
    table.writerows(answer.rows)
    return text.getvalue()


def _show(answer: Answer) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for index, name in enumerate(answer.columns):
        numeric = all(isinstance(row[index], (int, float)) or row[index] is None for row in answer.rows)
        table.add_column(Text(name), justify="right" if numeric and answer.rows else "left", overflow="fold")
    for row in answer.rows:
        table.add_row(*(Text(_cell(value)) for value in row))
    Console().print(table)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) and abs(value) < 1e6 else str(value)

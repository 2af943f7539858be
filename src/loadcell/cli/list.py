"""`loadcell list [RESULTS]`: the runs there are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich import table, text

from loadcell.cli import language, messages
from loadcell.cli.arguments import language_option
from loadcell.cli.streams import echo, echo_json
from loadcell.model import terminal, trial_record
from loadcell.report.render import json
from loadcell.store import find as run_finder
from loadcell.store import layout
from loadcell.store import read as stored_runs

if TYPE_CHECKING:
    from loadcell.model.json import JsonObject


@click.command("list")
@click.argument("results", type=click.Path(path_type=Path), default="results")
@language_option("the table", expose_value=False)
@click.option("--json", "as_json", is_flag=True, help="Print plain JSON instead.")
def list_(results: Path, as_json: bool) -> None:
    """List the runs under RESULTS (default: ./results), oldest first.

    The short id, or any unique beginning of the name, is what other commands take for RUN; `last` is the
    latest.
    """
    if not results.is_dir():
        raise click.ClickException(language.written(messages.CALL_NO_DIRECTORY(path=results)))
    rows = [_row(path) for path in run_finder.runs_under(results)]
    if as_json:
        echo_json(json.render(rows))
    elif rows:
        _show(rows)
    else:
        echo(language.written(messages.NO_RUNS(results=results)))


def _row(path: Path) -> JsonObject:

    row: JsonObject = {
        "run": str(path),
        "id": layout.short_id(path.resolve().name),
        "size_bytes": _size(path),
    }
    try:
        stored = stored_runs.read_run(path)
    except layout.StoreError as error:
        return {**row, "state": "unreadable", "reason": error.finding}
    statuses = [trial.status for trial in stored.trials]
    return {
        **row,
        "plan": stored.run.plan_name,
        "title": stored.run.title,
        "started_utc": stored.run.started_utc,
        "ended_utc": stored.run.ended_utc,
        "state": stored.state,
        "trials": len(stored.planned),
        "ok": statuses.count(trial_record.Status.OK),
        "not_ok": len(statuses) - statuses.count(trial_record.Status.OK),
        "unscored": len(stored.unscored),
    }


def _size(path: Path) -> int:
    total = 0
    for file in path.rglob("*"):
        try:
            total += file.lstat().st_size if file.is_file() else 0
        except OSError:  # removed meanwhile by the run that writes there
            continue
    return total


def _show(rows: list[JsonObject]) -> None:
    styles = {"finished": "green", "running": "cyan"}
    rows_table = table.Table(box=None, pad_edge=False, header_style="bold")
    for heading in (messages.LIST_ID, messages.LIST_PLAN, messages.LIST_STARTED, messages.LIST_STATE):
        title = language.written(heading())
        rows_table.add_column(title, no_wrap=heading is not messages.LIST_PLAN, overflow="fold")
    for heading in (messages.LIST_OK, messages.LIST_OTHER, messages.LIST_OF, messages.LIST_SIZE):
        rows_table.add_column(language.written(heading()), justify="right", no_wrap=True)
    for row in rows:
        started = (row.get("started_utc") or "")[:19].replace("T", " ")
        rows_table.add_row(
            text.Text(row["id"]),
            text.Text(row.get("plan") or "?"),
            text.Text(started),
            text.Text(row["state"], style=styles.get(row["state"], "yellow")),
            str(row.get("ok", "")),
            str(row.get("not_ok", "")),
            str(row.get("trials", "")),
            size_text(row["size_bytes"]),
        )
    terminal.Terminal().print(rows_table)


def size_text(size: float) -> str:
    """`812 B`, `3.4 MB`."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            return f"{size:.0f} {unit}" if unit == "B" or size >= 100 else f"{size:.1f} {unit}"
        size /= 1000
    raise AssertionError("unreachable: the last unit takes any size")

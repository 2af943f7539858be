"""`loadcell list [RESULTS]`: the runs there are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from loadcell.cli import language, messages
from loadcell.model import trial_record
from loadcell.report.render import json
from loadcell.store import find as run_finder
from loadcell.store import layout
from loadcell.store import read as stored_runs

if TYPE_CHECKING:
    from loadcell.model.json import JsonObject


@click.command("list")
@click.argument("results", type=click.Path(path_type=Path), default="results")
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
        click.echo(json.render(rows))
    elif rows:
        _show(rows)
    else:
        click.echo(f"No runs in {results}. `loadcell run PLAN` makes one.")


def _row(path: Path) -> JsonObject:

    row: JsonObject = {"run": str(path), "id": path.name.rpartition("-")[2], "size_bytes": _size(path)}
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
    from rich.console import Console
    from rich.table import Table

    styles = {"finished": "green", "running": "cyan"}
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("id", "plan", "started (UTC)", "state"):
        table.add_column(name, no_wrap=name != "plan", overflow="fold")
    for name in ("ok", "other", "of", "size"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        started = (row.get("started_utc") or "")[:19].replace("T", " ")
        table.add_row(
            row["id"],
            row.get("plan") or "?",
            started,
            f"[{styles.get(row['state'], 'yellow')}]{row['state']}[/]",
            str(row.get("ok", "")),
            str(row.get("not_ok", "")),
            str(row.get("trials", "")),
            size_text(row["size_bytes"]),
        )
    Console().print(table)


def size_text(size: float) -> str:
    """`812 B`, `3.4 MB`."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            return f"{size:.0f} {unit}" if unit == "B" or size >= 100 else f"{size:.1f} {unit}"
        size /= 1000
    raise AssertionError("unreachable: the last unit takes any size")

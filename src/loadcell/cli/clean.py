"""`loadcell clean`: removes old runs, after it has shown which."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich import table, text

from loadcell.cli import language, messages
from loadcell.cli.arguments import language_option
from loadcell.cli.list import size_text
from loadcell.cli.run_filters import filter_options, plans_with_runs, results_option, selection
from loadcell.cli.streams import echo, echo_json
from loadcell.model import terminal
from loadcell.report.history import plan_name
from loadcell.report.render import json
from loadcell.store import clean as cleaning
from loadcell.store import find as run_finder
from loadcell.store.clean import Removal
from loadcell.store.selection import records_under, size_bytes

if TYPE_CHECKING:
    from loadcell.model.json import JsonObject


@click.command("clean")
@click.argument("plan", required=False, shell_complete=plans_with_runs)
@results_option
@click.option("--keep", type=click.IntRange(min=0), metavar="N", help="Keep the latest N runs of each plan.")
@filter_options
@click.option("--yes", "-y", is_flag=True, help="Remove them; without it they are only shown.")
@language_option("the table", expose_value=False)
@click.option("--json", "as_json", is_flag=True, help="Print plain JSON instead.")
def clean(
    plan: str | None,
    results: Path,
    keep: int | None,
    labels: tuple[str, ...],
    states: tuple[str, ...],
    older_than_s: float | None,
    yes: bool,
    as_json: bool,
) -> None:
    """Remove old runs (of PLAN): shows which and how large they are, and removes them with --yes.

    At least one of --older-than and --keep is needed; with both, a run goes that is older than that and not
    among the latest N of its plan. Baselines, runs with the label `keep`, runs under way, and runs whose
    record cannot be read always stay.
    """
    if keep is None and older_than_s is None:
        raise language.CallError(messages.CLEAN_NO_CONDITION())
    if not results.is_dir():
        raise click.ClickException(language.written(messages.CALL_NO_DIRECTORY(path=results)))
    wanted = selection(None if plan is None else plan_name(plan), labels, states, older_than_s)
    baselines = run_finder.runs_of_baselines(results, run_finder.DEFAULT_RESULTS)
    removals = cleaning.removals(records_under(results), wanted, keep, baselines)
    remains = [(path, size_bytes(path)) for path in cleaning.remains(results)]
    if yes:
        removals = [_removed(removal) for removal in removals]
        for path, _ in remains:
            cleaning.remove_remains(path)
        gone = [removal.run.path for removal in removals if removal.retained is None]
        cleaning.remove_empty(results, [*gone, *(path for path, _ in remains)])
    if as_json:
        echo_json(json.render(_document(removals, remains, removed=yes)))
    else:
        _show(removals, remains, removed=yes)


def _removed(removal: Removal) -> Removal:
    """The removal after it was tried: a run that has been resumed meanwhile stays."""
    if removal.retained is not None or cleaning.remove(removal.run.path):
        return removal
    return Removal(removal.run, removal.size_bytes, cleaning.RUNNING)


def _document(removals: list[Removal], remains: list[tuple[Path, int]], *, removed: bool) -> JsonObject:
    going = [removal for removal in removals if removal.retained is None]
    return {
        "removed": removed,
        "size_bytes": sum(removal.size_bytes for removal in going) + sum(size for _, size in remains),
        "runs": [_run(removal) for removal in going],
        "retained": [
            {**_run(removal), "reason": removal.retained}
            for removal in removals
            if removal.retained is not None
        ],
        "remains": [{"path": path, "size_bytes": size} for path, size in remains],
    }


def _run(removal: Removal) -> JsonObject:
    run = removal.run
    return {
        "run": str(run.path),
        "id": run.id,
        "plan": run.plan,
        "written_utc": run.written_utc,
        "size_bytes": removal.size_bytes,
    }


def _show(removals: list[Removal], remains: list[tuple[Path, int]], *, removed: bool) -> None:
    rows = table.Table(box=None, pad_edge=False, header_style="bold")
    rows.add_column(language.written(messages.LIST_ID()), no_wrap=True)
    rows.add_column(language.written(messages.LIST_PLAN()), overflow="fold")
    rows.add_column(language.written(messages.LIST_STARTED()), no_wrap=True)
    rows.add_column(language.written(messages.LIST_SIZE()), justify="right", no_wrap=True)
    rows.add_column(language.written(messages.CLEAN_OUTCOME()), overflow="fold")
    outcome = language.written(messages.CLEAN_REMOVED() if removed else messages.CLEAN_GOES())
    for removal in removals:
        retained = None if removal.retained is None else messages.CLEAN_RETAINED[removal.retained]()
        rows.add_row(
            text.Text(removal.run.id),
            text.Text(removal.run.plan),
            removal.run.written_utc[:16].replace("T", " "),
            size_text(removal.size_bytes),
            outcome if retained is None else language.written(retained),
        )
    for path, size in remains:
        rows.add_row("", text.Text(path.name), "", size_text(size), outcome)
    if rows.row_count:
        terminal.Terminal().print(rows)
    sizes = [removal.size_bytes for removal in removals if removal.retained is None]
    sizes += [size for _, size in remains]
    if not sizes:
        echo(language.written(messages.CLEAN_NOTHING()))
        return
    code = messages.CLEAN_TOTAL_REMOVED if removed else messages.CLEAN_TOTAL
    echo(language.written(code(count=len(sizes), size=size_text(sum(sizes)))))

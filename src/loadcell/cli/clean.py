"""`loadcell clean`: removes old runs, after listing them."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich import table, text

from loadcell.cli import language, messages
from loadcell.cli.arguments import Integer
from loadcell.cli.command import argument, command, option
from loadcell.cli.list import size_text
from loadcell.cli.run_filters import filter_options, plans_with_runs, results_option, selection
from loadcell.cli.streams import echo, echo_json
from loadcell.model import terminal
from loadcell.report.history import plan_name
from loadcell.report.render import json
from loadcell.store import clean as cleaning
from loadcell.store import find as run_finder
from loadcell.store.clean import Removal
from loadcell.store.layout import StoreError
from loadcell.store.selection import records_under, size_bytes

if TYPE_CHECKING:
    from loadcell.model.json import JsonObject
    from loadcell.model.message import Message


@command("clean")
@argument("plan", required=False, shell_complete=plans_with_runs)
@results_option
@option("--keep", type=Integer(0), metavar="N", group="selection")
@filter_options
@option("--yes", "-y", is_flag=True)
@option("--json", "as_json", is_flag=True, group="output")
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
    """Remove old runs."""
    if keep is None and older_than_s is None:
        raise language.CallError(messages.CLEAN_NO_CONDITION())
    if not results.is_dir():
        raise click.ClickException(language.written(messages.CALL_NO_DIRECTORY(path=results)))
    wanted = selection(None if plan is None else plan_name(plan), labels, states, older_than_s)
    baselines = run_finder.runs_of_baselines(results, run_finder.DEFAULT_RESULTS)
    removals = cleaning.removals(records_under(results), wanted, keep, baselines)
    remains = [_Remain(path, size_bytes(path)) for path in cleaning.remains(results)]
    if yes:
        removals = [_removed(removal) for removal in removals]
        remains = [_remain_removed(remain) for remain in remains]
        gone = [removal.run.path for removal in removals if _goes(removal)]
        cleaning.remove_empty(
            results, [*gone, *(remain.path for remain in remains if remain.failure is None)]
        )
    if as_json:
        echo_json(json.render(_document(removals, remains, removed=yes)))
    else:
        _show(removals, remains, removed=yes)
    if _failures(removals, remains):
        sys.exit(1)


@dataclass(frozen=True)
class _Remain:
    """A hidden directory of a killed removal; `failure` is the reason why it could not be removed."""

    path: Path
    size_bytes: int
    failure: Message | None = None


def _removed(removal: Removal) -> Removal:
    """The attempted removal; a run that was resumed in the meantime stays."""
    if removal.retained is not None:
        return removal
    try:
        return removal if cleaning.remove(removal.run.path) else replace(removal, retained=cleaning.RUNNING)
    except StoreError as error:
        return replace(removal, failure=error.message)


def _remain_removed(remain: _Remain) -> _Remain:
    try:
        cleaning.remove_remains(remain.path)
    except StoreError as error:
        return replace(remain, failure=error.message)
    return remain


def _goes(removal: Removal) -> bool:
    return removal.retained is None and removal.failure is None


def _failures(removals: list[Removal], remains: list[_Remain]) -> list[Message]:
    failures = [*(removal.failure for removal in removals), *(remain.failure for remain in remains)]
    return [failure for failure in failures if failure is not None]


def _document(removals: list[Removal], remains: list[_Remain], *, removed: bool) -> JsonObject:
    going = [removal for removal in removals if _goes(removal)]
    gone = [remain for remain in remains if remain.failure is None]
    return {
        "removed": removed,
        "size_bytes": sum(removal.size_bytes for removal in going)
        + sum(remain.size_bytes for remain in gone),
        "runs": [_run(removal) for removal in going],
        "retained": [
            {**_run(removal), "reason": removal.retained}
            for removal in removals
            if removal.retained is not None
        ],
        "failed": [
            {**_run(removal), "reason": removal.failure.text}
            for removal in removals
            if removal.failure is not None
        ],
        "remains": [{"path": remain.path, "size_bytes": remain.size_bytes} for remain in gone],
        "failed_remains": [
            {"path": remain.path, "size_bytes": remain.size_bytes, "reason": remain.failure.text}
            for remain in remains
            if remain.failure is not None
        ],
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


def _show(removals: list[Removal], remains: list[_Remain], *, removed: bool) -> None:
    rows = table.Table(box=None, pad_edge=False, header_style="bold")
    rows.add_column(language.written(messages.LIST_ID()), no_wrap=True)
    rows.add_column(language.written(messages.LIST_PLAN()), overflow="fold")
    rows.add_column(language.written(messages.LIST_STARTED()), no_wrap=True)
    rows.add_column(language.written(messages.LIST_SIZE()), justify="right", no_wrap=True)
    rows.add_column(language.written(messages.CLEAN_OUTCOME()), overflow="fold")
    outcome = language.written(messages.CLEAN_REMOVED() if removed else messages.CLEAN_GOES())

    def tried(failure: Message | None) -> str:
        return outcome if failure is None else language.written(messages.CLEAN_FAILED(why=failure))

    for removal in removals:
        retained = None if removal.retained is None else messages.CLEAN_RETAINED[removal.retained]()
        rows.add_row(
            text.Text(removal.run.id),
            text.Text(removal.run.plan),
            removal.run.written_utc[:16].replace("T", " "),
            size_text(removal.size_bytes),
            text.Text(tried(removal.failure) if retained is None else language.written(retained)),
        )
    for remain in remains:
        rows.add_row(
            "",
            text.Text(remain.path.name),
            "",
            size_text(remain.size_bytes),
            text.Text(tried(remain.failure)),
        )
    if rows.row_count:
        terminal.Terminal().print_table(rows)
    sizes = [removal.size_bytes for removal in removals if _goes(removal)]
    sizes += [remain.size_bytes for remain in remains if remain.failure is None]
    failures = _failures(removals, remains)
    if not sizes and not failures:
        echo(language.written(messages.CLEAN_NOTHING()))
        return
    code = messages.CLEAN_TOTAL_REMOVED if removed else messages.CLEAN_TOTAL
    echo(language.written(code(count=len(sizes), size=size_text(sum(sizes)))))
    for advice in dict.fromkeys(language.written(failure.remedy) for failure in failures if failure.remedy):
        echo(advice)

"""`loadcell faults list|undo`: faults of the journal, and their undoing."""

from __future__ import annotations

import sys
from pathlib import Path

from rich import table, text

from loadcell.cli import language, messages
from loadcell.cli.command import argument, group, option
from loadcell.cli.streams import echo, echo_json
from loadcell.execution.outcome import EXIT_FAULT_REMAINS
from loadcell.faults import journal as journals
from loadcell.faults.base import FaultError
from loadcell.faults.journal import Entry, Journal, Outcome
from loadcell.model import terminal
from loadcell.model.json import JsonObject
from loadcell.report.render import json


@group("faults")
def faults() -> None:
    """Faults that were not undone."""


@faults.command("list")
@option("--json", "as_json", is_flag=True, group="output")
def list_(as_json: bool) -> None:
    """List the journal."""
    journal = Journal()
    entries = list(journal.entries())
    if as_json:
        echo_json(json.render([_document(entry) for entry in entries]))
        return
    if not entries:
        echo(language.written(messages.FAULTS_NONE()))
        return
    rows = table.Table(box=None, pad_edge=False, header_style="bold")
    rows.add_column(language.written(messages.LIST_ID()), no_wrap=True)
    rows.add_column(language.written(messages.FAULTS_FAULT()), overflow="fold")
    rows.add_column(language.written(messages.LIST_STARTED()), no_wrap=True)
    rows.add_column(language.written(messages.FAULTS_STATE()), overflow="fold")
    for entry in entries:
        if isinstance(entry, Path):
            rows.add_row(text.Text(entry.stem), "", "", language.written(messages.FAULTS_DAMAGED()))
            continue
        started = entry.written_utc[:16].replace("T", " ")
        state = messages.FAULTS_ABANDONED() if _is_abandoned(entry) else messages.FAULTS_GUARDED()
        title = text.Text(f"{entry.action} {entry.subject}")
        rows.add_row(text.Text(entry.id), title, started, language.written(state))
    terminal.Terminal().print(rows)


@faults.command("undo")
@argument("ids", metavar="[ID]...", nargs=-1)
@option("--all", "all_", is_flag=True)
@option("--json", "as_json", is_flag=True, group="output")
def undo(ids: tuple[str, ...], all_: bool, as_json: bool) -> None:
    """Undo faults."""
    journal = Journal()
    read = list(journal.entries())
    entries = [entry for entry in read if isinstance(entry, Entry)]
    damaged = [entry for entry in read if isinstance(entry, Path)]
    if ids:
        listed = {entry.id: entry for entry in entries}
        for unknown in (name for name in ids if name not in listed):
            raise FaultError(messages.FAULTS_UNKNOWN(id=unknown, directory=journal.directory))
        wanted = [entry for entry in entries if entry.id in ids]
    else:
        wanted = [entry for entry in entries if all_ or _is_abandoned(entry)]
    outcomes = [journals.undo(entry, journal) for entry in reversed(wanted)]
    if as_json:
        echo_json(json.render([_outcome_document(outcome) for outcome in outcomes]))
    else:
        _show(outcomes, guarded=len(entries) - len(wanted))
    for path in damaged:
        language.show(FaultError(journals.ENTRY_DAMAGED(path=path)))
    if damaged or any(outcome.error is not None for outcome in outcomes):
        sys.exit(EXIT_FAULT_REMAINS)


def _is_abandoned(entry: Entry) -> bool:
    """True if the guardian that should undo it has ended."""
    return bool(entry.guardian.has_ended(local=True))


def _document(entry: Entry | Path) -> JsonObject:
    if isinstance(entry, Path):
        return {"id": entry.stem, "state": "damaged", "path": str(entry)}
    return {
        "id": entry.id,
        "action": entry.action,
        "subject": entry.subject,
        "run": entry.run,
        "written_utc": entry.written_utc,
        "guardian": entry.guardian.pid,
        "state": "abandoned" if _is_abandoned(entry) else "guarded",
    }


def _outcome_document(outcome: Outcome) -> JsonObject:
    entry, error = outcome.entry, outcome.error
    document: JsonObject = {"id": entry.id, "action": entry.action, "subject": entry.subject}
    if error is None:
        return {**document, "undone": True}
    return {**document, "undone": False, "reason": error.message.text}


def _show(outcomes: list[Outcome], guarded: int) -> None:
    for outcome in outcomes:
        entry, error = outcome.entry, outcome.error
        if error is None:
            echo(language.written(messages.FAULTS_UNDONE(action=entry.action, subject=entry.subject)))
        else:
            language.show(error)
    if not outcomes:
        echo(
            language.written(
                messages.FAULTS_GUARDED_ONLY(count=guarded) if guarded else messages.FAULTS_NONE()
            )
        )

"""`loadcell faults list|undo|forget`: faults of the journal, their undoing, and the end of an entry."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from rich import table, text

from loadcell.cli import language, messages
from loadcell.cli.command import argument, group, option
from loadcell.cli.streams import echo, echo_json
from loadcell.execution.outcome import EXIT_FAULT_REMAINS
from loadcell.faults import journal as journals
from loadcell.faults.base import FaultError
from loadcell.faults.journal import Entry, Journal, Outcome, Unusable
from loadcell.model import terminal
from loadcell.model.json import JsonObject
from loadcell.model.message import Message, MessageCode
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
        if isinstance(entry, Unusable):
            rows.add_row(text.Text(entry.path.stem), "", "", language.written(messages.FAULTS_UNUSABLE()))
            continue
        started = entry.written_utc[:16].replace("T", " ")
        title = text.Text(f"{entry.action} {entry.subject}")
        state = language.written(_STATES[journals.state(entry)]())
        rows.add_row(text.Text(entry.id), title, started, state)
    terminal.Terminal().print_table(rows)
    for entry in entries:
        if isinstance(entry, Entry) and (details := list(_details(entry))):
            echo(f"\n{entry.id}")
            for detail in details:
                echo(f"  {language.written(detail)}")


def _details(entry: Entry) -> Iterator[Message]:
    """Its trial and the user's commands that undo it, as far as they are known."""
    if entry.run:
        yield messages.FAULTS_TRIAL(trial=entry.run)
    if steps := _undo_steps(entry):
        yield messages.FAULTS_UNDO(commands=[f"`{step}`" for step in steps])


@faults.command("undo")
@argument("ids", metavar="[ID]...", nargs=-1)
@option("--all", "all_", is_flag=True)
@option("--json", "as_json", is_flag=True, group="output")
def undo(ids: tuple[str, ...], all_: bool, as_json: bool) -> None:
    """Undo faults."""
    journal = Journal()
    read = list(journal.entries())
    entries = [entry for entry in read if isinstance(entry, Entry)]
    unusable = [entry for entry in read if isinstance(entry, Unusable)]
    remaining: list[Entry] = []
    if ids:
        chosen = {_chosen(begin, entries, journal).id for begin in ids}
        wanted = [entry for entry in entries if entry.id in chosen]
    else:
        states = ("abandoned", "guarded", "undetermined") if all_ else ("abandoned",)
        wanted = [entry for entry in entries if journals.state(entry) in states]
        remaining = [entry for entry in journal.undetermined() if entry not in wanted]
    outcomes = [journals.undo(entry, journal) for entry in reversed(wanted)]
    if as_json:
        echo_json(json.render([_outcome_document(outcome) for outcome in outcomes]))
    else:
        _show(outcomes)
        if not outcomes:
            _show_remaining(entries, has_unusable=bool(unusable))
    for message in (*map(journals.undetermined, remaining), *(file.message for file in unusable)):
        language.show(FaultError(message))
    if remaining or unusable or any(outcome.error is not None for outcome in outcomes):
        sys.exit(EXIT_FAULT_REMAINS)


@faults.command("forget")
@argument("ids", metavar="ID...", nargs=-1, required=True)
@option("--force", is_flag=True)
@option("--json", "as_json", is_flag=True, group="output")
def forget(ids: tuple[str, ...], force: bool, as_json: bool) -> None:
    """Drop entries of the journal without an undo."""
    journal = Journal()
    entries = [entry for entry in journal.entries() if isinstance(entry, Entry)]
    chosen = {entry.id: entry for entry in (_chosen(begin, entries, journal) for begin in ids)}
    for entry in chosen.values():
        if (reason := _refusal(entry, journal, force=force)) is not None:
            raise FaultError(reason)
    for entry in chosen.values():
        with journal.claimed(entry) as is_claimed:
            if not is_claimed:
                raise FaultError(messages.FAULTS_UNKNOWN(id=entry.id, directory=journal.directory))
            journal.remove(entry)
        if not as_json:
            echo(language.written(_forgotten(entry)))
    if as_json:
        echo_json(json.render([_document(entry) for entry in chosen.values()]))


def _refusal(entry: Entry, journal: Journal, *, force: bool) -> Message | None:
    """Why an entry must not be dropped; `force`: the user knows that its run has ended."""
    match journals.state(entry):
        case "guarded":
            return messages.FAULTS_IN_USE(id=entry.id)
        case "elsewhere":
            host = entry.guardian.host
            return messages.FAULTS_OF_OTHER_MACHINE(id=entry.id, host=host, directory=journal.directory)
        case "undetermined":
            return None if force else messages.FAULTS_PERHAPS_IN_USE(id=entry.id)
        case "abandoned":
            return None


def _forgotten(entry: Entry) -> Message:
    """Message on a dropped entry, with its undo."""
    steps = _undo_steps(entry)
    code = messages.FAULTS_FORGOTTEN_UNDO if steps else messages.FAULTS_FORGOTTEN
    return code.pick(
        action=entry.action, subject=entry.subject, id=entry.id, commands=[f"`{step}`" for step in steps]
    )


def _undo_steps(entry: Entry) -> tuple[str, ...]:
    """The user's commands that undo an entry; none of an action that is not installed."""
    fault = journals.fault_class(entry)
    return () if fault is None else fault.undo_steps(entry.arguments)


_STATES: dict[journals.State, MessageCode] = {
    "abandoned": messages.FAULTS_ABANDONED,
    "guarded": messages.FAULTS_GUARDED,
    "undetermined": messages.FAULTS_UNDETERMINED,
    "elsewhere": messages.FAULTS_ELSEWHERE,
}


def _chosen(begin: str, entries: Sequence[Entry], journal: Journal) -> Entry:
    """The entry whose identifier begins so. Raises FaultError if there is none, or several."""
    matching = [entry for entry in entries if entry.id.startswith(begin)]
    if len(matching) == 1:
        return matching[0]
    if not matching:
        raise FaultError(messages.FAULTS_UNKNOWN(id=begin, directory=journal.directory))
    raise FaultError(messages.FAULTS_SEVERAL(id=begin, ids=[entry.id for entry in matching]))


def _document(entry: Entry | Unusable) -> JsonObject:
    if isinstance(entry, Unusable):
        path = entry.path
        return {"id": path.stem, "state": "unusable", "path": str(path), "reason": entry.message.text}
    return {
        "id": entry.id,
        "action": entry.action,
        "subject": entry.subject,
        "run": entry.run,
        "written_utc": entry.written_utc,
        "guardian": entry.guardian.pid,
        "state": journals.state(entry),
        "undo": list(_undo_steps(entry)),
    }


def _outcome_document(outcome: Outcome) -> JsonObject:
    entry, error = outcome.entry, outcome.error
    document: JsonObject = {"id": entry.id, "action": entry.action, "subject": entry.subject}
    if error is None:
        return {**document, "undone": True}
    return {**document, "undone": False, "reason": error.message.text}


def _show(outcomes: Sequence[Outcome]) -> None:
    for outcome in outcomes:
        entry, error = outcome.entry, outcome.problem
        if error is None:
            echo(language.written(messages.FAULTS_UNDONE(action=entry.action, subject=entry.subject)))
        else:
            language.show(error)


def _show_remaining(entries: Sequence[Entry], *, has_unusable: bool) -> None:
    """Why nothing was undone; unusable files have separate messages."""
    for state, message in (
        ("guarded", messages.FAULTS_GUARDED_ONLY),
        ("elsewhere", messages.FAULTS_ELSEWHERE_ONLY),
    ):
        count = sum(journals.state(entry) == state for entry in entries)
        if count:
            echo(language.written(message(count=count)))
    if not entries and not has_unusable:
        echo(language.written(messages.FAULTS_NONE()))

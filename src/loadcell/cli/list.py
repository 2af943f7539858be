"""`loadcell list [PLAN]`: lists runs."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich import table, text

from loadcell.analysis import main_metric
from loadcell.cli import language, messages
from loadcell.cli.arguments import Integer
from loadcell.cli.command import argument, command, option
from loadcell.cli.run_filters import Age, filter_options, plans_with_runs, results_option, selection
from loadcell.cli.streams import echo, echo_json
from loadcell.model import json as model_json
from loadcell.model import message, numbers, terminal, trial_record
from loadcell.report import texts as report_texts
from loadcell.report.history import plan_name
from loadcell.report.render import json
from loadcell.report.sections import provenance
from loadcell.store import read as stored_runs
from loadcell.store import selection as stored_selection

if TYPE_CHECKING:
    from loadcell.analysis.main_metric import MainValue
    from loadcell.model.json import JsonObject
    from loadcell.model.message import Message
    from loadcell.store.read import StoredRun
    from loadcell.store.selection import StoredRecord


#: Labels that a sentence names.
_MOST_LABELS = 8


@dataclass(frozen=True)
class _Row:
    """A run of the list: its directory, and all of it if it can be read; of a plan's runs the main value."""

    run: StoredRecord
    stored: StoredRun | None
    main: MainValue | None = None


@command("list")
@argument("plan", required=False, shell_complete=plans_with_runs)
@results_option
@option("--last", type=Integer(), metavar="N", group="selection")
@option("--since", "younger_than_s", type=Age(), metavar="AGE", group="selection")
@filter_options
@option("--json", "as_json", is_flag=True, group="output")
def list_(
    plan: str | None,
    results: Path,
    last: int | None,
    younger_than_s: float | None,
    labels: tuple[str, ...],
    states: tuple[str, ...],
    older_than_s: float | None,
    as_json: bool,
) -> None:
    """List the runs, or those of a plan with their main metric."""
    if plan is not None and Path(plan).is_dir():
        results, plan = Path(plan), None
    if not results.is_dir():
        raise click.ClickException(language.written(messages.CALL_NO_DIRECTORY(path=results)))
    name = None if plan is None else plan_name(plan)
    everything = stored_selection.records_under(results)
    _refuse_unknown(name, everything, results)
    wanted = selection(name, labels, states, older_than_s, younger_than_s)
    chosen = stored_selection.selected(everything, wanted)
    rows = _with_values(chosen, last) if name is not None else [_row(run) for run in _latest(chosen, last)]
    if as_json:
        echo_json(json.render([_document(row) for row in rows]))
    elif rows and name is not None:
        _show_plan(rows)
    elif rows:
        _show(rows)
    else:
        empty = messages.NO_RUNS(results=results) if not everything else messages.LIST_NONE_SELECTED()
        echo(language.written(empty))
        for unknown in _unknown_labels(wanted.labels, everything):
            echo(language.written(unknown))


def _unknown_labels(wanted: Mapping[str, str | None], runs: Sequence[StoredRecord]) -> Iterator[Message]:
    """Labels that no run has, with the most similar name or value."""
    for name, value in wanted.items():
        values = {run.labels[name] for run in runs if name in run.labels}
        if value in values or (value is None and values):
            continue
        if values:
            label, existing = f"{name}={value}", {f"{name}={text}": text for text in values}
            near = [
                f"{name}={text}" for text in difflib.get_close_matches(value or "", existing.values(), n=1)
            ]
        else:
            label, existing = name, {other: other for run in runs for other in run.labels}
            near = difflib.get_close_matches(name, existing, n=1)
        if near:
            yield messages.LIST_NO_LABEL_NEAR(label=label, near=near[0])
        elif existing:
            yield messages.LIST_NO_LABEL(label=label, labels=sorted(existing)[:_MOST_LABELS])


def _refuse_unknown(name: str | None, runs: Sequence[StoredRecord], results: Path) -> None:
    """Raise an error for a plan without runs, if other plans have runs."""
    plans = sorted({run.plan for run in runs})
    if name is None or not plans or name.lower() in {plan.lower() for plan in plans}:
        return
    near = difflib.get_close_matches(name, plans, n=1)
    code = messages.LIST_NO_PLAN_NEAR if near else messages.LIST_NO_PLAN
    message = code.pick(name=repr(name), results=results, near=near[0] if near else "", plans=plans[:8])
    raise click.ClickException(language.written(message))


def _latest(runs: list[StoredRecord], last: int | None) -> list[StoredRecord]:
    return runs if last is None else runs[-last:]


def _row(run: StoredRecord) -> _Row:
    return _Row(run, None if run.record is None else stored_runs.read_run(run.path))


def _with_values(runs: list[StoredRecord], last: int | None) -> list[_Row]:
    """The latest runs of one plan; the run before them is read only for the first change."""
    rows = [_row(run) for run in _latest(runs, None if last is None else last + 1)]
    read = [row.stored for row in rows if row.stored is not None]
    values = main_metric.main_values(
        [
            main_metric.read(stored.id, stored.state, stored.run, stored.trials, stored.environment)
            for stored in read
        ]
    )
    by_path = {stored.path: value for stored, value in zip(read, values, strict=True)}
    rows = [
        _Row(row.run, row.stored, None if row.stored is None else by_path[row.stored.path]) for row in rows
    ]
    return rows if last is None else rows[-last:]


def _document(row: _Row) -> JsonObject:
    run, stored = row.run, row.stored
    document: JsonObject = {
        "run": str(run.path),
        "id": run.id,
        "size_bytes": stored_selection.size_bytes(run.path),
    }
    if stored is None:
        return {**document, "state": run.state, "reason": run.finding}
    statuses = [trial.status for trial in stored.trials]
    ok = statuses.count(trial_record.Status.OK)
    document |= {
        "plan": stored.run.plan_name,
        "title": stored.run.title,
        "started_utc": stored.run.started_utc,
        "ended_utc": stored.run.ended_utc,
        "state": stored.state,
        "trials": len(stored.planned),
        "ok": ok,
        "not_ok": len(statuses) - ok,
        "unscored": len(stored.unscored),
    }
    checkout = stored.run.checkout
    recorded = {
        "labels": stored.run.labels,
        "about": stored.run.about,
        "checkout": None if checkout is None else model_json.document(checkout),
    }
    document |= {key: value for key, value in recorded.items() if value is not None}
    if row.main is not None:
        document |= {"metric": row.main.metric.name, "value": row.main.value, "change": row.main.change}
    return document


#: A smaller change is shown as none.
_SMALLEST_CHANGE = 0.0005
_STYLES = {"finished": "green", "running": "cyan"}


def _cells(row: _Row) -> dict[str, text.Text | str]:
    """Cells of both tables, by the code of their heading."""
    run, stored = row.run, row.stored
    trials = () if stored is None else stored.trials
    ok = [trial.status for trial in trials].count(trial_record.Status.OK)
    started = ((stored.run.started_utc if stored else None) or "")[:19].replace("T", " ")
    return {
        messages.LIST_ID.code: text.Text(run.id),
        messages.LIST_PLAN.code: text.Text(stored.run.plan_name if stored else "?"),
        messages.LIST_STARTED.code: text.Text(started),
        messages.LIST_STATE.code: text.Text(_state(run.state), style=_STYLES.get(run.state, "yellow")),
        messages.LIST_OK.code: str(ok) if stored else "",
        messages.LIST_OTHER.code: str(len(trials) - ok) if stored else "",
        messages.LIST_OF.code: str(len(stored.planned)) if stored else "",
        messages.LIST_SIZE.code: size_text(stored_selection.size_bytes(run.path)),
        messages.LIST_LABELS.code: text.Text("\n".join(provenance.names(stored.run)) if stored else ""),
        messages.LIST_CHANGE.code: _change(row.main),
    }


def _state(state: str) -> str:
    """A state in the language of the command; --status takes the English word."""
    return (
        language.written(message.Message(report_texts.STATE(state))) if state in report_texts.STATE else state
    )


def _change(main: MainValue | None) -> text.Text:
    if main is None or main.change is None:
        return text.Text("")
    better = (main.change > 0) == main.metric.higher_is_better
    sign = "" if abs(main.change) < _SMALLEST_CHANGE else "+" if main.change > 0 else "−"
    style = "" if better or not sign else "yellow"
    return text.Text(sign + numbers.share(abs(main.change)), style=style)


def _value(main: MainValue | None) -> str:
    if main is None or main.value is None:
        return ""
    throughput = main.metric.name == "throughput"
    return numbers.rate(main.value) if throughput else numbers.milliseconds(main.value)


def _show(rows: Sequence[_Row]) -> None:
    texts = (messages.LIST_ID, messages.LIST_PLAN, messages.LIST_STARTED, messages.LIST_STATE)
    figures = (messages.LIST_OK, messages.LIST_OTHER, messages.LIST_OF, messages.LIST_SIZE)
    cells = [_cells(row) for row in rows]
    labels = [messages.LIST_LABELS_ALONE] if any(row.run.labels for row in rows) else []
    rows_table = table.Table(box=None, pad_edge=False, header_style="bold")
    for heading in texts:
        title = language.written(heading())
        rows_table.add_column(title, no_wrap=heading is not messages.LIST_PLAN, overflow="fold")
    for heading in figures:
        rows_table.add_column(language.written(heading()), justify="right", no_wrap=True)
    for heading in labels:
        rows_table.add_column(language.written(heading()), overflow="fold")
    for row, line in zip(rows, cells, strict=True):
        tags = [text.Text("\n".join(provenance.labels(row.stored.run)) if row.stored else "")] * len(labels)
        rows_table.add_row(*(line[heading.code] for heading in (*texts, *figures)), *tags)
    terminal.Terminal().print_table(rows_table)


def _show_plan(rows: Sequence[_Row]) -> None:
    """The runs of one plan, with the main metric of each kind that they have, and its change."""
    rows_table = table.Table(box=None, pad_edge=False, header_style="bold")
    metrics = list(dict.fromkeys(row.main.metric.name for row in rows if row.main is not None))
    rows_table.add_column(language.written(messages.LIST_ID()), no_wrap=True)
    rows_table.add_column(language.written(messages.LIST_STARTED()), no_wrap=True)
    rows_table.add_column(language.written(messages.LIST_STATE()), no_wrap=True)
    rows_table.add_column(language.written(messages.LIST_OK()), justify="right", no_wrap=True)
    for name in metrics:
        heading = messages.LIST_THROUGHPUT() if name == "throughput" else messages.LIST_P99()
        rows_table.add_column(language.written(heading), justify="right", no_wrap=True)
    rows_table.add_column(language.written(messages.LIST_CHANGE()), justify="right", no_wrap=True)
    rows_table.add_column(language.written(messages.LIST_LABELS()), overflow="fold")
    for row in rows:
        cells = _cells(row)
        done = f"{cells[messages.LIST_OK.code]}/{cells[messages.LIST_OF.code]}" if row.stored else ""
        started = text.Text(str(cells[messages.LIST_STARTED.code])[:16])
        values = [_value(row.main) if row.main and row.main.metric.name == name else "" for name in metrics]
        rows_table.add_row(
            cells[messages.LIST_ID.code],
            started,
            cells[messages.LIST_STATE.code],
            done,
            *values,
            cells[messages.LIST_CHANGE.code],
            cells[messages.LIST_LABELS.code],
        )
    terminal.Terminal().print_table(rows_table)


def size_text(size: float) -> str:
    """`812 B`, `3.4 MB`."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            return f"{size:.0f} {unit}" if unit == "B" or size >= 100 else f"{size:.1f} {unit}"
        size /= 1000
    raise AssertionError("unreachable: the last unit takes any size")

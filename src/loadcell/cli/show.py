"""`loadcell show RUN [TRIAL]`: the results of a run, or all about one of its trials."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from loadcell.cli.arguments import language_option
from loadcell.cli.messages import TRIAL_AMBIGUOUS, TRIAL_NO_SUCH, TRIAL_NOT_FINISHED
from loadcell.store.commands import resume
from loadcell.store.layout import FLAMES, FOLDED

if TYPE_CHECKING:
    from loadcell.report.blocks import Report
    from loadcell.store.read import StoredRun


@click.command("show")
@click.argument("run")
@click.argument("trial", required=False)
@language_option("a run's results")
@click.option("--json", "as_json", is_flag=True, help="Print plain JSON instead.")
def show(run: str, trial: str | None, lang: str, as_json: bool) -> None:
    """Show the results of RUN, or one TRIAL of it (its number, or a unique part of its name).

    RUN is a directory, the beginning of a run's name or short id, or `last`.
    """
    from loadcell.report import brief
    from loadcell.report.render import json, terminal
    from loadcell.store.errors import StoreError
    from loadcell.store.find import find_run
    from loadcell.store.read import read_run

    try:
        stored = read_run(find_run(run))
        record = None if trial is None else _find(stored, trial)
    except StoreError as error:
        raise click.ClickException(str(error)) from None
    if as_json:
        click.echo(json.render(record or _document(stored)))
    elif record is not None:
        terminal.render(_trial(stored, record))
    else:
        terminal.render(brief.of_run(stored, lang))
        for damage in stored.damage:
            click.echo(f"damaged: {damage}", err=True)


def _document(stored: StoredRun) -> dict[str, object]:
    """Everything that is recorded of a run."""
    return {
        **stored.run,
        "path": stored.path,
        "state": stored.state,
        "unfinished": stored.unfinished,
        "records": stored.trials,
        "unscored_records": stored.unscored,
        "damage": [str(damage) for damage in stored.damage],
    }


def _find(stored: StoredRun, wanted: str) -> dict[str, Any]:
    """The finished trial of this number, or whose name has this part and no other's has."""
    from loadcell.store.errors import StoreError

    trials = (*stored.trials, *stored.unscored)
    exact = [one for one in trials if wanted in (one["name"], str(one.get("number")))]
    found = exact or [one for one in trials if wanted in one["name"]]
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(one["name"] for one in found[:5])
        raise StoreError(TRIAL_AMBIGUOUS(trial=repr(wanted), count=len(found), matches=names))
    if any(wanted in name for name in stored.missing):
        raise StoreError(TRIAL_NOT_FINISHED(trial=repr(wanted), resume=resume(stored.path)))
    raise StoreError(TRIAL_NO_SUCH(trial=repr(wanted), count=len(stored.planned)))


def _trial(stored: StoredRun, trial: dict[str, Any]) -> Report:
    """All about one trial, as blocks."""
    from loadcell.report.blocks import Block, Cell, Code, Column, Paragraph, Report, Section, Table

    facts: list[Block] = []
    if trial.get("role"):
        facts.append(Paragraph("Not scored: it only profiles, and counts in no result."))
    facts += [Paragraph(str(trial[key])) for key in ("reason", "advice") if trial.get(key)]
    sections = [Section("trial", "", [*facts, Code("", str(stored.directory(trial["name"])))])]
    for title, rows in _tables(trial):
        columns = [
            Column("", figure=position > 0 and all(row[position][:1].isdigit() or not row[position] for row in rows), many=True)
            for position in range(len(rows[0]) if rows else 0)
        ]  # fmt: skip
        table = Table(title, "", columns, [[Cell(cell) for cell in row] for row in rows])
        sections.append(Section(title, title, [table] if rows else []))
    return Report("en", f"{trial['name']}  {trial['status']}", "", stored.id, (), sections)


def _tables(trial: dict[str, Any]) -> list[tuple[str, list[tuple[str, ...]]]]:
    from loadcell.execution.progress import duration, milliseconds, rate

    totals = trial.get("totals") or {}
    transactions = totals.get("transactions") or {}
    figures = [
        (key.replace("_", " "), f"{value:,}") for key, value in transactions.items() if value is not None
    ]
    if totals.get("throughput_per_s") is not None:
        figures.insert(0, ("throughput", rate(totals["throughput_per_s"])))
    figures += [(name, f"{value:,.0f}") for name, value in (totals.get("figures") or {}).items()]
    latencies = [
        (
            name.removesuffix("_ms"),
            *(_cell(totals.get(kind), name, milliseconds) for kind in ("response", "service")),
        )
        for name in ("mean_ms", "p50_ms", "p90_ms", "p95_ms", "p99_ms", "p99.9_ms", "p99.99_ms", "max_ms")
        if totals.get("response")
    ]
    operations = [
        (
            name,
            one["kind"],
            f"{one['succeeded']:,}",
            f"{one['failed']:,}",
            _cell(one.get("response"), "p99_ms", milliseconds),
        )
        for name, one in (trial.get("operations") or {}).items()
    ]
    phases = [(one["name"], duration(one["duration_s"]), one["status"]) for one in trial.get("phases", [])]
    errors = [
        (str(one["count"]), one["code"], one.get("meaning") or "", one.get("operation") or "", one["message"])
        for one in trial.get("errors", [])
    ]
    checks = [(one["name"], one["verdict"]) for one in trial.get("checks", [])]
    expect = [(one["expression"], one["verdict"]) for one in trial.get("expect", [])]
    return [
        ("transactions", [*figures]),
        ("latency: response, service", [*latencies]),
        ("operations: kind, succeeded, failed, response p99", [*operations]),
        ("errors", [*errors]),
        ("tool", _tool(trial)),
        ("profile", _profile(trial)),
        ("expected", [*expect]),
        ("checks", [*checks]),
        ("phases", [*phases]),
    ]


def _tool(trial: dict[str, Any]) -> list[tuple[str, ...]]:
    """Which tool it was, and how it was called."""
    import shlex

    tool = trial.get("tool") or {}
    rows = [(name, str(tool[name])) for name in ("name", "version", "unread") if tool.get(name) is not None]
    return [*rows, *([("command", shlex.join(tool["command"]))] if "command" in tool else [])]


def _profile(trial: dict[str, Any]) -> list[tuple[str, ...]]:
    """What was sampled, and the files that came of it."""
    profile = trial.get("profile") or {}
    names = ("samples", "event", "frequency", "call_graph", "processes", "tool")
    rows: list[tuple[str, ...]] = [
        (name.replace("_", " "), str(profile[name])) for name in names if profile.get(name) is not None
    ]
    return rows + [("file", name) for name in (FOLDED, FLAMES) if name in (trial.get("files") or {})]


def _cell(figures: dict[str, Any] | None, name: str, text: Any) -> str:
    return "" if not figures or figures.get(name) is None else str(text(figures[name]))

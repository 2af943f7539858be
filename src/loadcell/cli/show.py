"""`loadcell show RUN [TRIAL]`: shows the results of a run, or one of its trials."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING

from loadcell.analysis import error_codes, trials
from loadcell.analysis.limits import judge
from loadcell.cli import language, locales, messages
from loadcell.cli.arguments import runs
from loadcell.cli.command import argument, command, option
from loadcell.cli.messages import TRIAL_AMBIGUOUS, TRIAL_NO_SUCH, TRIAL_NOT_FINISHED
from loadcell.cli.streams import echo, echo_json
from loadcell.execution import progress as run_progress
from loadcell.model import json as model_json
from loadcell.model import latency as latency_record
from loadcell.model import metrics, python_profile, trial_record
from loadcell.model.message import Labels
from loadcell.report import blocks, brief, texts
from loadcell.report.render import json, terminal
from loadcell.store import find as run_finder
from loadcell.store import layout
from loadcell.store import read as stored_runs

if TYPE_CHECKING:
    from loadcell.model.message import Message
    from loadcell.report.texts import Texts
    from loadcell.store.read import StoredRun

_COUNT = Labels(
    "show.count", ("throughput", "attempted", "carried_in", "succeeded", "failed", "in_flight", "retried")
)
_KIND = Labels("show.kind", ("read", "write", "other", "type", "outcome"))
_CHECK = Labels("show.check", ("ok", "noticed", "broken"))
_COLUMN = Labels("show.column", ("response", "service", "operation", "kind", "p99"))
_FACT = Labels(
    "show.fact",
    (
        *("name", "version", "unread", "command"),
        *("samples", "event", "frequency", "call_graph", "processes", "tool", "file"),
    ),
)
#: Files of profiles.
_PROFILE_FILES = (
    layout.FOLDED,
    layout.FLAMES,
    layout.CLASSES_BEFORE,
    layout.CLASSES_AFTER,
    *python_profile.FILES,
)


@command("show")
@argument("run", shell_complete=runs)
@argument("trial", required=False)
@option("--json", "as_json", is_flag=True, group="output")
def show(run: str, trial: str | None, as_json: bool) -> None:
    """Show a run or a trial."""
    stored = stored_runs.read_run(run_finder.find_run(run))
    record = None if trial is None else _find(stored, trial)
    if as_json:
        echo_json(json.render(model_json.document(record) if record else _document(stored)))
    elif record is not None:
        terminal.render(_trial(stored, record, texts.Texts(locales.current())))
    else:
        terminal.render(brief.of_run(stored, locales.current()))
        for damage in stored.damage:
            echo(language.written(messages.RUN_DAMAGED(damage=damage.reason)), err=True)


def _document(stored: StoredRun) -> model_json.JsonObject:
    """Everything that is recorded of a run."""
    return {
        **model_json.document(stored.run),
        "path": stored.path,
        "state": stored.state,
        "unfinished": stored.unfinished,
        "records": [model_json.document(record) for record in stored.trials],
        "unscored_records": [model_json.document(record) for record in stored.unscored],
        "damage": [str(damage) for damage in stored.damage],
        "bottlenecks": judge.documents_of_run(stored.run, stored.trials),
    }


def _find(stored: StoredRun, wanted: str) -> trial_record.TrialRecord:
    """Finished trial with this number, or the only one whose name contains this text."""
    trials = (*stored.trials, *stored.unscored)
    exact = [trial for trial in trials if wanted in (trial.name, str(trial.number))]
    matches = exact or [trial for trial in trials if wanted in trial.name]
    if len(matches) == 1:
        return matches[0]
    if matches:
        names = ", ".join(trial.name for trial in matches[:5])
        raise layout.StoreError(TRIAL_AMBIGUOUS(trial=repr(wanted), count=len(matches), matches=names))
    if any(wanted in name for name in stored.missing):
        raise layout.StoreError(
            TRIAL_NOT_FINISHED(
                trial=repr(wanted), resume=layout.resume_command(stored.path, stored.run.resumed_by)
            )
        )
    raise layout.StoreError(TRIAL_NO_SUCH(trial=repr(wanted), count=len(stored.planned)))


def _trial(stored: StoredRun, trial: trial_record.TrialRecord, texts: Texts) -> blocks.Report:
    """All about one trial, as blocks."""
    reason = run_progress.reason_of(trial)
    facts = [
        *([messages.SHOW_UNSCORED()] if trial.role else []),
        *([] if reason is None else [reason, reason.remedy]),
    ]
    paragraphs = [blocks.Paragraph(text) for fact in facts if (text := texts.recorded(fact))]
    sections = [
        blocks.Section("trial", "", [*paragraphs, blocks.Code("", str(stored.directory(trial.name)))])
    ]
    for heading, titles, rows in _tables(trial, texts):
        title = texts.message(heading)
        columns = [
            blocks.Column(
                texts(titles[position]) if titles and titles[position] else "",
                figure=position > 0 and all(row[position][:1].isdigit() or not row[position] for row in rows),
                many=True,
            )
            for position in range(len(rows[0]) if rows else 0)
        ]  # fmt: skip
        table = blocks.Table(title, "", columns, [[blocks.Cell(cell) for cell in row] for row in rows])
        sections.append(blocks.Section(title, title, [table] if rows else []))
    return blocks.Report(
        texts.language, f"{trial.name}  {texts(f'status.{trial.status}')}", "", stored.id, (), sections
    )


#: A table of a trial: its heading, the codes of its columns' titles (none: it has no such line), its rows.
_Rows = list[tuple[str, ...]]
_Table = tuple["Message", tuple[str, ...], _Rows]


def _tables(trial: trial_record.TrialRecord, texts: Texts) -> list[_Table]:
    """Each table of a trial; empty tables are omitted."""
    latencies = trial.totals and [
        (
            texts(f"statistic.{name.removesuffix('_ms')}"),
            *(
                _cell(latency, name, run_progress.milliseconds)
                for latency in (trial.totals.response, trial.totals.service)
            ),
        )
        for name in ("mean_ms", "p50_ms", "p90_ms", "p95_ms", "p99_ms", "p99.9_ms", "p99.99_ms", "max_ms")
        if trial.totals.response
    ]
    latencies = [row for row in latencies or () if any(row[1:])]
    operations = [
        (
            name,
            _labelled(_KIND, stats.kind, texts),
            f"{stats.succeeded or 0:,}",
            f"{stats.failed or 0:,}",
            _cell(stats.response, "p99_ms", run_progress.milliseconds),
        )
        for name, stats in trial.operations.items()
    ]
    phases = [
        (
            texts.or_none(f"phase.{phase.name}") or phase.name,
            run_progress.duration(phase.duration_s or 0.0),
            texts.or_none(f"status.{phase.status}") or phase.status or "",
        )
        for phase in trial.phases
    ]
    errors = [
        (
            str(error.count),
            error.code,
            texts.value("meaning", error_codes.error_meaning(error.code, error.meaning or "")),
            error.operation,
            error.message or "",
        )
        for error in trial.errors
    ]
    checks = [
        (
            texts.or_none(f"check-title.{check.name}") or check.name,
            _labelled(_CHECK, check.verdict, texts),
            "" if check.verdict == "ok" else texts.or_none(f"check-name.{check.name}") or "",
        )
        for check in trial.checks
    ]
    expected = [
        (result.expression, texts.or_none(f"verdict.{result.verdict}") or result.verdict)
        for result in trial.expect
    ]
    of_latencies = ("", _COLUMN("response"), _COLUMN("service"))
    of_operations = (
        *(_COLUMN(name) for name in ("operation", "kind")),
        *(_COUNT(name) for name in ("succeeded", "failed")),
        _COLUMN("p99"),
    )
    return [
        (messages.SHOW_TRANSACTIONS(), (), _transactions(trial.totals or trial_record.Totals(), texts)),
        (messages.SHOW_LATENCY(), of_latencies, [*latencies]),
        (messages.SHOW_OPERATIONS(), of_operations, [*operations]),
        (messages.SHOW_ERRORS(), (), [*errors]),
        (messages.SHOW_TOOL(), (), _tool(trial.tool, texts)),
        (messages.SHOW_PROFILE(), (), _profile(trial, texts)),
        (messages.SHOW_EXPECTED(), (), [*expected]),
        (messages.SHOW_CHECKS(), (), [*checks]),
        (messages.SHOW_PHASES(), (), [*phases]),
    ]


def _labelled(labels: Labels, name: str, texts: Texts) -> str:
    """A word of a record in the reader's language; a word of a later version as it is."""
    return texts(labels(name)) if name in labels else name


def _transactions(totals: trial_record.Totals, texts: Texts) -> _Rows:
    if totals.throughput_per_s is None:
        return []
    counts = asdict(totals.transactions)
    rows = [
        (_labelled(_COUNT, key, texts), f"{value:,}") for key, value in counts.items() if value is not None
    ]
    facts = totals.metrics or {}
    values = [
        (name, metrics.value_text(facts[name].kind, value) if name in facts else f"{value:,.0f}")
        for name, value in totals.figures.items()
        if value is not None
    ]
    return [(texts(_COUNT("throughput")), run_progress.rate(totals.throughput_per_s)), *rows, *values]


def _tool(tool: trial_record.ToolRecord | None, texts: Texts) -> _Rows:
    """Name, version and command of an external tool."""
    if tool is None:
        return []
    command = shlex.join(tool.command) if tool.command else None
    values = {"name": tool.name, "version": tool.version, "unread": tool.unread, "command": command}
    return [(texts(_FACT(name)), str(value)) for name, value in values.items() if value is not None]


def _profile(trial: trial_record.TrialRecord, texts: Texts) -> _Rows:
    """Sampled event of a profile, and its files."""
    names = ("samples", "event", "frequency", "call_graph", "processes", "tool")
    values = [(name, getattr(trial.profile, name)) for name in names] if trial.profile is not None else []
    values += [("file", name) for name in _PROFILE_FILES if name in (trial.files or {})]
    return [(texts(_FACT(name)), str(value)) for name, value in values if value is not None]


def _cell(latency: latency_record.Latency | None, name: str, text: Callable[[float], str]) -> str:
    """A value as text; empty for a missing value, and for a percentile of too few requests."""
    value = (trials.carried(latency.values()) or {}).get(name) if latency else None
    return "" if value is None else text(value)

"""`loadcell import TOOL FILE...`: turns finished output of other tools into a run."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from loadcell.cli import call, language, locales
from loadcell.cli import messages as cli_messages
from loadcell.cli.arguments import Positive, label_option, run_directory_option
from loadcell.cli.command import argument, command, option
from loadcell.cli.streams import echo, echo_json
from loadcell.ingest import base, checks, csv_table, dating, read, write_run
from loadcell.ingest import inputs as input_files
from loadcell.ingest.readers import names as reader_names
from loadcell.plan import labels as plan_labels
from loadcell.plan import problems as plan_problems
from loadcell.report import brief, publish
from loadcell.report.render import json, terminal
from loadcell.store import find as run_finder
from loadcell.store import layout

if TYPE_CHECKING:
    from loadcell.ingest.base import Source
    from loadcell.model.message import Message
    from loadcell.report.context import ReportContext

TOOLS = ("auto", *reader_names(), "csv")


#: Bytes of a name, so that the report's files can have it as a part of theirs.
_LONGEST_NAME = 200
#: Of a wide table this many unused columns are named.
_MOST_COLUMNS = 20


@command("import", tools=", ".join(TOOLS[1:-1]))
@argument("tool", type=click.Choice(TOOLS), metavar="TOOL")
@argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@run_directory_option
@option("--results", type=click.Path(path_type=Path), metavar="DIR", group="output")
@option("--name", metavar="NAME", group="output")
@option("--date", metavar="TIME", group="input")
@option("--title", group="output")
@option("--by-file", is_flag=True, group="input")
@option("--by", "settings", multiple=True, metavar="SETTING", group="input")
@option("--column", "columns", multiple=True, metavar="WHAT=COLUMN", group="input")
@option(
    "--unit",
    type=click.Choice(["transaction", "request", "operation", "record", "MiB"]),
    default="operation",
    show_default=True,
    group="input",
)
@option("--interval", type=Positive(), metavar="SECONDS", group="input")
@option(
    "--copy-limit",
    type=Positive(),
    default=input_files.MOST_COPIED_BYTES // 2**30,
    show_default=True,
    metavar="GIB",
    group="input",
)
@label_option
@option("--report/--no-report", "write_report", default=True, show_default=True, group="output")
@option("--json", "as_json", is_flag=True, group="output")
def import_(
    tool: str, files: tuple[Path, ...], out: Path | None, results: Path | None, name: str | None,
    date: str | None, title: str | None, by_file: bool, settings: tuple[str, ...],
    columns: tuple[str, ...], unit: str, interval: float | None, copy_limit: float,
    labels: tuple[str, ...], write_report: bool, as_json: bool,
) -> None:  # fmt: skip
    """Turn outputs of other tools into a run."""
    if name is not None and not _is_one_directory(name):
        raise language.CallError(cli_messages.CALL_IMPORT_NAME(name=repr(name)))
    if out is not None and results is not None:
        raise language.CallError(cli_messages.CALL_OUT_RESULTS())
    mistakes = list(plan_labels.problems_of_options(labels))
    if mistakes:
        raise plan_problems.PlanError(mistakes)
    date_s = None if date is None else dating.parse(date, time.time())
    # the report is made ready by a separate process while the files are read
    with (
        publish.Prewarm(writes=write_report) as page,
        input_files.Inputs(round(copy_limit * 2**30)) as inputs,
    ):
        with input_files.Bar(sys.stderr, page.begin) as on_progress:
            plain = inputs.plain(files, on_progress)
            try:
                if tool == "csv":
                    mapping = csv_table.parse(columns)
                    sources = [csv_table.read_csv(file, mapping, unit) for file in plain]
                    factors = (column for column, role in mapping.items() if role == "factor")
                    settings = (*settings, *factors)
                else:
                    sources = read.read(plain, tool, interval_s=interval, on_progress=on_progress)
                sources = inputs.as_named(sources)
                arranged = read.attached(read.arrange(sources, by_file=by_file, settings=settings), sources)
            except base.ImportProblemError as error:
                raise inputs.naming(error) from None
        filed = name or (sources[0].tool if len({source.tool for source in sources}) == 1 else "imported")
        notes: list[Message] = []
        path = write_run.write(
            arranged, sources, results=results or run_finder.DEFAULT_RESULTS, out=out, name=filed,
            title=title or f"{filed}: {', '.join(dict.fromkeys(file.name for file in files))}"[:120],
            command=list(call.command_line()), date_s=date_s, note=notes.append,
            labels=plan_labels.of_options(labels),
        )  # fmt: skip
        context = page.publish(path, locales.current())
    _tell(path, context, sources, notes, as_json=as_json)


def _is_one_directory(name: str) -> bool:
    """True for a name of a visible directory within the results."""
    plain = name.isprintable() and "/" not in name and not name.startswith(".")
    return bool(name.strip()) and plain and len(name.encode("utf-8", "replace")) <= _LONGEST_NAME


def _tell(
    path: Path, context: ReportContext, sources: Sequence[Source], notes: Sequence[Message], *, as_json: bool
) -> None:
    if as_json:
        echo_json(json.render({"run": path, "imported": context.stored.run.imported}))
        return

    terminal.render(brief.build(context))
    for source, stored in zip(sources, context.stored.run.imported or (), strict=True):
        reading = source.reading
        if reading.samples is not None and reading.samples.assumed_interval_s is not None:
            interval = f"{reading.samples.assumed_interval_s:g} s"
            remark = base.IMPORT_ASSUMED_INTERVAL(source=source.name, tool=source.tool, interval=interval)
            echo(language.written(remark), err=True)
        if reading.unread:
            shown = "; ".join(repr(example) for example in stored.examples[:3])
            code = base.IMPORT_UNREAD_LINES if reading.unread > 1 else base.IMPORT_UNREAD_LINE
            lines = base.IMPORT_UNREAD(count=reading.unread)
            remark = code.pick(source=source.name, lines=lines, example=shown, examples=shown)
            echo(language.written(remark), err=True)
        if reading.missing:
            shown = "; ".join(map(repr, reading.missing_examples[:3]))
            remark = base.IMPORT_MISSING(source=source.name, count=reading.missing, examples=shown)
            echo(language.written(remark), err=True)
        if reading.unused:
            columns = [
                *reading.unused[:_MOST_COLUMNS],
                *(["..."] if len(reading.unused) > _MOST_COLUMNS else []),
            ]
            echo(language.written(base.IMPORT_UNUSED(source=source.name, columns=columns)), err=True)
        for remark in checks.remarks(source.name, reading.measured, reading.samples):
            echo(language.written(remark), err=True)
    for note in notes:
        echo(language.written(note), err=True)
    _say_dates(path, context)
    echo(language.written(cli_messages.RUN_PATH(path=path)), err=True)


def _say_dates(path: Path, context: ReportContext) -> None:
    """Print the source of the run's date, and the run of `last` if it is another one."""
    for file in context.stored.run.imported or ():
        if file.dated is not None and file.measured_utc is not None:
            echo(language.written(dating.remark(file.file, file.dated, file.measured_utc)), err=True)
    runs = run_finder.runs_under(run_finder.DEFAULT_RESULTS)
    if runs and path in runs[:-1]:
        remark = cli_messages.IMPORT_NOT_LAST(last=runs[-1], id=layout.short_id(path.name))
        echo(language.written(remark), err=True)

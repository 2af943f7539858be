"""`loadcell report RUN`: the report of a run, written again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from loadcell.cli import output
from loadcell.cli.arguments import language_option, runs
from loadcell.cli.streams import echo, echo_json
from loadcell.report import FORMATS, write
from loadcell.report import context as report_context
from loadcell.report.render import json
from loadcell.report.sections import summary
from loadcell.store import find as run_finder
from loadcell.store import read as stored_runs

if TYPE_CHECKING:
    from pathlib import Path


@click.command("report")
@click.argument("run", metavar="RUN", default="last", shell_complete=runs)
@language_option("the report")
@click.option(
    "--format",
    "formats",
    type=click.Choice(["html", "md"]),
    multiple=True,
    help="Only this format (can be given twice); both without it.",
)
@click.option("--out", type=click.Path(), help="A directory, or with one format the file to write.")
@click.option("--json", "as_json", is_flag=True, help="Print the analysed results as plain JSON instead.")
def report(run: str, lang: str, formats: tuple[str, ...], out: str | None, as_json: bool) -> None:
    """Write the report of RUN: a page that needs no network, and Markdown with pictures.

    RUN is a run's directory, the beginning of its name, or `last`. Without --out the report goes into the
    run's directory.
    """

    formats_written, location = output.of_report(formats, out)
    path = run_finder.find_run(run)
    if as_json:
        echo_json(_json(path))
        return

    for written in write(path, lang, formats_written or FORMATS, location):
        echo(written)


def _json(path: Path) -> str:

    stored = stored_runs.read_run(path)
    context = report_context.ReportContext.of(stored, "en")
    document = {
        "run": stored.path,
        "plan": stored.run.plan_name,
        "title": stored.run.title,
        "state": stored.state,
        "unit": context.texts.unit,
        "damage": [str(damage) for damage in stored.damage],
        **context.analysis.document(),
        "steadiness": context.steadiness,
        "summary": [
            {**finding.document(), "section": summary.section_of(finding)}
            for finding in summary.findings(context)
        ],
        "findings": context.findings,
    }
    return json.render(document)

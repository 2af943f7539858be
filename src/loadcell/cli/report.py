"""`loadcell report RUN`: writes the report of a run again."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import click

from loadcell.analysis import capacity
from loadcell.cli import language, locales, messages, output
from loadcell.cli.arguments import runs
from loadcell.cli.command import argument, command, option
from loadcell.cli.streams import echo, echo_json
from loadcell.report import FORMATS, write
from loadcell.report import context as report_context
from loadcell.report.render import json, terminal
from loadcell.report.sections import capacity as capacity_section
from loadcell.report.sections import summary
from loadcell.store import find as run_finder
from loadcell.store import read as stored_runs

if TYPE_CHECKING:
    from pathlib import Path

#: Digits of a number of instances.
_MOST_DIGITS = 6


@command("report")
@argument("run", metavar="RUN", default="last", shell_complete=runs)
@option("--format", "formats", type=click.Choice(["html", "md"]), multiple=True, group="output")
@option("--headroom", metavar="PERCENT", group="capacity")
@option("--instances", metavar="N", group="capacity")
@option("--out", type=click.Path(), group="output")
@option("--json", "as_json", is_flag=True, group="output")
def report(
    run: str,
    formats: tuple[str, ...],
    headroom: str | None,
    instances: str | None,
    out: str | None,
    as_json: bool,
) -> None:
    """Write the report of a run."""

    formats_written, location = output.of_report(formats, out)
    provision = _provision(headroom, instances)
    path = run_finder.find_run(run)
    if as_json:
        echo_json(_json(path, provision))
        return

    if provision is not None:
        context = report_context.ReportContext.of(stored_runs.read_run(path), locales.current(), provision)
        terminal.render(capacity_section.page(context))
    for written in write(path, locales.current(), formats_written or FORMATS, location, provision):
        echo(written)


def _provision(headroom: str | None, instances: str | None) -> capacity.Provision | None:
    """Headroom and instances of the capacity; None without either option. Raises CallError."""
    if headroom is None and instances is None:
        return None
    share, count = 0.0, 1
    if headroom is not None:
        number = headroom.strip().removesuffix("%")
        try:
            share = float(number) / 100 if headroom.strip().endswith("%") else math.nan
        except ValueError:
            share = math.nan
        if not 0 <= share < 1:
            raise language.CallError(messages.CALL_HEADROOM(text=headroom))
    if instances is not None:
        text = instances.strip()
        count = int(text) if text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS else 0
        if count < 1:
            raise language.CallError(messages.CALL_INSTANCES(text=instances))
    return capacity.Provision(share, count)


def _json(path: Path, provision: capacity.Provision | None) -> str:

    stored = stored_runs.read_run(path)
    context = report_context.ReportContext.of(stored, "en", provision)
    document = {
        "run": stored.path,
        "plan": stored.run.plan_name,
        "title": stored.run.title,
        "state": stored.state,
        "unit": context.texts.unit,
        "damage": [str(damage) for damage in stored.damage],
        **context.analysis.document(),
        **({} if provision is None else {"capacity": capacity_section.document(context)}),
        "steadiness": context.steadiness,
        "summary": [
            {**finding.document(), "section": summary.section_of(finding)}
            for finding in summary.findings(context)
        ],
        "findings": context.findings,
    }
    return json.render(document)

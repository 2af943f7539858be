"""`loadcell history PLAN`: a plan's runs over time, and where their metrics changed."""

from __future__ import annotations

from pathlib import Path

import click

from loadcell.analysis import history as run_history
from loadcell.cli import locales, output
from loadcell.cli.arguments import Integer, percentage, plan_argument
from loadcell.cli.command import command, option
from loadcell.report import history as run_report

#: The names of metrics and methods; loadcell.analysis.history defines them (a test compares the two).
METRICS = ("throughput", "mean", "p50", "p95", "p99", "p99.9", "target.cpu", "target.memory", "host.cpu")
METHODS = ("t-test", "permutation", "windows")


@command("history")
@plan_argument()
@option("--results", type=click.Path(), default="results", show_default=True, group="selection")
@option("--metric", type=click.Choice(METRICS), default="throughput", show_default=True, group="analysis")
@option("--last", type=Integer(), metavar="N", group="selection")
@option("--test", "method", type=click.Choice(METHODS), default="t-test", show_default=True, group="analysis")
@option("--level", default="1%", show_default=True, metavar="PERCENT", group="analysis")
@option("--least-change", default="2%", show_default=True, metavar="PERCENT", group="analysis")
@option("--out", type=click.Path(), group="output")
@option("--json", "as_json", is_flag=True, group="output")
def history(
    plan: str,
    results: str,
    metric: str,
    last: int | None,
    method: str,
    level: str,
    least_change: str,
    out: str | None,
    as_json: bool,
) -> None:
    """Show metrics of a plan over its runs."""

    options = _options(method, level, least_change)
    gathered = run_report.gather(
        plan, Path(results), run_history.METRICS[metric], options, last, locales.current()
    )
    document = run_report.document(gathered, locales.current())
    formats, path = ((), None) if out is None else (("html",), Path(out))
    output.show(document, formats, path, ("loadcell", "history", plan), as_json=as_json)


def _options(method: str, level: str, least_change: str) -> run_history.Options:

    return run_history.Options(
        method=method,  # type: ignore[arg-type]
        level=percentage("--level", level, most=0.5),
        least_change=percentage("--least-change", least_change, most=1.0, zero=True),
    )

"""`loadcell recommend RUN...`: the best level of each factor."""

from __future__ import annotations

from pathlib import Path

import click

from loadcell.analysis.best_levels import MOST_FAILED
from loadcell.cli import locales, output
from loadcell.cli.arguments import percentage, runs
from loadcell.cli.command import argument, command, option
from loadcell.report import best_levels
from loadcell.store import find as run_finder


@command("recommend")
@argument("run", nargs=-1, required=True, metavar="RUN...", shell_complete=runs)
@option("--most-failed", default=f"{MOST_FAILED:.0%}", show_default=True, metavar="PERCENT", group="analysis")
@option("--out", type=click.Path(), group="output")
@option("--json", "as_json", is_flag=True, group="output")
def recommend(run: tuple[str, ...], most_failed: str, out: str | None, as_json: bool) -> None:
    """Recommend the best level of each factor."""
    limit = percentage("--most-failed", most_failed, most=1.0, zero=True)
    gathered = best_levels.gather([run_finder.find_run(name) for name in run], limit)
    document = best_levels.document(gathered, limit, locales.current())
    formats, path = ((), None) if out is None else (("html",), Path(out))
    output.show(document, formats, path, ("loadcell", "recommend", *run), as_json=as_json)

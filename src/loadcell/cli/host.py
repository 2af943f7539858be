"""`loadcell host`: what this machine is, as far as it bears on performance, and with `--baseline` what it can
do.
"""

from __future__ import annotations

import json
from pathlib import Path

import click

from loadcell.analysis import host_remarks
from loadcell.cli import host_baseline, language, messages
from loadcell.cli.arguments import language_option, runs
from loadcell.cli.streams import echo, echo_json
from loadcell.linux import inventory
from loadcell.model import json as model_json
from loadcell.report import host as host_report
from loadcell.report import texts
from loadcell.report.render import json as report_json
from loadcell.report.render import terminal
from loadcell.systems.host import probe_server as serve


@click.command("host")
@click.option("--json", "as_json", is_flag=True, help="Print plain JSON instead.")
@click.option(
    "--anonymous",
    is_flag=True,
    help="Leave names and addresses out, for sharing; of a baseline's run paths and the command line, too. "
    "What you call it (--out) stays.",
)
@click.option(
    "--serve",
    is_flag=False,
    flag_value="127.0.0.1",
    metavar="[ADDRESS[:PORT]]",
    help="Answer network probes of other machines at this address (default: 127.0.0.1:7733) until Ctrl-C.",
)
@language_option("the page")
@click.option(
    "--baseline",
    is_flag=True,
    help="Measure what processors, memory, disk and network can do: the plan host-baseline, in about two "
    "minutes.",
)
@click.option(
    "--directory",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="With --baseline: a directory on the disk to be measured. Default: where loadcell works, below "
    "/var/tmp.",
)
@click.option(
    "--peer",
    metavar="HOST:PORT",
    help="With --baseline: a `loadcell host --serve` elsewhere. Default: loopback.",
)
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="DIR",
    help="With --baseline: the run's directory. Default: results/host-baseline/<time>-<id>.",
)  # fmt: skip
@click.option(
    "--resume",
    metavar="RUN",
    shell_complete=runs,
    help="With --baseline: resume one that was interrupted; of one that is complete, write the page again.",
)
@click.option(
    "--set", "sets", multiple=True, metavar="PATH=VALUE",
    help="With --baseline: change a setting of the plan, such as repeats=1 (shorter: one figure each) or "
         "repeats=6 (intervals and verdicts). May be given again.",
)  # fmt: skip
@click.option(
    "--only", multiple=True, metavar="probe=NAME,...",
    help="With --baseline: only these probes. `loadcell check host-baseline` lists them.",
)  # fmt: skip
@click.option("--quiet", "-q", is_flag=True, help="With --baseline: no progress.")
def host(
    as_json: bool,
    anonymous: bool,
    serve: str | None,
    lang: str,
    baseline: bool,
    directory: Path | None,
    peer: str | None,
    out: Path | None,
    resume: str | None,
    sets: tuple[str, ...],
    only: tuple[str, ...],
    quiet: bool,
) -> int:
    """Show this machine: processors, memory, disks, network, kernel, and which settings hurt measurements.

    Needs no privilege; what only root may read is named as not available, with the reason. Every question has
    a time limit, so that a hung mount or a broken firmware table holds nothing up. Each run keeps the same
    facts in environment.json.

    \b
    loadcell host                     what this machine is
    loadcell host --baseline          and what it can do: a page here, and
                                      host.html in the run's directory
    loadcell host --baseline --json > a.json
    loadcell compare a.json b.json    two machines side by side: copy the other
                                      machine's file here, or its run's directory
    """
    if serve is not None:
        _serve(serve, as_json=as_json)
        return 0
    if baseline:
        return host_baseline.measure(
            host_baseline.Asked(directory, peer, out, resume, sets, only, quiet, lang, as_json, anonymous)
        )
    commands = {
        "--directory": directory, "--peer": peer, "--out": out, "--resume": resume, "--set": sets,
        "--only": only,
        "--quiet": quiet,
    }  # fmt: skip
    stray = [name for name, value in commands.items() if value]
    if stray:
        raise language.CallError(messages.CALL_BASELINE_OPTION(option=stray[0]))
    _show(as_json, anonymous, lang)
    return 0


def _show(as_json: bool, anonymous: bool, lang: str) -> None:

    host_facts = inventory.collect(anonymous=anonymous)
    remarks = host_remarks.findings(host_facts)
    if as_json:
        document = {"schema": 1, "host": host_facts, "findings": remarks}
        echo_json(report_json.render(document, texts.Texts(lang)))
        return

    terminal.render(host_report.brief(host_facts, remarks, lang))


def _serve(address: str, *, as_json: bool) -> None:

    def say(event: serve.Listening | serve.Served) -> None:
        if as_json:
            echo_json(json.dumps(model_json.document(event)))
        elif isinstance(event, serve.Listening):
            echo(language.written(serve.welcome(event.address)))
        else:
            echo(language.written(serve.farewell(event)))

    try:
        serve.serve(address, say)
    except serve.ServeError as error:
        raise click.ClickException(language.written(error.message)) from error

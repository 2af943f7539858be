"""`loadcell host`: facts of this machine that bear on performance, and with `--baseline` its capacity.

A baseline runs the plan of probes as any plan, and shows the results as one page.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from loadcell import parts, report
from loadcell.analysis import host_remarks
from loadcell.cli import call, language, locales, messages
from loadcell.cli.arguments import beginning, load, runs
from loadcell.cli.command import command, option
from loadcell.cli.run import progress, say_abandoned
from loadcell.cli.streams import echo, echo_json
from loadcell.execution import anonymise, interrupts, outcome
from loadcell.execution import resume as resumption
from loadcell.execution import runner as execution
from loadcell.linux import inventory
from loadcell.model import json as model_json
from loadcell.report import host as host_report
from loadcell.report import texts
from loadcell.report.hosts import gather as machines
from loadcell.report.hosts import page
from loadcell.report.render import json as report_json
from loadcell.report.render import terminal
from loadcell.report.sections import environment
from loadcell.store import find as run_finder
from loadcell.store import layout
from loadcell.store import read as stored_runs
from loadcell.systems.host import probe_server as serve

if TYPE_CHECKING:
    from loadcell.model.message import Message, MessageCode
    from loadcell.report.hosts.gather import Source
    from loadcell.store.read import StoredRun


#: The ready-made plan that it runs, and how it is called.
PLAN = "host-baseline"
COMMAND = "loadcell host --baseline"


@dataclass(frozen=True)
class Asked:
    """Options of the command line."""

    directory: Path | None
    peer: str | None
    out: Path | None
    resume: str | None
    sets: tuple[str, ...]
    only: tuple[str, ...]
    as_json: bool
    anonymous: bool


def measure(asked: Asked) -> int:
    """Run it, or its remaining trials, then show it. The exit status is that of `loadcell run`."""
    try:
        with beginning():
            stored = None if asked.resume is None else _stored(asked, asked.resume)
        if stored is not None and stored.run.anonymous:
            asked = replace(asked, anonymous=True)
        ended = _run(asked, stored)
        say_abandoned(ended)
        _pages(ended.path, asked)
    except resumption.PlanChangedError as error:
        lines = "".join(f"\n  {language.written(difference)}" for difference in error.differences[:20])
        message = messages.CALL_BASELINE_CHANGED(differences=lines)
        raise click.ClickException(language.written(message)) from None
    if ended.exit_status == interrupts.EXIT_INTERRUPTED:
        message = messages.RESUME_WITH(resume=_again(ended.path, asked))
        echo(language.written(message), err=True)
    return ended.exit_status


def _again(path: Path, asked: Asked) -> str:
    """The command that resumes it. Values that --anonymous removed from the record are given again."""
    words = [layout.resume_command(path, COMMAND)]
    if asked.anonymous:
        words.append("--anonymous")
        words += [
            f"{name} {layout.quoted(value)}"
            for name, value in (("--directory", asked.directory), ("--peer", asked.peer))
            if value is not None
        ]
    return " ".join(words)


def _run(asked: Asked, stored: StoredRun | None) -> execution.Ended:
    """All of it, or the remaining trials of `stored`."""
    with beginning():
        plan, sets, only, resumed = PLAN, _sets(asked), asked.only, None
        if stored is not None:
            # A finished run needs no plan, which differs on another machine, and no directories, which an
            # anonymous run does not hold; only a request for anonymity rewrites its record.
            named = asked.anonymous and not stored.run.anonymous
            if stored.run.state == "finished" and not stored.remaining and not named:
                return execution.Ended(
                    stored.path, "finished", outcome.exit_status("finished", stored.planned, stored.trials)
                )
            plan, sets, only, resumed = _resumed(stored, asked)
        loaded = load(plan, sets, only)
    options = execution.Options(
        out=asked.out,
        resume=resumed,
        anonymous=asked.anonymous,
        command=call.command_line(),
        by=COMMAND,
    )
    runner = execution.Runner(loaded, parts.installed(), options, progress())
    try:
        ended = runner.run()
    except (KeyboardInterrupt, layout.StoreError):
        if asked.anonymous and runner.standing is not None:
            anonymise.unname(runner.standing)
        raise
    if asked.anonymous:
        anonymise.unname(ended.path)
    return ended


def _sets(asked: Asked) -> tuple[str, ...]:
    """Changes of the plan by the options. A path is relative to the working directory, not to the plan."""
    settings = []
    if asked.directory is not None:
        settings.append(f"target.host.directory={_writable(asked.directory)}")
    if asked.peer is not None:
        settings.append(f"target.host.peer={asked.peer}")
    return (*settings, *asked.sets)


def _writable(directory: Path) -> Path:
    """The full path of a writable directory, checked before the measurement of two minutes."""
    path = directory.expanduser().absolute()
    if not path.is_dir():
        raise _unfit(
            messages.CALL_DIRECTORY_FILE if path.exists() else messages.CALL_DIRECTORY_MISSING, directory
        )
    if not os.access(path, os.W_OK | os.X_OK, effective_ids=True):
        if os.statvfs(path).f_flag & os.ST_RDONLY:
            raise _unfit(messages.CALL_DIRECTORY_READ_ONLY, directory)
        raise _unfit(messages.CALL_DIRECTORY_FORBIDDEN, directory)
    return path


def _unfit(code: MessageCode, directory: Path) -> click.BadParameter:
    return click.BadParameter(language.written(code(path=directory)), param_hint="--directory")


def _stored(asked: Asked, named: str) -> StoredRun:
    """The resumed run, which keeps its original settings."""
    if asked.out or asked.sets or asked.only:
        raise language.CallError(messages.CALL_BASELINE_ALONE())
    stored = stored_runs.read_run(run_finder.find_run(named))
    machines.of_run(stored)  # says so where it is a run of something else
    if (asked.directory or asked.peer) and not stored.run.anonymous:
        raise language.CallError(messages.CALL_BASELINE_ALONE())
    return stored


def _resumed(stored: StoredRun, asked: Asked) -> tuple[str, tuple[str, ...], tuple[str, ...], Path]:
    """The plan, its changes and the directory of a resumed run, which has all of them except names."""
    sets = stored.run.sets
    if stored.run.anonymous:
        lost = anonymise.asked_again(sets)
        new_sets = _sets(asked)
        sets = (*(text for text in sets if text.partition("=")[0] not in lost), *new_sets)
        if missing := lost.keys() - {text.partition("=")[0] for text in new_sets}:
            raise language.CallError(messages.CALL_BASELINE_ANONYMOUS(missing=_options(missing)))
    return str(stored.path / layout.PLAN), sets, stored.run.only, stored.path


def _options(missing: Iterable[str]) -> Message:
    """Options that restore settings which a record lacks."""
    options = {"target.host.directory": "--directory", "target.host.peer": "--peer"}
    if set(missing) <= options.keys():
        return messages.GIVE_AGAIN(options=language.both(sorted(options[path] for path in missing)))
    return messages.START_NEW()


def _pages(path: Path, asked: Asked) -> None:
    """Both pages into the run's directory, and the results on standard output."""
    path = path.resolve()
    stored = stored_runs.read_run(path)
    source = machines.of_run(stored)
    if asked.anonymous:
        source = _nameless(source)
    written: list[Path] = []
    if stored.trials:
        command = () if asked.anonymous else call.command_line()
        # A page to be shared names the run as it is called from beside it, not where that is.
        home = path.parent if asked.anonymous else Path.cwd()
        with contextlib.chdir(home):
            written = page.document(source, locales.current(), command).publish(("html",), path)
            written += report.write(path, lang=locales.current(), formats=("html",))
    if asked.as_json:
        data = page.data(source, locales.DEFAULT)
        if asked.anonymous:
            del data["run"]
        echo_json(report_json.render(data, texts.Texts(locales.DEFAULT)))
    elif stored.trials:
        terminal.render(
            page.brief(source, locales.current(), [str(environment.shown(path)) for path in written])
        )


def _nameless(source: Source) -> Source:
    """The machine without identifying facts."""
    host = inventory.nameless(dict(source.machine.host))
    label = source.run.short_id if source.run is not None else source.path.stem
    return replace(source, machine=replace(source.machine, label=label, host=host))


@command("host")
@option("--json", "as_json", is_flag=True, group="output")
@option("--anonymous", is_flag=True, group="machine")
@option("--serve", is_flag=False, flag_value="127.0.0.1", metavar="[ADDRESS[:PORT]]", group="machine")
@option("--baseline", is_flag=True, group="machine")
@option("--directory", type=click.Path(path_type=Path), metavar="DIR", group="baseline")
@option("--peer", metavar="HOST:PORT", group="baseline")
@option("--out", type=click.Path(path_type=Path), metavar="DIR", group="baseline")
@option("--resume", metavar="RUN", shell_complete=runs, group="baseline")
@option("--set", "sets", multiple=True, metavar="PATH=VALUE", group="baseline")
@option("--only", multiple=True, metavar="probe=NAME,...", group="baseline")
def host(
    as_json: bool,
    anonymous: bool,
    serve: str | None,
    baseline: bool,
    directory: Path | None,
    peer: str | None,
    out: Path | None,
    resume: str | None,
    sets: tuple[str, ...],
    only: tuple[str, ...],
) -> int:
    """Show or measure this machine."""
    if serve is not None:
        _serve(serve, as_json=as_json)
        return 0
    if baseline:
        return measure(Asked(directory, peer, out, resume, sets, only, as_json, anonymous))
    commands = {
        "--directory": directory, "--peer": peer, "--out": out, "--resume": resume, "--set": sets,
        "--only": only,
    }  # fmt: skip
    stray = [name for name, value in commands.items() if value]
    if stray:
        raise language.CallError(messages.CALL_BASELINE_OPTION(option=stray[0]))
    _show(as_json, anonymous)
    return 0


def _show(as_json: bool, anonymous: bool) -> None:

    host_facts = inventory.collect(anonymous=anonymous)
    remarks = host_remarks.findings(host_facts)
    if as_json:
        document = {"schema": 1, "host": host_facts, "findings": remarks}
        echo_json(report_json.render(document, texts.Texts(locales.DEFAULT)))
        return

    terminal.render(host_report.brief(host_facts, remarks, locales.current()))


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

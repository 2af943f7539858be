"""`loadcell host --baseline`: runs the plan of probes as any plan, and shows what came of it as one page."""

from __future__ import annotations

import contextlib
import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from loadcell.cli.arguments import load
from loadcell.cli.beginning import beginning
from loadcell.cli.run import progress
from loadcell.store.commands import resume

if TYPE_CHECKING:
    from loadcell.report.hosts.read import Source
    from loadcell.run.runner import Ended

#: The ready-made plan that it runs, and how it is called.
PLAN = "host-baseline"
COMMAND = "loadcell host --baseline"


@dataclass(frozen=True)
class Asked:
    """What the command line says."""

    directory: Path | None
    peer: str | None
    out: Path | None
    resume: str | None
    sets: tuple[str, ...]
    only: tuple[str, ...]
    quiet: bool
    lang: str
    as_json: bool
    anonymous: bool


def measure(asked: Asked) -> int:
    """Run it, or what is left of it, then show it: the exit status is that of `loadcell run`."""
    from loadcell.run.resume import PlanChangedError
    from loadcell.store.errors import StoreError

    try:
        ended = _run(asked)
        if ended.state == "failed" and ended.reason:
            click.echo(f"The run was {ended.reason}", err=True)
        if asked.anonymous:
            _without_names(ended)
        _pages(ended.path, asked)
    except PlanChangedError as error:
        lines = "".join(f"\n  {difference}" for difference in error.differences[:20])
        raise click.ClickException(f"{error}:{lines}\nStart a new one: leave --resume out.") from None
    except StoreError as error:
        raise click.ClickException(str(error)) from None
    if ended.exit_status == 130:
        click.echo(f"Go on with: {resume(ended.path, by=COMMAND)}", err=True)
    return ended.exit_status


def _run(asked: Asked) -> Ended:
    from loadcell.parts import installed
    from loadcell.run.runner import Options, Runner

    with beginning():
        plan, sets, only, resumed = PLAN, _sets(asked), asked.only, None
        if asked.resume is not None:
            plan, sets, only, resumed = _resumed(asked)
        loaded = load(plan, sets, only)
    options = Options(
        out=asked.out,
        resume=resumed,
        anonymous=asked.anonymous,
        command=("loadcell", *sys.argv[1:]),
        by=COMMAND,
    )
    return Runner(loaded, installed(), options, progress(asked.quiet)).run()


def _without_names(ended: Ended) -> None:
    """Of a run that goes on, the records keep where it measures until it has."""
    from loadcell.run.unnamed import unname

    if ended.exit_status == 130:
        click.echo(
            "Its records hold paths and addresses until it is whole: give --anonymous again.", err=True
        )
    else:
        unname(ended.path)


def _sets(asked: Asked) -> tuple[str, ...]:
    """What the options change in the plan. A path is meant from here, not from where the plan is."""
    own = []
    if asked.directory is not None:
        own.append(f"target.host.directory={_writable(asked.directory)}")
    if asked.peer is not None:
        own.append(f"target.host.peer={asked.peer}")
    return (*own, *asked.sets)


def _writable(directory: Path) -> Path:
    """The whole path of a directory that files can be made in: that is known before two minutes of measuring."""
    whole = directory.expanduser().absolute()
    if not whole.is_dir():
        found = "a file" if whole.exists() else "not there"
        raise click.BadParameter(f"{directory} is {found}: name a directory on the disk to be measured.", param_hint="--directory")  # fmt: skip
    if not os.access(whole, os.W_OK | os.X_OK, effective_ids=True):
        raise click.BadParameter(f"{directory} cannot be written to by you: name another directory on that disk.", param_hint="--directory")  # fmt: skip
    return whole


def _resumed(asked: Asked) -> tuple[str, tuple[str, ...], tuple[str, ...], Path]:
    """The plan, its changes and the directory of a run that is gone on with: it brings them along."""
    from loadcell.report.hosts.read import of_run
    from loadcell.store.find import find_run
    from loadcell.store.layout import PLAN as WRITTEN
    from loadcell.store.read import read_run

    if asked.out or asked.directory or asked.peer or asked.sets or asked.only:
        raise click.UsageError(
            "--resume goes alone: a baseline that is gone on with stays what it was begun as."
        )
    assert asked.resume is not None
    path = find_run(asked.resume)
    stored = read_run(path)
    of_run(stored)  # says so where it is a run of something else
    return str(path / WRITTEN), tuple(stored.run.get("sets", ())), tuple(stored.run.get("only", ())), path


def _pages(path: Path, asked: Asked) -> None:
    """Both pages into the run's directory, and the results on standard output."""
    from loadcell import report
    from loadcell.report.hosts import page
    from loadcell.report.hosts.read import of_run
    from loadcell.store.read import read_run

    path = path.resolve()
    stored = read_run(path)
    source = of_run(stored)
    if asked.anonymous:
        source = _nameless(source)
    written: list[Path] = []
    if stored.trials:
        command = () if asked.anonymous else ("loadcell", *sys.argv[1:])
        # A page to be shared names the run as it is called from beside it, not where that is.
        home = path.parent if asked.anonymous else Path.cwd()
        with contextlib.chdir(home):
            written = [page.write(source, asked.lang, command)]
            written += report.write(path, lang=asked.lang, formats=("html",))
    if asked.as_json:
        import json

        from loadcell.report.hosts.document import baseline

        document = baseline(source, asked.lang)
        if asked.anonymous:
            del document["run"]
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
    elif stored.trials:
        from loadcell.report.hosts.terminal import print_baseline
        from loadcell.report.sections.reproduce import shown

        print_baseline(source, asked.lang, [str(shown(one)) for one in written])


def _nameless(source: Source) -> Source:
    """The machine without what tells whose it is."""
    from loadcell.host.inventory import nameless

    host = nameless(dict(source.machine.host))
    label = source.run.short_id if source.run is not None else source.path.stem
    return replace(source, machine=replace(source.machine, label=label, host=host))

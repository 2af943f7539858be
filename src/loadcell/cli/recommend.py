"""`loadcell recommend RUN...`: the best level of each factor."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import click

from loadcell.analysis.best_levels import MOST_FAILED
from loadcell.analysis.jvm_sizing import Machine
from loadcell.cli import language, locales, messages, output
from loadcell.cli.arguments import Integer, MemorySize, percentage, runs
from loadcell.cli.command import argument, command, option
from loadcell.report import best_levels
from loadcell.store import find as run_finder

#: The smallest machine that a sizing is for.
LEAST_MEMORY = 2**30
#: The smallest memory that a test stands for.
LEAST_TESTED = 2**20
#: The most shards that the service accepts.
MOST_SHARDS = 1024


@command("recommend")
@argument("run", nargs=-1, required=True, metavar="RUN...", shell_complete=runs)
@option("--most-failed", default=f"{MOST_FAILED:.0%}", show_default=True, metavar="PERCENT", group="analysis")
@option("--memory", "memory_bytes", type=MemorySize(least=LEAST_MEMORY), metavar="SIZE", group="analysis")
@option("--shards", type=Integer(1, MOST_SHARDS), metavar="N", group="analysis")
@option("--tested-memory", type=MemorySize(least=LEAST_TESTED), metavar="SIZE", group="analysis")
@option("--out", type=click.Path(), group="output")
@option("--json", "as_json", is_flag=True, group="output")
def recommend(
    run: tuple[str, ...],
    most_failed: str,
    memory_bytes: int | None,
    shards: int | None,
    tested_memory: int | None,
    out: str | None,
    as_json: bool,
) -> None:
    """Recommend the best level of each factor, and with a machine the sizing for it."""
    limit = percentage("--most-failed", most_failed, most=1.0, zero=True)
    machine = _machine(memory_bytes, shards)
    if tested_memory is not None and machine is None:
        raise _needs("--tested-memory", {"--memory": "64GiB", "--shards": "8"})
    gathered = best_levels.gather([run_finder.find_run(name) for name in run], limit)
    sizing = None if machine is None else best_levels.sized(gathered, machine, tested_memory)
    document = best_levels.document(gathered, limit, locales.current(), sizing)
    formats, path = ((), None) if out is None else (("html",), Path(out))
    output.show(document, formats, path, ("loadcell", "recommend", *run), as_json=as_json)
    if sizing is not None and not sizing.fits:
        sys.exit(1)


def _machine(memory_bytes: int | None, shards: int | None) -> Machine | None:
    """The machine that both options describe. Raises CallError for one without the other."""
    if memory_bytes is None and shards is None:
        return None
    if memory_bytes is None:
        raise _needs("--shards", {"--memory": "64GiB"})
    if shards is None:
        raise _needs("--memory", {"--shards": "8"})
    return Machine(memory_bytes, shards)


def _needs(option: str, missing: Mapping[str, str]) -> language.CallError:
    """The error of an option without others, which have these examples."""
    example = " ".join(f"{name} {value}" for name, value in missing.items())
    return language.CallError(
        messages.CALL_NEEDS(option=option, missing=language.both(tuple(missing)), example=example)
    )

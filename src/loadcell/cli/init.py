"""`loadcell init SOURCE`: drafts a plan from a database, a file or a command line."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from loadcell import parts
from loadcell.cli import language, messages, new_file
from loadcell.cli.adhoc import dsn as adhoc_dsn
from loadcell.cli.adhoc import hide
from loadcell.cli.arguments import files
from loadcell.cli.command import Command, argument, command, option
from loadcell.cli.streams import echo
from loadcell.drafting import draft as drafts
from loadcell.drafting import finish
from loadcell.model.json import JsonObject
from loadcell.plan.secrets import references
from loadcell.store import layout

#: What a plan is called in messages until it has a file.
_DEFAULT = "plan.yaml"


class _Init(Command):
    """Names the remedy if a command line of another tool has no `--` before it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption:
            if words[:1] and words[0] in drafts.names():
                raise language.CallError(messages.INIT_DASHES(program=words[0]), ctx) from None
            raise


def _sources(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    """Completes systems and tools, and files."""
    names = [CompletionItem(name) for name in drafts.names() if name.startswith(incomplete)]
    return [*names, *files(incomplete, (".har", ".json", ".yaml", ".yml", ".pg", ".properties"))]


@command("init", cls=_Init)
@argument(
    "source",
    nargs=-1,
    required=True,
    type=click.UNPROCESSED,
    metavar="SOURCE...",
    shell_complete=_sources,
)
@option("--dsn", metavar="DSN", group="input")
@option("--host", metavar="NAME", group="input")
@option("--out", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", group="output")
def init(source: tuple[str, ...], dsn: str | None, host: str | None, out: Path | None) -> None:
    """Write a plan from a source."""
    external: JsonObject = {}
    external_kind = password = None
    if dsn is not None:
        target, _, secrets = adhoc_dsn.target(dsn, os.environ)
        [(external_kind, external)] = target.items()
        env = hide(secrets)
        reference = str(external.get("password", "")).removeprefix("${env:").removesuffix("}")
        password = env.get(reference)
    directory = Path() if out is None else out.parent
    origin = drafts.Origin(
        source, directory, external_kind=external_kind, external=external, password=password, host=host
    )
    write = language.writer()
    draft = drafts.draft(origin)
    plan = finish.text(draft, origin.name, write)
    finish.check_references(draft, origin.name, of_call=references(dsn or ""))
    finish.check(plan, origin.name, out or Path(_DEFAULT), parts.installed(), write)
    for note in draft.notes:
        echo(write(note), err=True)
    if out is None:
        echo(plan, nl=False)
    else:
        new_file.write(plan, out)
    missing = finish.missing_variables(plan, os.environ)
    if missing:
        assignments = " ".join(f"{name}='...'" for name in missing)
        echo(write(messages.INIT_VARIABLES(variables=missing, assignments=assignments)), err=True)
    file = layout.quoted(out or Path(_DEFAULT))
    code = messages.INIT_NEXT if out is not None else messages.INIT_NEXT_UNSAVED
    echo(write(code(check=f"loadcell check {file}", run=f"loadcell run {file}")), err=True)

"""The help pages of all commands, for the reference page, the manual page and tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import click

from loadcell.cli import click_texts, help_texts, locales, main
from loadcell.cli.command import Command, Context, option_rows

#: A fixed width, or pages would depend on the terminal that they are written in.
WIDTH = 100


@dataclass(frozen=True)
class Entry:
    """A command: its path (none for the root), its usage line, and the parts of its help page."""

    path: Sequence[str]
    usage: str
    summary: str
    description: str
    options: Mapping[str, list[tuple[str, str]]]
    examples: Sequence[help_texts.Example]
    page: str


def entries(language: str, width: int = WIDTH) -> Iterator[Entry]:
    """The root command and all others with their subcommands, in the order of `loadcell --help`."""
    click_texts.install()
    root = Context(
        main,
        info_name="loadcell",
        help_option_names=["-h", "--help"],
        terminal_width=width,
        max_content_width=width,
    )
    locales.choose(root, language)
    yield from _entries(root, ())


def _entries(context: click.Context, path: tuple[str, ...]) -> Iterator[Entry]:
    command = context.command
    assert isinstance(command, Command)
    with context.scope(cleanup=False):
        summary = "" if not path else _summary(context)
        yield Entry(
            path,
            " ".join(command.collect_usage_pieces(context)),
            summary,
            command.description(context),
            option_rows(command, context),
            help_texts.of(path).examples,
            command.get_help(context),
        )
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                child = command.get_command(context, name)
                assert child is not None
                yield from _entries(Context(child, context, name), (*path, name))


def _summary(context: click.Context) -> str:
    parent = context.parent
    assert parent is not None
    group = parent.command
    assert isinstance(group, click.Group)
    summary: str = group.summary(parent, str(context.info_name))  # type: ignore[attr-defined]
    return summary


def exit_statuses(language: str) -> Iterator[tuple[str, str]]:
    """Exit statuses with their meanings."""
    for status, text in help_texts.section("exit_status").items():
        yield status, text[language]


def variables(language: str) -> Iterator[tuple[str, str]]:
    """Environment variables with their meanings."""
    for name, text in help_texts.section("environment").items():
        yield name, text[language]

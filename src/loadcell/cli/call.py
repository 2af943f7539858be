"""The words of the running command, as its records and next steps quote them."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

_KEY = "loadcell.words"


def note(context: click.Context, words: Sequence[str]) -> None:
    """Set the words of a context and of those within it: those of the process, or of a call from Python."""
    context.meta[_KEY] = tuple(words)


def words() -> tuple[str, ...]:
    """The words behind `loadcell`."""
    context = click.get_current_context(silent=True)
    noted: tuple[str, ...] | None = None if context is None else context.meta.get(_KEY)
    return tuple(sys.argv[1:]) if noted is None else noted


def command_line() -> tuple[str, ...]:
    """The whole command."""
    return ("loadcell", *words())

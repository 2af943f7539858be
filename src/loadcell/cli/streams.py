"""Lines on standard output and standard error: control characters in texts from outside become escapes."""

from __future__ import annotations

import sys

import click

from loadcell.cli import click_texts
from loadcell.model.printable import json_printable, printable


def echo(text: object, *, nl: bool = True, err: bool = False) -> None:
    """Print text."""
    click.echo(printable(str(text)), nl=nl, err=err)


def echo_json(text: str) -> None:
    """Print JSON; control characters in its strings become JSON's escapes."""
    click.echo(json_printable(text))


def echo_data(text: str) -> None:
    """Print a table for programs: unchanged, but printable on a terminal."""
    click.echo(printable(text) if sys.stdout.isatty() else text, nl=False)


def show_error(error: click.ClickException) -> None:
    """Print an error of click."""
    if isinstance(error, click.MissingParameter):
        error = click.UsageError(click_texts.ended(error.format_message()), error.ctx)
    vars(error)["message"] = printable(error.message)
    error.show()

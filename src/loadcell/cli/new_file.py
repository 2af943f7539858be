"""Files that a command creates and never overwrites."""

from __future__ import annotations

from pathlib import Path

import click

from loadcell.cli import language, messages


def write(text: str, path: Path) -> None:
    """Write a new file. Raises ClickException, also if one of this name exists."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        exists = isinstance(error, FileExistsError)
        code = messages.CALL_UNWRITABLE_EXISTING if exists else messages.CALL_UNWRITABLE
        message = code(path=path, reason=error.strerror or error)
        raise click.ClickException(language.written(message)) from None

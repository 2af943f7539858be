"""Messages and errors of a command in its language."""

from __future__ import annotations

import errno
import sys
import tempfile
import traceback
from collections.abc import Iterable
from functools import reduce
from importlib.util import find_spec

import click

from loadcell import __version__
from loadcell.cli import locales, messages, requirements, streams
from loadcell.model import message
from loadcell.plan import problems
from loadcell.report import texts

_PACKAGE, _ENGINE = "loadcell", "loadcell._engine"
#: Characters that an error shows of a name that is too long.
_SHOWN_OF_NAME = 60


def written(text: message.Message) -> str:
    """A message in the language of the running command."""
    return writer()(text)


def writer() -> problems.Writer:
    """Writer of messages in the language of the running command, for other threads, too."""
    language = locales.current()
    return problems.in_english if language == "en" else texts.Texts(language).message


def both(names: Iterable[str]) -> str | message.Message:
    """Names as one argument of a message: `a and b`."""
    texts_of_names: Iterable[str | message.Message] = names
    return reduce(lambda first, other: messages.CALL_BOTH(first=first, other=other), texts_of_names)


class CallError(click.UsageError):
    """A wrong call of a command."""

    def __init__(self, text: message.Message, ctx: click.Context | None = None) -> None:
        super().__init__(written(text), ctx)


class _MistakenPlanError(click.ClickException):
    def show(self, file: object = None) -> None:  # noqa: ARG002
        """Print the errors, each with its position instead of the word `Error`."""
        streams.echo(self.message, err=True)


def shown(error: Exception) -> Exception:
    """An error of loadcell as one of click, in the language of the command; other errors unchanged."""
    if isinstance(error, problems.PlanError):
        return _MistakenPlanError(error.written(written))
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG and error.filename is not None:
        name = str(error.filename)
        return _of_message(messages.CALL_NAME_TOO_LONG(name=name[:_SHOWN_OF_NAME], length=len(name)))
    if isinstance(error, ImportError) and (part := _missing_part(error)) is not None:
        return _of_message(part)
    return _of_message(error.message) if isinstance(error, message.MessageError) else error


def _missing_part(error: ImportError) -> message.Message | None:
    """The part of the installation that is missing or damaged, as far as an error of an import names one."""
    module = error.name or ""
    # `from loadcell import _engine` names the package where the engine's file is missing.
    if module == _ENGINE or (module == _PACKAGE and find_spec(_ENGINE) is None):
        return messages.INSTALL_ENGINE(said=error)
    package = requirements.package_of(module)
    return None if package is None else messages.INSTALL_LIBRARY(package=package, said=error)


def show(error: message.MessageError, *, of_call: bool = False) -> None:
    """Print an error as click does, for a command that decides on its exit status itself; `of_call`: the
    command has no plan file.
    """
    remedy = error.message.call_remedy if of_call else None
    streams.show_error(_of_message(error.message, remedy))


def _of_message(error: message.Message, remedy: message.Message | None = None) -> click.ClickException:
    """A message as an error, with its remedy or another one."""
    return click.ClickException(written(with_remedy(error, writer(), remedy)))


def with_remedy(
    text: message.Message, write: problems.Writer, remedy: message.Message | None = None
) -> message.Message:
    """A message and its remedy, or another one: another sentence if it begins as one."""
    remedy = remedy or text.remedy
    if remedy is None:
        return text
    if "\n" in write(text):  # the error quotes lines, such as the position in a query
        return messages.ERROR_WITH_REMEDY_BELOW(error=text, remedy=remedy)
    continued = write(remedy)[:1].islower()
    code = messages.ERROR_WITH_REMEDY_CONTINUED if continued else messages.ERROR_WITH_REMEDY
    return code(error=text, remedy=remedy)


def trace(error: BaseException) -> str:
    """The trace of an error."""
    return "".join(traceback.format_exception(error))


def unexpected(error: BaseException) -> message.Message:
    """Save the error with its trace in a temporary file; return the line that names both."""
    story = trace(error)
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="loadcell-fault-", suffix=".txt", delete=False, encoding="utf-8", errors="replace"
        ) as file:
            file.write(f"loadcell {__version__}, Python {sys.version}\n\n{story}")
        location = messages.TRACE_SAVED(path=file.name)
    except OSError:
        location = messages.TRACE_LOST()
    text = " ".join(str(error).split())[:200]
    return messages.LOADCELL_FAULT(kind=type(error).__name__, text=text, trace=location)

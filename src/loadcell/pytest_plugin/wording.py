"""Messages and errors in the language of the command line: `LOADCELL_LANG`, or the locale."""

from __future__ import annotations

from loadcell.analysis.compare.metrics import CannotCompareError
from loadcell.cli import language
from loadcell.model.message import Message, MessageError
from loadcell.plan.problems import PlanError

#: Errors of loadcell that a user can correct.
ERRORS = (MessageError, PlanError)


def written(message: Message) -> str:
    """A message in the user's language."""
    return language.written(message)


def of_error(error: Exception) -> str:
    """An error with its remedy."""
    if isinstance(error, (CannotCompareError, PlanError)):
        return error.written(language.writer())
    if isinstance(error, MessageError):
        return written(language.with_remedy(error.message, language.writer()))
    return str(error)

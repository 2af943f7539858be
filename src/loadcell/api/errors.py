"""Errors of calls from Python, whose notes have the remedy."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from loadcell.analysis.compare.metrics import CannotCompareError
from loadcell.execution.resume import PlanChangedError
from loadcell.model.languages import DEFAULT
from loadcell.model.message import Message, MessageCode, MessageError
from loadcell.plan.problems import PlanError
from loadcell.report.texts import Texts

if TYPE_CHECKING:
    from loadcell.api.runs import Run

NOT_MAIN_THREAD = MessageCode("api.not-main-thread", thread=str)
INTERRUPTED = MessageCode("api.interrupted", done=str, planned=str, resume=str)


class CallError(MessageError):
    """A call with wrong arguments, or in a place where it cannot be made."""


class RunInterrupted(KeyboardInterrupt):
    """An interrupted run, ended in order. `run` has its finished trials; `run(resume=...)` completes it."""

    def __init__(self, run: Run, message: Message) -> None:
        super().__init__(message.text)
        self.run = run


@contextmanager
def explained(lang: str) -> Iterator[None]:
    """Add the remedy of an error as a note, in this language, and in others than English the error, too."""
    try:
        yield
    except (PlanError, CannotCompareError) as error:  # whose text has the remedies
        if lang != DEFAULT:
            error.add_note(error.written(Texts(lang).message))
        raise
    except MessageError as error:
        finding = () if lang == DEFAULT else (error.message,)
        changes = error.differences if isinstance(error, PlanChangedError) else ()
        remedy = error.message.remedy
        for note in (*finding, *changes, *(() if remedy is None else (remedy,))):
            error.add_note(Texts(lang).message(note))
        raise


def require_main_thread() -> None:
    """Raise CallError in other threads: a run handles the signals of its process."""
    thread = threading.current_thread()
    if thread is not threading.main_thread():
        raise CallError(NOT_MAIN_THREAD(thread=thread.name))

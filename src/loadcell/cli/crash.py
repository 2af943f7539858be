"""The end of a command by an error that loadcell did not expect."""

from __future__ import annotations

import sys
import tempfile
import traceback

from loadcell import __version__
from loadcell.cli import messages
from loadcell.model.message import Message


def saved(error: BaseException) -> Message:
    """Save the error with its trace in a temporary file; return the line that tells a user of both."""
    story = "".join(traceback.format_exception(error))
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="loadcell-fault-", suffix=".txt", delete=False, encoding="utf-8", errors="replace"
        ) as file:
            file.write(f"loadcell {__version__}, Python {sys.version}\n\n{story}")
        trace = messages.TRACE_SAVED(path=file.name)
    except OSError:
        trace = messages.TRACE_LOST()
    text = " ".join(str(error).split())[:200]
    return messages.LOADCELL_FAULT(kind=type(error).__name__, text=text, trace=trace)

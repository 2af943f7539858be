"""Traces of calls of Python functions; widths are microseconds."""

from __future__ import annotations

from collections.abc import Iterator

from loadcell.analysis.flames import Profile
from loadcell.model import numbers
from loadcell.model.message import Count, Message, MessageCode
from loadcell.model.profile_record import ProfileRecord
from loadcell.model.python_profile import TRACE_FILE
from loadcell.report.profiles.presentation import Presentation, seconds
from loadcell.report.profiles.python import overhead
from loadcell.store.layout import TRIALS

PYTHON_TRACED = MessageCode(
    "found.python-trace.taken", "info", treatment=str, events=Count, least=str, file=str
)
PYTHON_TRACE_CUT = MessageCode("found.python-trace.cut", "caution", events=Count)
PYTHON_TRACE_EMPTY = MessageCode("found.python-trace.nothing", "caution", treatment=str, least=str)


def _findings(profile: Profile, account: ProfileRecord) -> Iterator[Message]:
    """Number of events, the file, and whether the begin is missing."""
    trace = None if account.python is None else account.python.trace
    least = numbers.milliseconds(0.0 if trace is None else trace.least_ns / 1e6)
    if trace is None or not trace.events:
        yield PYTHON_TRACE_EMPTY(treatment=profile.treatment, least=least)
        return
    yield PYTHON_TRACED(
        treatment=profile.treatment,
        events=trace.events,
        least=least,
        file=f"{TRIALS}/{profile.trial}/{TRACE_FILE}",
    )
    if trace.is_cut:
        yield PYTHON_TRACE_CUT(events=trace.events)
    yield from overhead(profile)


PRESENTATION = Presentation(
    kind="trace",
    findings=_findings,
    meaning="python-trace.meaning",
    flame="python-trace.flame",
    functions="python-trace.functions",
    note="python-trace.functions.note",
    column="column.time-in-calls",
    unit="python-trace.unit",
    next_step="terminal.profile.python-trace",
    amount=seconds,
    by_total=True,
)

"""Profiles of the memory that Python functions allocate; widths are bytes at the peak."""

from __future__ import annotations

from collections.abc import Iterator

from loadcell.analysis.flames import Profile
from loadcell.model import numbers
from loadcell.model.message import Bytes, Message, MessageCode
from loadcell.model.profile_record import ProfileRecord
from loadcell.report.profiles.presentation import Presentation
from loadcell.report.profiles.python import overhead

PYTHON_ALLOCATED = MessageCode("found.python-memory.taken", "info", treatment=str, peak_bytes=Bytes, tool=str)


def _findings(profile: Profile, account: ProfileRecord) -> Iterator[Message]:
    """The peak."""
    if account.python is not None and account.python.allocations is not None:
        peak_bytes = account.python.allocations.peak_bytes
        yield PYTHON_ALLOCATED(treatment=profile.treatment, peak_bytes=peak_bytes, tool=account.tool)
    yield from overhead(profile)


PRESENTATION = Presentation(
    kind="memory",
    findings=_findings,
    meaning="python-memory.meaning",
    flame="python-memory.flame",
    functions="python-memory.functions",
    note="python-memory.functions.note",
    column="column.allocated",
    unit="python-memory.unit",
    next_step="terminal.profile.python-memory",
    amount=numbers.size,
    by_total=True,
)

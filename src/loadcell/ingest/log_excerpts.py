"""Excerpts of log lines that may be shown: redacted first, and cut afterwards."""

from __future__ import annotations

from typing import Final

from loadcell.model.application_log import LogLine
from loadcell.plan.secret_patterns import without_secrets

#: Characters of an excerpt.
LONGEST: Final = 300
#: Characters of a line that decide on its excerpt: patterns of secrets need at most 4,000 behind its end.
LONGEST_RAW: Final = 6_000


def excerpt(text: str) -> str:
    """The beginning of a line without secrets; slashes that JSON escapes hide a URL."""
    return without_secrets(text[:LONGEST_RAW].replace("\\/", "/"))[:LONGEST]


def log_line(number: int, text: str) -> LogLine:
    """A line to retain: one that is too long is redacted now, a shorter one as a whole once it is shown."""
    return LogLine(number, text if len(text) <= LONGEST else excerpt(text))

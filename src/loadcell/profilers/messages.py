"""Message codes of profilers; their texts are in the `messages*.toml` beside this module."""

from __future__ import annotations

from loadcell.model.message import ForeignText, MessageCode, Seconds

PERF_MISSING = MessageCode("perf.missing")
PERF_GONE = MessageCode("perf.gone")
PERF_FILES = MessageCode("perf.files")
PERF_OTHER_KERNEL = MessageCode("perf.other-kernel")
PERF_NO_EVENTS = MessageCode("perf.no-events")
PERF_NO_PROCESSES = MessageCode("perf.no-processes")
PERF_NO_ANSWER = MessageCode("perf.no-answer", limit_s=Seconds)
PERF_NOT_ALLOWED = MessageCode("perf.not-allowed", paranoid=str)
PERF_NOT_SAMPLED = MessageCode("perf.not-sampled", said=ForeignText)
PERF_UNREADABLE = MessageCode("perf.unreadable", said=ForeignText)

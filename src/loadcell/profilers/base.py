"""Contract of errors of profilers."""

from __future__ import annotations

from loadcell.model.message import MessageError


class ProfilerError(MessageError):
    """An error with its remedy. It ends the profiled trial, and nothing else."""

"""What a profiler says when it cannot do its work."""

from __future__ import annotations

from loadcell.model.message import MessageError


class ProfilerError(MessageError):
    """What was found, and what to do about it. It ends the trial that was to be profiled, and nothing else."""

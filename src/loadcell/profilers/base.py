"""What a profiler says when it cannot do its work."""

from __future__ import annotations

from loadcell.reasons import ReasonedError


class ProfilerError(ReasonedError):
    """What was found, and what to do about it. It ends the trial that was to be profiled, and nothing else."""

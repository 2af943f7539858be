"""What a profiler says when it cannot do its work."""

from __future__ import annotations


class ProfilerError(Exception):
    """What was found, and what to do about it. It ends the trial that was to be profiled, and nothing else."""

    def __init__(self, finding: str, *, advice: str) -> None:
        super().__init__(finding)
        self.finding = finding
        self.advice = advice

"""`stop`: the target shuts its subject down in an orderly way, and starts it again when it is undone."""

from __future__ import annotations

from loadcell.faults.ending import EndingFault


class Stop(EndingFault):
    """Shut the subject down by the target's own command."""

    name = "stop"
    synonyms = ("shutdown",)
    summary = "Shut the subject down by the target's own command; start it again after `for`, else at the end"
    stops_load = True

    def apply(self) -> None:
        assert self.subject.stop is not None
        self._ended = True  # also where its command fails halfway
        self.subject.stop()


PART = Stop

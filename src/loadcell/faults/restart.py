"""`restart`: the target shuts its subject down in an orderly way and starts it again at once."""

from __future__ import annotations

from loadcell.faults.ending import EndingFault


class Restart(EndingFault):
    """Shut the subject down and start it again at once."""

    name = "restart"
    synonyms = ("reboot",)
    summary = "Shut the subject down by the target's own command and start it again at once"
    lasts = False

    def apply(self) -> None:
        assert self.subject.stop is not None
        self._ended = True  # also where its command fails halfway
        self.subject.stop()
        self.restore()


PART = Restart

"""An examination of a live host that a trial retained, as evidence that is judged already."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from loadcell.incidents.evidence.base import Evidence


@dataclass(frozen=True)
class Retained(Evidence):
    """The JSON of `loadcell doctor --live` in the directory of a trial; `instant_ns` is its time.

    `file` is empty where `remarks` state what was not read.
    """

    kind: ClassVar[str] = "retained"

    file: str
    instant_ns: int | None = None

    @property
    def begin_ns(self) -> int | None:
        """The time of the examination."""
        return self.instant_ns

    @property
    def end_ns(self) -> int | None:
        """The same."""
        return self.instant_ns

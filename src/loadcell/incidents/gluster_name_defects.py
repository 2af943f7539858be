"""Base of the incidents of names on GlusterFS: one kind of defect each, counted by a walk or a comparison."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from loadcell.incidents.base import Incident, Judgement
from loadcell.incidents.evidence.base import Quote
from loadcell.incidents.evidence.gluster import GlusterNames
from loadcell.model.message import Count, MessageCode

_MOST_NAMED: Final = 4


@dataclass(frozen=True)
class Defects:
    """Names with a defect, `further` ones whose paths are not known, and the number of examined names.

    `about` has further arguments of the observation.
    """

    paths: Sequence[str]
    further: int
    examined: int
    about: dict[str, object]


class NameDefect(Incident[GlusterNames]):
    """Names with one kind of defect. Its observations are declared by `observations`."""

    needs = GlusterNames
    codes: ClassVar[dict[str, MessageCode]]

    @abstractmethod
    def defects(self, evidence: GlusterNames) -> Defects:
        """Names with the defect."""

    def quotes(self, evidence: GlusterNames) -> list[Quote]:
        """Lines of evidence: the paths."""
        return [Quote(evidence.source, 0, path) for path in self.defects(evidence).paths]

    def examine(self, evidence: GlusterNames) -> Iterator[Judgement]:
        defects = self.defects(evidence)
        count, mount = len(defects.paths) + defects.further, evidence.source
        if not count and evidence.is_all:
            yield self.healthy(self.codes["healthy"](count=defects.examined, mount=mount))
        elif not count:
            yield self.unseen(self.codes["partly"](count=defects.examined, mount=mount))
        elif not defects.paths:
            yield self.diagnosis("critical", "high", self.codes["seen-count"](count=count, mount=mount))
        else:
            code = self.codes["seen" if evidence.is_all else "seen-partly"]
            names = list(dict.fromkeys(defects.paths))[:_MOST_NAMED]
            summary = code(count=count, mount=mount, names=names, **defects.about)
            yield self.diagnosis("critical", "high", summary, None, self.quotes(evidence))


def observations(name: str, **about: type[Any]) -> dict[str, MessageCode]:
    """Codes of the observations of an incident; `about` are the further arguments of those with names."""
    named = {
        part: MessageCode(f"incident.{name}.{part}", "info", count=Count, mount=str, names=list, **about)
        for part in ("seen", "seen-partly")
    }
    counted = {
        part: MessageCode(f"incident.{name}.{part}", "info", count=Count, mount=str)
        for part in ("seen-count", "healthy", "partly")
    }
    return named | counted

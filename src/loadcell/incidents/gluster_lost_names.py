"""Names that a directory gives, but whose file cannot be read: it is on another brick than its hash says."""

from __future__ import annotations

from loadcell.incidents.evidence.base import MOST_QUOTES, Quote
from loadcell.incidents.evidence.gluster import GlusterNames, LostName
from loadcell.incidents.gluster_name_defects import Defects, NameDefect, observations
from loadcell.model.message import ForeignText, MessageCode

SIGNS = MessageCode("incident.gluster-lost-names.signs", "info")


class GlusterLostNames(NameDefect):
    name = "gluster-lost-names"
    source = "GlusterFS, xlators/cluster/dht: a file lies on the subvolume of the hash of its name"
    signs = SIGNS()
    codes = observations(name, error=ForeignText)

    def defects(self, evidence: GlusterNames) -> Defects:
        about: dict[str, object] = {"error": evidence.lost[0].error} if evidence.lost else {}
        paths = [item.path for item in evidence.lost]
        return Defects(paths, evidence.further_lost, evidence.names, about)

    def quotes(self, evidence: GlusterNames) -> list[Quote]:
        """Lines of evidence: the paths with their bricks."""
        return [Quote(evidence.source, 0, _bricks(item)) for item in evidence.lost[:MOST_QUOTES]]


def _bricks(item: LostName) -> str:
    holders, hashed = (", ".join(names) or "?" for names in (item.holders, item.hashed))
    text = f"{item.path}: {item.error}; on {holders}; hash: {hashed}"
    return f"{text}; not inspected: {', '.join(item.not_inspected)}" if item.not_inspected else text


PART = GlusterLostNames

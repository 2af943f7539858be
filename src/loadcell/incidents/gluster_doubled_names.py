"""A name that one reading of a directory gives twice: an old brick was added again."""

from __future__ import annotations

from loadcell.incidents.evidence.gluster import GlusterNames
from loadcell.incidents.gluster_name_defects import Defects, NameDefect, observations
from loadcell.model.message import MessageCode

SIGNS = MessageCode("incident.gluster-doubled-names.signs", "info")


class GlusterDoubledNames(NameDefect):
    name = "gluster-doubled-names"
    source = "GlusterFS Administrator's Guide: Managing Volumes"
    signs = SIGNS()
    codes = observations(name)

    def defects(self, evidence: GlusterNames) -> Defects:
        return Defects(evidence.doubled, evidence.further_doubled, evidence.names, {})


PART = GlusterDoubledNames

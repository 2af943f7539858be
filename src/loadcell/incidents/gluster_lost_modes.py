"""Directories of mode 0000 that belong to root: a heal or a rebalance lost owner and mode."""

from __future__ import annotations

from loadcell.incidents.evidence.gluster import GlusterNames
from loadcell.incidents.gluster_name_defects import Defects, NameDefect, observations
from loadcell.model.message import MessageCode

SIGNS = MessageCode("incident.gluster-lost-modes.signs", "info")


class GlusterLostModes(NameDefect):
    name = "gluster-lost-modes"
    source = "GlusterFS Administrator's Guide: Managing Volumes"
    signs = SIGNS()
    codes = observations(name)

    def defects(self, evidence: GlusterNames) -> Defects:
        return Defects(evidence.without_mode, evidence.further_without_mode, evidence.directories, {})


PART = GlusterLostModes

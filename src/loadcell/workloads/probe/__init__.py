"""Probes of the machine itself, by the definitions of tools that people know: one module a probe."""

from loadcell.workloads.probe.probe import Probe, ProbeOptions

PART = Probe

__all__ = ["PART", "Probe", "ProbeOptions"]

"""Other people's tools as workloads, and any command at all."""

from __future__ import annotations

from loadcell.workloads.tool.options import ToolOptions
from loadcell.workloads.tool.workload import Tool

PART = Tool

__all__ = ["PART", "Tool", "ToolOptions"]

"""Programs that are not on this machine: said at `check` and by the run in the same words."""

from __future__ import annotations

from pathlib import Path

from loadcell.model.message import Message
from loadcell.workloads.tool_runner.messages import (
    TOOL_BACKGROUND,
    TOOL_MISSING,
    TOOL_MISSING_ELSEWHERE,
    TOOL_MISSING_PACKAGE,
)
from loadcell.workloads.tool_runner.registry import TOOLS, Tool


def missing(program: str, plan: Path, tool: Tool | None = None) -> Message:
    """That a program is not installed, and where it is to be had if that is known; or that it lies beside the
    plan, in the
    directory `plan`. `tool` is which one it is meant to be; default: the one of its name."""
    if "/" not in program and (plan / program).is_file():
        return TOOL_BACKGROUND(program=program)
    tool = tool or TOOLS.get(Path(program).name)
    if tool is None:
        return TOOL_MISSING(program=program)
    if tool.get:
        return TOOL_MISSING_ELSEWHERE(program=program, how=tool.get)
    return TOOL_MISSING_PACKAGE(program=program, package=tool.package)

"""Outputs that no reader takes, recognised so that the refusal can name their tool and what to do instead."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from loadcell.model.message import Message, MessageCode

FOREIGN_MONITOR = MessageCode("foreign.monitor", path=str, tool=str)
FOREIGN_LOAD = MessageCode("foreign.load", path=str, tool=str, workload=str)


@dataclass(frozen=True)
class Foreign:
    """A tool without a reader, by a pattern of its output; `workload` is the one that makes the same load."""

    tool: str
    pattern: re.Pattern[bytes]
    workload: str | None = None

    def refusal(self, path: Path) -> Message:
        """The reason that a file of this tool is refused for."""
        if self.workload is None:
            return FOREIGN_MONITOR(path=path, tool=self.tool)
        return FOREIGN_LOAD(path=path, tool=self.tool, workload=self.workload)


_TAKES = rb" *- Takes\(s\): [\d.]+, Count: \d+, "
_OUTPUTS = (
    Foreign("vmstat", re.compile(rb"^procs -+memory-+ -+swap-+", re.MULTILINE)),
    Foreign("iostat", re.compile(rb"^(?:avg-cpu: +%user|Device:? +(?:tps|r/s|rrqm/s) )", re.MULTILINE)),
    Foreign("YCSB", re.compile(rb"^\[OVERALL\], Throughput\(ops/sec\), ", re.MULTILINE), "ycsb"),
    Foreign("go-ycsb", re.compile(rb"^[A-Z_]+" + _TAKES + rb"OPS: ", re.MULTILINE), "ycsb"),
    Foreign("go-tpc", re.compile(rb"^\[\w+\] [A-Z_]+" + _TAKES + rb"TPM: ", re.MULTILINE), "tpcc"),
)


def refusal(path: Path, head: bytes) -> Message | None:
    """The reason for a text whose tool is known although no reader takes it."""
    return next((item.refusal(path) for item in _OUTPUTS if item.pattern.search(head)), None)

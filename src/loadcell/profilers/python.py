"""Profiles of Python functions, which the load of the workload `python` takes itself.

The interpreter under test is profiled inside its harness, or by py-spy. Here its order is made, and what it
has left in the directory of the trial becomes the record and the flame graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from loadcell import _engine
from loadcell.model import json
from loadcell.model.json import JsonObject
from loadcell.model.message import MessageCode
from loadcell.model.profile_record import ProfileRecord
from loadcell.model.python_profile import FINDINGS, STACKS, TRACE_FILE, PythonFindings
from loadcell.plan.profile_python import (
    CallsProfile,
    LinesProfile,
    MemoryProfile,
    OfPython,
    PythonProfile,
    TraceProfile,
)
from loadcell.profilers import python_trace
from loadcell.profilers.perf import ProfilerError
from loadcell.profilers.sampler import LONGEST_S, Download
from loadcell.store.layout import FLAMES, FOLDED
from loadcell.store.write import TrialWriter

PYTHON_NO_FINDINGS = MessageCode("python-profile.no-findings", kind=str)


@dataclass
class PythonSampler:
    """Profiles one trial of the workload `python`."""

    options: OfPython
    work: Path
    process_kind: Callable[[str], str] = str
    unpacked: Path | None = None
    limit_s: float = LONGEST_S

    @classmethod
    def check(cls, options: OfPython) -> None:
        """Nothing of this machine is needed; packages are those of the interpreter under test."""

    @classmethod
    def download(cls, options: OfPython) -> Download | None:  # noqa: ARG003
        """Nothing is downloaded."""
        return None

    def workload(self, section: JsonObject) -> JsonObject:
        """The section with the order of the profile."""
        options = self.options
        order: JsonObject = {"kind": options.kind, "packages": list(options.packages)}
        match options:
            case PythonProfile():
                order |= {"frequency": options.frequency, "tool": options.tool}
            case LinesProfile():
                order["functions"] = list(options.functions)
            case TraceProfile():
                order |= {"least_ns": options.least.ns, "events": options.events}
        return {**section, "python": {**section["python"], "profile": order}}

    def attach(self, roots: list[int], *, by_thread: bool = False) -> None:
        """Nothing is attached: the load profiles itself."""

    def phase(self, name: str, mono_ns: int) -> None:
        """The load knows its phases."""

    def end(self) -> None:
        """Nothing is attached."""

    def collect(self, writer: TrialWriter, title: str, log: Callable[[str], None]) -> ProfileRecord:
        """Read the findings, and draw the stacks. Raises ProfilerError."""
        try:
            findings = json.read(PythonFindings, (writer.path / FINDINGS).read_bytes())
        except (OSError, json.MismatchError) as error:
            raise ProfilerError(PYTHON_NO_FINDINGS(kind=self.options.kind)) from error
        stacks = _text(writer.path / STACKS)
        if isinstance(self.options, TraceProfile):
            trace = python_trace.read(writer.path / TRACE_FILE, self.options.least.ns)
            findings, stacks = replace(findings, trace=trace.record), trace.folded
            writer.text(FOLDED, stacks)
        if stacks:
            writer.text(FLAMES, _engine.flame_graph(stacks, title, findings.tool))
        elif self.options.kind in ("python", "memory", "trace"):
            log("profile: no function of Python was seen in the measurement")
        return ProfileRecord(
            kind=self.options.kind,
            tool=findings.tool,
            event=findings.event,
            samples=findings.samples,
            frequency=findings.frequency,
            python=findings,
        )

    def output(self) -> Sequence[str]:
        """It prints nothing."""
        return []

    def remove(self) -> None:
        """It has no files."""


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


SAMPLERS = tuple(
    (kind.kind, PythonSampler)
    for kind in (PythonProfile, CallsProfile, MemoryProfile, LinesProfile, TraceProfile)
)

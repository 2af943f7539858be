"""A tool as a workload: who runs it, what makes it impossible, and what there is to remark."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from loadcell.model import tools
from loadcell.model.extensions import DATABASES, HOST, JVM, TargetKind
from loadcell.model.json import JsonObject
from loadcell.model.message import Labels, Message, MessageCode
from loadcell.model.tools import by_protocol, kind_of, of_protocol
from loadcell.plan.parts import Advice, Misfit
from loadcell.plan.problems import listed
from loadcell.plan.workload import Workload, declare_unit
from loadcell.store.layout import GC_LOG
from loadcell.workloads.tool.options import COMMAND, ToolOptions
from loadcell.workloads.tool_runner.registry import (
    ALWAYS,
    TOOLS,
    Setting,
    missing_program,
    placeholders,
)
from loadcell.workloads.tool_runner.registry import Tool as CheckedTool
from loadcell.workloads.tool_runner.spec import placeholder_names

if TYPE_CHECKING:
    from loadcell.plan.model import Load

TOOL_NO_DATABASE = MessageCode("tool.no-database", target=str)
TOOL_LOAD_OPTION = MessageCode("tool.own-load", tool=str)
TOOL_NO_REQUESTS_PER_CLIENT = MessageCode("tool.no-requests-per-client")
TOOL_NO_REQUESTS = MessageCode("tool.no-requests", place=str, tool=str)
TOOL_NO_CLIENTS = MessageCode("tool.no-clients", clients=str, place=str, tool=str)
TOOL_NO_DURATION = MessageCode("tool.no-duration", "caution", place=str)
TOOL_ADJACENT_FILE = MessageCode("tool.adjacent-file", "caution", file=str, written=str)
TOOL_INTEGER_SECONDS = MessageCode("tool.whole-seconds", time=str, tool=str)
TOOL_NO_PLACEHOLDER = MessageCode("tool.no-placeholder", place=str, target=str, available=list)
TOOL_GC_LOG_OF_TARGET = MessageCode("tool.gc-log-of-target", target=str)
TOOL_THE_COMMAND = MessageCode("tool.the-command")

_NOTE = Labels("note", ("tool.reported",))
#: The protocols whose endpoints command lines can name.
_PROTOCOLS = frozenset(programs.protocol for programs in by_protocol().values())


#: What the throughput of tools that move data counts.
declare_unit("MiB")


class Tool(Workload[ToolOptions]):
    """A program that makes its load itself, and says how it went."""

    name: ClassVar[str] = "tool"
    summary: ClassVar[str] = (
        "other people's tools (sysbench, fio, pgbench, ab, wrk, iperf3 ...), and any command"
    )
    Options = ToolOptions
    made_by: ClassVar[str] = "loadcell.workloads.tool_runner"
    needs = _PROTOCOLS
    sets_load = True
    quantity = staticmethod(tools.quantity)

    @property
    def unit(self) -> str:  # type: ignore[override]  # of this workload it depends on the options
        """Unit of throughput, as far as it is known before anything was printed."""
        return self.options.unit or kind_of(self.options.reads).counted(self.options.words(Setting()))

    @staticmethod
    def load_settings(options: ToolOptions) -> JsonObject:  # noqa: ARG004
        """Many tools know nothing of clients."""
        return {"clients": 1}

    # -- data

    def data(self) -> JsonObject | None:
        commands = self.options.others("prepare")
        return {"tool": {"prepare": commands}} if commands else None

    @property
    def changes_data(self) -> bool:
        """Nobody knows what a tool does with its data."""
        return self.data() is not None

    def engine(self) -> JsonObject:
        return {"tool": self.options.section()}

    def notes(self) -> tuple[str, ...]:
        return _NOTE.names

    # -- in its plan

    def misfits(self, load: Load, target: TargetKind | None) -> list[Misfit]:
        return [*self._of_target(target), *self._of_load(load, target)]

    def _setting(self, target: TargetKind | None, *, counted: bool = False) -> Setting:
        protocols = sorted(protocol.name for protocol in _PROTOCOLS & target.offers) if target else []
        return Setting(protocols[0] if protocols else HOST.name, counted=counted)

    @property
    def _section(self) -> str:
        return f"workload.tool.{self.options.name or COMMAND}"

    def _of_target(self, target: TargetKind | None) -> Iterator[Misfit]:
        if target is not None and JVM in target.offers and GC_LOG in self.options.files:
            yield Misfit("workload.tool.files", TOOL_GC_LOG_OF_TARGET(target=target.name))
        if target is None or not _PROTOCOLS & target.offers:
            return
        if self.options.prepare and DATABASES not in target.offers:
            yield Misfit("workload.tool.prepare", TOOL_NO_DATABASE(target=target.name))
        setting = self._setting(target)
        there = (*ALWAYS, *of_protocol(setting.protocol).placeholders)
        commands = [(self._section, self.options.words(setting))]
        commands += [
            (f"workload.tool.{which}", words)
            for which in ("prepare", "before", "after")
            for words in self.options.others(which)
        ]
        for path, words in commands:
            for name in placeholder_names(words):
                if name in placeholders() and name not in there:
                    yield Misfit(
                        path,
                        TOOL_NO_PLACEHOLDER(
                            place=f"${{{name}}}", target=target.name, available=listed(there)
                        ),
                    )

    def _of_load(self, load: Load, target: TargetKind | None) -> Iterator[Misfit]:
        words = self.options.words(self._setting(target, counted=load.requests is not None))
        named = placeholder_names(words)
        program = self.options.name or TOOL_THE_COMMAND()
        if load.rate is not None:
            yield Misfit("load.rate", TOOL_LOAD_OPTION(tool=program))
        if load.requests_per_client is not None:
            yield Misfit("load.requests_per_client", TOOL_NO_REQUESTS_PER_CLIENT())
        if load.requests is not None and "requests" not in named:
            yield Misfit("load.requests", TOOL_NO_REQUESTS(tool=program, place="${requests}"))
        if (load.clients or 1) != 1 and "clients" not in named:
            yield Misfit(
                "load.clients", TOOL_NO_CLIENTS(clients=load.clients, tool=program, place="${clients}")
            )
        tool = TOOLS.get(self.options.name or "")
        if tool is not None and tool.integer_seconds and "duration_s" in named:
            for key, time in (("duration", load.duration), ("warmup", load.warmup)):
                if not float(time).is_integer():
                    yield Misfit(f"load.{key}", TOOL_INTEGER_SECONDS(time=time.text, tool=program))

    def advice(self) -> list[Advice]:
        options = self.options
        tool = TOOLS.get(options.name or "")
        advice = []
        if tool is not None:
            if (lack := _missing([options.program or tool.name], options.home, tool)) is not None:
                advice.append(Advice(tool.name, lack))
        elif (lack := _missing(options.words(Setting()), options.home)) is not None:
            advice.append(Advice(COMMAND, lack))
        if tool is None:
            advice += _adjacent(COMMAND, options.words(Setting()), options.home)
        for which in ("prepare", "before", "after"):
            for words in options.others(which):
                advice += _adjacent(which, words, options.home)
            remarks = [
                missing
                for words in options.others(which)
                if (missing := _missing(words, options.home)) is not None
            ]
            advice += [Advice(which, remarks[0])] if remarks else []
        if options.name is None and "duration_s" not in placeholder_names(options.words(Setting())):
            advice.append(Advice(COMMAND, TOOL_NO_DURATION(place="${duration_s}")))
        return advice


def _missing(words: list[str], plan: Path, tool: CheckedTool | None = None) -> Message | None:
    """That a command's program is not on this machine, and what to do about it."""
    program = words[0]
    if "${" in program or shutil.which(program) is not None:
        return None
    return missing_program(program, plan, tool)


def _adjacent(setting: str, words: list[str], plan: Path) -> Iterator[Advice]:
    """Arguments that name files beside the plan, although commands run in a directory of the trial."""
    for word in words[1:]:
        if not word.startswith(("/", "-", "$")) and os.path.isfile(plan / word):  # noqa: PTH113 - a script may be too long for a path
            message = TOOL_ADJACENT_FILE(file=word, written=f"${{plan}}/{word.removeprefix('./')}")
            yield Advice(setting, message, subject=word)


PART = Tool

__all__ = ["PART", "Tool", "ToolOptions"]

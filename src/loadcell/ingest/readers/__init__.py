"""Readers of other tools' outputs: the declaration of one, the registry of all, and tools without a reader.

A built-in reader is a module of this package that defines `READER`; its name is that of the module, with
hyphens. A package outside loadcell names its `Reader` by an entry point of the group `loadcell.readers`.
The output of a tool without a reader is recognised, so that its refusal can name the tool and a remedy.
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from loadcell.ingest import text
from loadcell.model import extensions
from loadcell.model.message import Message, MessageCode

if TYPE_CHECKING:
    from loadcell.ingest.base import Reading, Source
    from loadcell.ingest.text import Output

FOREIGN_MONITOR = MessageCode("foreign.monitor", path=str, tool=str)
FOREIGN_LOAD = MessageCode("foreign.load", path=str, tool=str, workload=str)

Read = Callable[["Output"], "Reading"]


@dataclass(frozen=True)
class PrintedForPeople:
    """Output of a tool in the form that is not read: a pattern that recognises it, and the command that
    prints the other form.
    """

    pattern: re.Pattern[bytes]
    command: str


@dataclass(frozen=True)
class Unsupported:
    """Output of a tool, or of another by its name, that would be read wrongly or not at all.

    The message names what was recognised, what is read and what to do; its only argument is `path`. With
    `unread` only a text that no reader takes is refused, as its lines may stand in the output of others.
    """

    pattern: re.Pattern[bytes]
    code: MessageCode
    unread: bool = False


@dataclass(frozen=True)
class Reader:
    """Reads the output of one tool. `read` raises NotItsOutputError for the output of another.

    An output that shows a sign is tried on this reader first, a long one on no other: `line_starts` at the
    start of a line, `anywhere` within a block, `file_start` at the beginning of the file. A reader with
    `vague` signs is tried after the others.

    `unsupported` are outputs that are refused, `for_people` one that is if no reader takes it.

    `folder` is the file that is read of a result folder. `continuation` matches the name of a file that
    continues the one named by its group `first`. `complete` adds what the tool wrote in other files. `timed`
    reads lines without times that are the given number of seconds apart.
    """

    name: str
    read: Read
    line_starts: tuple[bytes, ...] = ()
    anywhere: tuple[bytes, ...] = ()
    file_start: re.Pattern[bytes] | None = None
    for_people: PrintedForPeople | None = None
    unsupported: tuple[Unsupported, ...] = ()
    vague: bool = False
    folder: Path | None = None
    continuation: re.Pattern[str] | None = None
    complete: Callable[[Source], Source] | None = None
    timed: Callable[[Output, float], Reading] | None = None

    def recognises(self, block: bytes, *, first: bool) -> bool:
        """True if a sign is in the block; `first` if it is the first of its file."""
        if first and self.file_start is not None and self.file_start.match(block):
            return True
        signs = (*(b"\n" + sign for sign in self.line_starts), *self.anywhere)
        return block.startswith(self.line_starts) or any(sign in block for sign in signs)


def by_line(read: Callable[[Iterable[str]], Reading]) -> Read:
    """The reader of an output line by line."""
    return lambda output: read(output.lines())


def by_text(read: Callable[[Iterable[str]], Reading]) -> Read:
    """The reader of a document, whose lines may have any length, in blocks of text."""
    return lambda output: read(text.decoded(block) for block in output.blocks())


def names() -> tuple[str, ...]:
    """Names of all readers in alphabetical order, without importing them."""
    return tuple(sorted(_modules().keys() | extensions.entries(extensions.READERS).keys()))


def reader(name: str) -> Reader:
    """The reader of this name. Raises KeyError."""
    module = _modules().get(name)
    declared: Reader = (
        import_module(module).READER
        if module
        else extensions.load(extensions.entries(extensions.READERS)[name])
    )
    return declared


@cache
def all_readers() -> Mapping[str, Reader]:
    """All readers by name, those with vague signs last."""
    return {item.name: item for item in sorted(map(reader, names()), key=lambda item: item.vague)}


@cache
def _modules() -> Mapping[str, str]:
    return {
        module.name.rpartition(".")[2].replace("_", "-"): module.name
        for module in pkgutil.iter_modules(__path__, f"{__name__}.")
    }


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

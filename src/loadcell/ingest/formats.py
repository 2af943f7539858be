"""Read one file as the output of a named tool, or of whichever tool recognises it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from loadcell.ingest.base import ImportProblemError, NotItsOutputError, Reading
from loadcell.ingest.messages import (
    IMPORT_ARCHIVE,
    IMPORT_BINARY,
    IMPORT_EMPTY,
    IMPORT_FOLDER,
    IMPORT_FOR_PEOPLE,
    IMPORT_OTHER_TOOL,
    IMPORT_REFUSAL,
    IMPORT_UNKNOWN_TOOL,
    IMPORT_UNKNOWN_TOOL_NEAR,
    IMPORT_UNREADABLE,
    IMPORT_UTF16,
    IMPORT_ZSTD,
)
from loadcell.ingest.reader import Read, all_readers, names, reader
from loadcell.ingest.text_blocks import BLOCK_BYTES, Output, Told

#: Stands for whichever recognises the output.
ANY = "auto"
_ZIP, _ZSTD = b"PK\x03\x04", b"\x28\xb5\x2f\xfd"


@dataclass(frozen=True)
class Source:
    """One output: the tool, and its reading. `also` are files that belong to `path`;
    `shown` is how people named it, where that is no file's name (`-`)."""

    path: Path
    tool: str
    reading: Reading
    also: tuple[Path, ...] = ()
    shown: str = ""

    @property
    def name(self) -> str:
        """Name in messages."""
        return self.shown or str(self.path)

    @property
    def files(self) -> tuple[Path, ...]:
        """All of them."""
        return (self.path, *self.also)


def read_file(
    path: Path,
    tool: str,
    *,
    also: Sequence[Path] = (),
    read: Read | None = None,
    on_progress: Told | None = None,
) -> Source:
    """Read one file (`also`: and its continuations) as a tool's output, or as whichever recognises it.

    `read` is the tool's reader with options of its own. Raises ImportProblemError.
    """
    if is_directory(path):
        raise ImportProblemError(IMPORT_FOLDER(path=path))
    try:
        return _read(path, tool, Output((path, *also), on_progress), read)
    except OSError as error:
        raise ImportProblemError(
            IMPORT_UNREADABLE(path=error.filename or path, reason=error.strerror or error)
        ) from None


def _read(path: Path, tool: str, output: Output, read: Read | None) -> Source:
    with path.open("rb") as file:
        head = file.read(BLOCK_BYTES)
    complete = len(head) < BLOCK_BYTES
    must_be_text(path, head)
    if tool == ANY:
        # A text that fits into one block is tried on every reader; a longer one only on those whose sign is
        # in it.
        signed = _signs(head)
        candidates = sorted(all_readers(), key=lambda name: name not in signed) if complete else _signed(path)
    else:
        candidates = [tool]
    refused = {}
    for name in candidates:
        try:
            reading = (read or reader(name).read)(output)
        except NotItsOutputError as error:
            refused[name] = error.message
        else:
            return Source(path, name, reading, tuple(output.files[1:]))
    if tool != ANY:
        raise ImportProblemError(IMPORT_OTHER_TOOL(path=path, tool=tool, why=refused[tool], any=ANY))
    for name, candidate in all_readers().items():
        if (printed := candidate.for_people) is not None and printed.pattern.search(head):
            raise ImportProblemError(IMPORT_FOR_PEOPLE(path=path, tool=name, command=printed.command))
    # Of a text that begins as a tool's does, it is worth knowing why that tool's reader does not take it.
    refusals = [IMPORT_REFUSAL(tool=name, why=refused[name]) for name in _signs(head) if name in refused]
    code = IMPORT_UNKNOWN_TOOL_NEAR if refusals else IMPORT_UNKNOWN_TOOL
    raise ImportProblemError(code.pick(path=path, tools=names(), refusals=refusals))


def is_directory(path: Path) -> bool:
    """False also where one may not look."""
    try:
        return path.is_dir()
    except OSError:
        return False


def must_be_text(path: Path, head: bytes) -> None:
    """Raises ImportProblemError where a file's first block shows that it is no text."""
    if not head.strip():
        raise ImportProblemError(IMPORT_EMPTY(path=path))
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ImportProblemError(IMPORT_UTF16(path=path, name=path.name))
    if head.startswith(_ZIP):
        raise ImportProblemError(IMPORT_ARCHIVE(path=path))
    if head.startswith(_ZSTD):
        raise ImportProblemError(IMPORT_ZSTD(path=path, name=path.name))
    if b"\0" in head[:65_536]:
        raise ImportProblemError(IMPORT_BINARY(path=path))


def _signs(block: bytes, *, first: bool = True) -> list[str]:
    """Tools whose signs are in a block; `first` if it is the first of its file."""
    return [name for name, candidate in all_readers().items() if candidate.recognises(block, first=first)]


def _signed(path: Path) -> list[str]:
    """Tools whose sign is in the first block that has any."""
    for number, part in enumerate(Output([path]).blocks()):
        tools = _signs(part, first=number == 0)
        if tools:
            return tools
    return []


_THREAD_LOG = re.compile(r"(?P<run>.+\.\d+)\.\d+")


def together(files: Sequence[Path], tool: str) -> list[tuple[Path, tuple[Path, ...]]]:
    """Files that are one output: pgbench with several threads writes a log for each, `NAME.PID`, `NAME.PID.1`
    ...
    """
    firsts: dict[str, list[Path]] = {str(path): [] for path in files}
    alone = []
    for path in files:
        match = _THREAD_LOG.fullmatch(str(path)) if tool in (ANY, "pgbench-log") else None
        if match is not None and match["run"] in firsts:
            firsts[match["run"]].append(path)
        else:
            alone.append(path)
    return [(path, tuple(firsts[str(path)])) for path in alone]


def named(source: Source, settings: Mapping[str, str | int | float]) -> Source:
    """The same with settings that the tool wrote elsewhere."""
    measured = tuple(
        replace(part, settings={**part.settings, **settings}) for part in source.reading.measured
    )
    return replace(source, reading=replace(source.reading, measured=measured))

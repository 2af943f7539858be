"""Read one file as the output of a named tool, or of whichever tool recognises it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from loadcell.ingest.base import NotItsOutputError, Reading
from loadcell.ingest.reader import Read, all_readers, names, reader
from loadcell.ingest.text_blocks import BLOCK_BYTES, Output, Told

#: Stands for whichever recognises the output.
ANY = "auto"
_ZIP, _ZSTD = b"PK\x03\x04", b"\x28\xb5\x2f\xfd"


class ImportProblemError(Exception):
    """A file that cannot be imported: which, what was found, and what to do."""


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
        raise ImportProblemError(
            f"{path} is a directory, and no result folder of BenchmarkSQL (it has no data/result.csv). Name the files in it."
        )
    try:
        return _read(path, tool, Output((path, *also), on_progress), read)
    except OSError as error:
        raise ImportProblemError(
            f"{error.filename or path} cannot be read: {error.strerror or error}. Check its name and rights."
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
            refused[name] = str(error)
        else:
            return Source(path, name, reading, tuple(output.files[1:]))
    if tool != ANY:
        raise ImportProblemError(
            f"{path} is no output of {tool}: {refused[tool]}. Name another tool, or `{ANY}` to have it recognised."
        )
    for name, candidate in all_readers().items():
        if (printed := candidate.for_people) is not None and printed.pattern.search(head):
            raise ImportProblemError(
                f"{path} is what {name} prints for people. Its figures are read from what `{printed.command}` prints: run it with that."
            )
    # Of a text that begins as a tool's does, it is worth knowing why that tool's reader does not take it.
    near = "".join(f" As {name}: {refused[name]}." for name in _signs(head) if name in refused)
    raise ImportProblemError(
        f"{path} is the output of no tool that is known here ({', '.join(names())}).{near} Plain tables: `loadcell import csv`."
    )


def is_directory(path: Path) -> bool:
    """False also where one may not look."""
    try:
        return path.is_dir()
    except OSError:
        return False


def must_be_text(path: Path, head: bytes) -> None:
    """Raises ImportProblemError where a file's first block shows that it is no text."""
    if not head.strip():
        raise ImportProblemError(
            f"{path} is empty. Import the output of an execution that ended; programs print errors elsewhere (`2>&1` keeps them)."
        )
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ImportProblemError(
            f"{path} is UTF-16, as Windows writes it. Convert it: `iconv -f UTF-16 -t UTF-8 {path.name} > text`."
        )
    if head.startswith(_ZIP):
        raise ImportProblemError(
            f"{path} is an archive (zip), as spreadsheets are, too. Unpack it; of a spreadsheet save the table as CSV."
        )
    if head.startswith(_ZSTD):
        raise ImportProblemError(f"{path} is compressed by zstd. Unpack it: `zstd -d {path.name}`.")
    if b"\0" in head[:65_536]:
        raise ImportProblemError(
            f"{path} holds binary data, no text that a tool printed. For sar's own files: `sadf -j FILE -- -A > text`."
        )


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

"""Reads the files that were named, each as the output of its tool, or of whichever tool recognises it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from loadcell.ingest.arrange import samples_alone
from loadcell.ingest.base import ImportProblemError, NotItsOutputError, Source
from loadcell.ingest.messages import (
    IMPORT_ARCHIVE,
    IMPORT_BINARY,
    IMPORT_EMPTY,
    IMPORT_FOLDER,
    IMPORT_FOR_PEOPLE,
    IMPORT_NO_RESULT_FOLDER,
    IMPORT_OTHER_TOOL,
    IMPORT_REFUSAL,
    IMPORT_RESULT_FOLDER,
    IMPORT_UNKNOWN_TOOL,
    IMPORT_UNKNOWN_TOOL_NEAR,
    IMPORT_UNREADABLE,
    IMPORT_UTF16,
    IMPORT_ZSTD,
)
from loadcell.ingest.readers import Read, Reader, all_readers, names, reader
from loadcell.ingest.text import BLOCK_BYTES, OnProgress, Output

#: Stands for whichever recognises the output.
ANY = "auto"
_ZIP, _ZSTD = b"PK\x03\x04", b"\x28\xb5\x2f\xfd"


def read(
    files: Sequence[Path],
    tool: str,
    *,
    interval_s: float | None = None,
    on_progress: OnProgress | None = None,
) -> list[Source]:
    """Read every output in the order it was named, each by its tool; `interval_s` is for lines without times.

    Without any execution among them each monitor's samples stand for one. Raises ImportProblemError.
    """
    sources = [_read_output(path, also, tool, interval_s, on_progress) for path, also in _joined(files, tool)]
    if not any(source.reading.measured for source in sources):
        sources = [samples_alone(source) if source.reading.samples else source for source in sources]
    return sources


def _read_output(
    path: Path,
    also: Sequence[Path],
    tool: str,
    interval_s: float | None,
    on_progress: OnProgress | None,
) -> Source:
    source = read_file(_result_file(path, tool), tool, also=also, on_progress=on_progress)
    declared = reader(source.tool)
    samples = source.reading.samples
    if declared.timed is not None and interval_s is not None and samples and samples.assumed_interval_s:
        timed = declared.timed
        source = read_file(source.path, source.tool, also=also, read=lambda output: timed(output, interval_s))
    if declared.complete is not None:
        source = declared.complete(source)
    return source if source.path == path else replace(source, path=path)


def _candidates(tool: str) -> Iterable[Reader]:
    return all_readers().values() if tool == ANY else (reader(tool),)


def _result_file(path: Path, tool: str) -> Path:
    """The file to read: of a result folder, the one that its tool's reader names."""
    if not is_directory(path):
        return path
    for candidate in _candidates(tool):
        if candidate.folder is not None:
            if (path / candidate.folder).is_file():
                return path / candidate.folder
            if tool != ANY:
                raise ImportProblemError(IMPORT_RESULT_FOLDER(path=path, tool=tool, result=candidate.folder))
    return path


def read_file(
    path: Path,
    tool: str,
    *,
    also: Sequence[Path] = (),
    read: Read | None = None,
    on_progress: OnProgress | None = None,
) -> Source:
    """Read one file (`also`: and its continuations) as a tool's output, or as whichever recognises it.

    `read` is the tool's reader with other options. Raises ImportProblemError.
    """
    if is_directory(path):
        results = [item.folder for item in _candidates(tool) if item.folder is not None]
        code = IMPORT_NO_RESULT_FOLDER if results else IMPORT_FOLDER
        raise ImportProblemError(code.pick(path=path, results=results))
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


def _joined(files: Sequence[Path], tool: str) -> list[tuple[Path, tuple[Path, ...]]]:
    """Files that are one output: the first, and those whose names say that they continue it."""
    continuations: dict[str, list[Path]] = {str(path): [] for path in files}
    patterns = [item.continuation for item in _candidates(tool) if item.continuation is not None]
    firsts = []
    for path in files:
        matches = (pattern.fullmatch(str(path)) for pattern in patterns)
        first = next((match["first"] for match in matches if match and match["first"] in continuations), None)
        if first is None:
            firsts.append(path)
        else:
            continuations[first].append(path)
    return [(path, tuple(continuations[str(path)])) for path in firsts]

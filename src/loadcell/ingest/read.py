"""Reads the files that were named, each as the output of its tool, or of whichever tool recognises it; and
arranges their executions: treatments, repeats, and the samples of monitors that belong to each.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from loadcell.ingest import checks, commands, readers
from loadcell.ingest.base import (
    OUTPUT_INCOMPLETE,
    ImportProblemError,
    Level,
    Measured,
    NotItsOutputError,
    Source,
    TreatmentIds,
)
from loadcell.ingest.printed_numbers import UnusableNumberError
from loadcell.ingest.readers import Read, Reader, all_readers, names, reader
from loadcell.ingest.text import BLOCK_BYTES, OnProgress, Output, copies_directory, without_quotes
from loadcell.model.message import Count, ForeignText, Message, MessageCode

IMPORT_FOLDER = MessageCode("import.folder", path=str)
IMPORT_NO_RESULT_FOLDER = MessageCode("import.no-result-folder", path=str, results=list)
IMPORT_RESULT_FOLDER = MessageCode("import.result-folder", path=str, tool=str, result=str)
IMPORT_UNREADABLE = MessageCode("import.unreadable", path=str, reason=ForeignText)
IMPORT_EMPTY = MessageCode("import.empty", path=str)
IMPORT_UTF16 = MessageCode("import.utf-16", path=str, name=str)
IMPORT_NO_SETTING = MessageCode("import.no-setting", setting=str, settings=list)
IMPORT_NO_SETTINGS = MessageCode("import.no-settings", setting=str)
IMPORT_ARCHIVE = MessageCode("import.archive", path=str)
IMPORT_ZSTD = MessageCode("import.zstd", path=str, name=str)
IMPORT_BINARY = MessageCode("import.binary", path=str)
IMPORT_OTHER_TOOL = MessageCode("import.other-tool", path=str, tool=str, why=Message, any=str)
IMPORT_FOR_PEOPLE = MessageCode("import.for-people", path=str, tool=str, command=str)
IMPORT_UNKNOWN_TOOL = MessageCode("import.unknown-tool", path=str, tools=list)
IMPORT_UNKNOWN_TOOL_NEAR = MessageCode("import.unknown-tool-near", path=str, tools=list, refusals=list)
IMPORT_REFUSAL = MessageCode("import.refusal", tool=str, why=Message)
IMPORT_SAMPLES_TWICE = MessageCode(
    "import.samples-twice", path=str, monitor=str, other=str, name=str, tool=str
)
IMPORT_SAMPLES_UNMATCHED = MessageCode("import.samples-unmatched", count=Count, monitor=str, loads=Count)
IMPORT_SAMPLES_SHARED = MessageCode("import.samples-shared", path=str, executions=str, tool=str)
IMPORT_SAMPLES_ELSEWHERE = MessageCode("import.samples-elsewhere", path=str, executions=str)

#: Stands for whichever recognises the output.
ANY = "auto"
#: What is unsupported shows that in its first lines.
_SIGNED_BYTES = 65_536
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
    path: Path, also: Sequence[Path], tool: str, interval_s: float | None, on_progress: OnProgress | None
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
    _refuse_unsupported(path, tool, head)
    source, refused = _by_any(path, tool, output, read, head)
    unquoted = without_quotes(head) if source is None and complete else None
    if source is None and unquoted is not None:
        _refuse_unsupported(path, tool, unquoted)
        source = _read_unquoted(path, tool, read, unquoted)
    if source is not None:
        return source
    head = unquoted or head
    _refuse_unsupported(path, tool, head, unread=True)
    for name, candidate in all_readers().items():
        printed = candidate.for_people
        if tool in (name, ANY) and printed is not None and printed.pattern.search(head):
            raise ImportProblemError(IMPORT_FOR_PEOPLE(path=path, tool=name, command=printed.command))
    if tool != ANY:
        raise ImportProblemError(IMPORT_OTHER_TOOL(path=path, tool=tool, why=refused[tool], any=ANY))
    if (recognised := readers.refusal(path, head)) is not None:
        raise ImportProblemError(recognised)
    # Of a text that begins as a tool's does, it is worth knowing why that tool's reader does not take it.
    refusals = [IMPORT_REFUSAL(tool=name, why=refused[name]) for name in _signs(head) if name in refused]
    code = IMPORT_UNKNOWN_TOOL_NEAR if refusals else IMPORT_UNKNOWN_TOOL
    raise ImportProblemError(code.pick(path=path, tools=names(), refusals=refusals))


def _refuse_unsupported(path: Path, tool: str, head: bytes, *, unread: bool = False) -> None:
    """Raises ImportProblemError; `unread` if no reader took the text."""
    for candidate in _candidates(tool):
        for unsupported in candidate.unsupported:
            if unsupported.unread == unread and unsupported.pattern.search(head, 0, _SIGNED_BYTES):
                raise ImportProblemError(unsupported.code(path=path))


def _by_any(
    path: Path, tool: str, output: Output, read: Read | None, head: bytes
) -> tuple[Source | None, dict[str, Message]]:
    """The reading by the tool's reader or the first that takes it, and why others did not."""
    if tool == ANY:
        # A text that fits into one block is tried on every reader; a longer one only on those whose sign is
        # in it.
        signed = _signs(head)
        complete = len(head) < BLOCK_BYTES
        candidates = sorted(all_readers(), key=lambda name: name not in signed) if complete else _signed(path)
    else:
        candidates = [tool]
    refused = {}
    for name in candidates:
        by = read or reader(name).read
        try:
            reading = by(output)
            checks.check_numbers(reading)
        except NotItsOutputError as error:
            refused[name] = error.message
        except UnusableNumberError as error:
            refused[name] = checks.at_line(output, error)
        except ArithmeticError as error:
            refused[name] = OUTPUT_INCOMPLETE(tool=name, reason=f"{type(error).__name__}: {error}")
        else:
            if len(head) < BLOCK_BYTES and len(output.files) == 1:
                reading = commands.attached(reading, name, head, by)
            reading = commands.without_commands(reading, name)
            return Source(path, name, reading, tuple(output.files[1:])), refused
    return None, refused


def _read_unquoted(path: Path, tool: str, read: Read | None, text: bytes) -> Source | None:
    """The reading of a text whose marks of quotation were removed, under its own name."""
    with copies_directory() as directory:
        copy = directory / path.name
        copy.write_bytes(text)
        source, _ = _by_any(copy, tool, Output((copy,)), read, text)
    return None if source is None else replace(source, path=path)


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


def tools_of(block: bytes, *names: str) -> list[str]:
    """Tools whose signs are in the first block of a text: of all, or of those with these names."""
    return [tool for tool in _signs(block) if not names or tool in names]


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


CLIENTS, PART, FILE = "load.clients", "part", "file"
#: Settings of heads, which summaries are copied without.
_OF_HEADS = frozenset({"version", "host", "port", "path", "server", "tls"})


@dataclass(frozen=True)
class Watched:
    """A monitor's samples of one execution, which began at `origin_s` of their clock; those from `begin_s` to
    `end_s` are its own.
    """

    source: Source
    origin_s: float
    begin_s: float = -math.inf
    end_s: float = math.inf


@dataclass(frozen=True)
class Execution:
    """One measurement, where it is from, and its place in the run: its levels by factor, and which repeat of
    them it is.
    """

    measured: Measured
    source: Source
    levels: Mapping[str, Level]
    repeat: int
    #: An id that is safe in a file name.
    treatment: str
    watched: tuple[Watched, ...] = ()


@dataclass(frozen=True)
class Arranged:
    """All executions in the order they were read; the factors with their levels in the order they came."""

    executions: tuple[Execution, ...]
    factors: Mapping[str, tuple[Level, ...]]

    @property
    def repeats(self) -> int:
        """The most of any treatment."""
        return max((execution.repeat for execution in self.executions), default=1)


def arrange(sources: Sequence[Source], *, by_file: bool, settings: Sequence[str] = ()) -> Arranged:
    """Clients, parts, printed settings and options of the commands that the text shows are factors where they
    differ; files only when asked (`by_file`).

    `settings` come first among them. Executions that differ in none of these are repeats of each other.
    ImportProblemError for a setting that none of them has.
    """
    read_parts = [(source, measured_part) for source in sources for measured_part in source.reading.measured]
    options = commands.levels([part for _, part in read_parts])
    measured = [
        (source, replace(part, settings={**more, **part.settings}) if more else part)
        for (source, part), more in zip(read_parts, options, strict=True)
    ]
    _check_settings(settings, list(dict.fromkeys(key for _, part in measured for key in part.settings)))
    settings = tuple(dict.fromkeys((*settings, *_varied([part for _, part in measured]))))
    all_levels = [
        _levels(source, measured_part, by_file=by_file, settings=settings)
        for source, measured_part in measured
    ]
    keys = [
        key
        for key in (FILE, PART, *settings, CLIENTS)
        if len({repr(levels.get(key)) for levels in all_levels}) > 1
    ]
    repeats: Counter[str] = Counter()
    ids = TreatmentIds()
    executions = []
    factors: dict[str, dict[Level, None]] = {key: {} for key in keys}
    for (source, measured_part), levels in zip(measured, all_levels, strict=True):
        levels_of_source = {key: level for key in keys if (level := levels.get(key)) is not None}
        for key, level in levels_of_source.items():
            factors[key].setdefault(level)
        treatment = ids.of(levels_of_source)
        repeats[treatment] += 1
        executions.append(Execution(measured_part, source, levels_of_source, repeats[treatment], treatment))
    return Arranged(tuple(executions), {key: tuple(levels) for key, levels in factors.items()})


def _varied(measured: Sequence[Measured]) -> list[str]:
    """The settings in which executions of one kind differ: what was not the same is no repeat.

    An option that is not set has another value than one that is, unless the head that prints it may be cut
    off.
    """
    values: dict[tuple[str, str], set[str]] = {}
    printed: Counter[tuple[str, str]] = Counter()
    parts = Counter(part.title for part in measured)
    for part in measured:
        for key, value in part.settings.items():
            values.setdefault((part.title, key), set()).add(repr(value))
            printed[part.title, key] += 1
    return list(
        dict.fromkeys(
            key
            for (title, key), different in values.items()
            if len(different) > 1 or (key not in _OF_HEADS and printed[title, key] < parts[title])
        )
    )


def _check_settings(wanted: Sequence[str], printed: Sequence[str]) -> None:
    for setting in wanted:
        if setting not in printed:
            raise ImportProblemError(
                IMPORT_NO_SETTING(setting=repr(setting), settings=printed)
                if printed
                else IMPORT_NO_SETTINGS(setting=repr(setting))
            )


def _levels(
    source: Source, measured: Measured, *, by_file: bool, settings: Sequence[str]
) -> dict[str, Level | None]:
    levels: dict[str, Level | None] = {PART: measured.title or None, CLIENTS: measured.clients}
    if by_file:
        levels[FILE] = source.path.stem
    levels |= {key: measured.settings[key] for key in settings if key in measured.settings}
    return levels


def watching(sources: Sequence[Source]) -> list[Source]:
    """Those that hold a monitor's samples."""
    return [source for source in sources if source.reading.samples is not None]


def samples_alone(source: Source) -> Source:
    """A monitor's output by itself: an execution of which nothing is known but what the machine did
    meanwhile.
    """
    samples = source.reading.samples
    assert samples is not None
    length_s = samples.last_s - samples.first_s
    began_s = samples.first_s if samples.absolute else None
    title = source.path.stem
    measured = Measured(
        title, "operation", None, duration_s=length_s or None, began_s=began_s, settings=samples.settings
    )
    return replace(source, reading=replace(source.reading, measured=(measured,)))


def attached(arranged: Arranged, sources: Sequence[Source]) -> Arranged:
    """With the samples of every monitor at the executions they belong to.

    As many files of a monitor as of loads: the first belongs to the first, and so on. One file of a monitor
    and several executions: each has what was sampled while it ran, where tool and monitor say when. Raises
    ImportProblemError.
    """
    executions = list(arranged.executions)
    by_monitor: dict[str, list[Source]] = {}
    for source in watching(sources):
        assert source.reading.samples is not None
        by_monitor.setdefault(source.reading.samples.monitor, []).append(source)
    loads = [source for source in sources if source.reading.measured]
    for monitor, watched in by_monitor.items():
        with_loads = [source for source in watched if source.reading.measured]
        others = [source for source in watched if not source.reading.measured]
        if with_loads and others:
            raise ImportProblemError(
                IMPORT_SAMPLES_TWICE(
                    path=with_loads[0].path,
                    monitor=monitor,
                    other=others[0].path,
                    name=others[0].path.name,
                    tool=with_loads[0].tool,
                )
            )
        if with_loads:
            pairs = [(source, source) for source in watched]
        elif len(watched) == len(loads):
            pairs = list(zip(watched, loads, strict=True))
        elif len(watched) == 1:
            pairs = [(watched[0], load) for load in loads]
        else:
            raise ImportProblemError(
                IMPORT_SAMPLES_UNMATCHED(count=len(watched), monitor=monitor, loads=len(loads))
            )
        for source, load in pairs:
            indices = [number for number, execution in enumerate(executions) if execution.source is load]
            shared = len(indices) > 1 or (len(watched) == 1 and len(loads) > 1)
            for number in indices:
                executions[number] = _with(executions[number], source, by_time=shared and source is not load)
    return replace(arranged, executions=tuple(executions))


def _with(execution: Execution, source: Source, *, by_time: bool) -> Execution:
    samples, measured = source.reading.samples, execution.measured
    assert samples is not None
    # Its own samples are those of its time, whatever their clock says.
    has_instants = source is not execution.source and samples.absolute and measured.began_s is not None
    if by_time and not (has_instants and measured.duration_s):
        who = source.tool if not samples.absolute else execution.source.tool
        raise ImportProblemError(
            IMPORT_SAMPLES_SHARED(path=source.path, executions=execution.source.path, tool=who)
        )
    if has_instants and measured.began_s is not None:
        begin_s = measured.began_s
        end_s = begin_s + (measured.duration_s or 0.0)
        overlap = samples.first_s <= end_s and samples.last_s >= begin_s
        if overlap or by_time:
            # A sample tells of the time before it.
            limits = {"begin_s": begin_s, "end_s": end_s + 1.0} if by_time else {}
            return replace(execution, watched=(*execution.watched, Watched(source, begin_s, **limits)))
        raise ImportProblemError(IMPORT_SAMPLES_ELSEWHERE(path=source.path, executions=execution.source.path))
    return replace(execution, watched=(*execution.watched, Watched(source, samples.origin_s)))

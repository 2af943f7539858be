"""Which tool's output is read by whom; and who recognises an output that nobody named."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from loadcell.ingest.base import NotItsOutputError, Reading
from loadcell.ingest.text_blocks import BLOCK_BYTES, Output, Told, decoded

Read = Callable[[Output], Reading]


def _module(name: str) -> Any:
    """Imported once it is asked for: all of them together take longer than some outputs to be read."""
    return import_module(f"loadcell.ingest.readers.{name}")


def _by_itself(module: str) -> Read:
    return lambda output: _module(module).read_output(output)


def _by_line(module: str) -> Read:
    return lambda output: _module(module).read(output.lines())


def _by_text(module: str) -> Read:
    """Of documents, whose lines may be as long as they like."""
    return lambda output: _module(module).read(decoded(block) for block in output.blocks())


#: By the name that `loadcell import` takes; the surest to be recognised first.
READERS: Mapping[str, Read] = {
    "sysbench": _by_itself("sysbench"),
    "pgbench": _by_line("pgbench"),
    "pgbench-log": _by_itself("pgbench_log"),
    "benchmarksql": _by_itself("benchmarksql"),
    "fio": _by_text("fio"),
    "iperf3": _by_text("iperf3"),
    "netperf": _by_line("netperf"),
    "ab": _by_line("ab"),
    "wrk": _by_line("wrk"),
    "redis-benchmark": _by_line("redis_benchmark"),
    "mbw": _by_line("mbw"),
    "stress-ng": _by_line("stress_ng"),
    "jstat": _by_line("jstat"),
    "nmon": _by_line("nmon"),
    "sar": _by_line("sar"),
    "dd": _by_line("dd"),
}
#: Stands for whichever recognises the output.
ANY = "auto"
#: What gives a tool away in texts that are too long to be tried on every reader: at a line's start, or anywhere.
_BEGIN_LINES: Mapping[str, tuple[bytes, ...]] = {
    "sysbench": (b"sysbench 1.", b"sysbench 0."),
    "pgbench": (b"pgbench (", b"progress: ", b"transaction type: "),
    "ab": (b"This is ApacheBench",),
    "redis-benchmark": (b'"test","rps"',),
    "stress-ng": (b"stress-ng: ",),
    "nmon": (b"ZZZZ,T",),
    "sar": (b"Linux ",),
}
_ANYWHERE: Mapping[str, tuple[bytes, ...]] = {
    "fio": (b'"fio version"',),
    "iperf3": (b'"test_start"',),
    "netperf": (b" TEST from ", b" TEST to "),
    "wrk": (b" test @ ",),
    "redis-benchmark": (b"====== ",),
    "mbw": (b"Method: MEMCPY", b"Method: DUMB", b"Method: MCBLOCK"),
    "jstat": (b" YGC ",),
    "sar": (b"hostname;interval;timestamp;", b'"sysstat"'),
    "dd": (b"MB/s", b"GB/s", b"kB/s", "B/秒".encode(), "B/秒".encode("gb18030")),
}
#: The same at the very beginning.
_BEGIN_FILES: Mapping[str, re.Pattern[bytes]] = {
    "pgbench-log": re.compile(rb"\d+ \d+ \S+ \d+ \d+ \d+"),
    "benchmarksql": re.compile(rb"(?:\xef\xbb\xbf)?run,elapsed,latency,dblatency,"),
}
#: What tools print for people where their JSON is read: how it looks, and how they print the other.
_FOR_PEOPLE: Mapping[str, tuple[re.Pattern[bytes], str]] = {
    "fio": (re.compile(rb"\): rw=\w+, bs=|: \(groupid=\d+, jobs=\d+\)"), "fio --output-format=json"),
    "iperf3": (re.compile(rb"^\[ *ID\](?:\[Role\])? Interval", re.MULTILINE), "iperf3 -J"),
}
_ZIP, _ZSTD = b"PK\x03\x04", b"\x28\xb5\x2f\xfd"


class ImportProblemError(Exception):
    """A file that cannot be imported: which, what was found, and what to do."""


@dataclass(frozen=True)
class Source:
    """What was read together: by which tool's reader, and what was in it. `also` are files that belong to `path`;
    `shown` is how people named it, where that is no file's name (`-`)."""

    path: Path
    tool: str
    reading: Reading
    also: tuple[Path, ...] = ()
    shown: str = ""

    @property
    def name(self) -> str:
        """What it is called where it is told of."""
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
    told: Told | None = None,
) -> Source:
    """Read one file (`also`: and its continuations) as a tool's output, or as whichever recognises it.

    `read` is the tool's reader with options of its own. Raises ImportProblemError.
    """
    if is_directory(path):
        raise ImportProblemError(
            f"{path} is a directory, and no result folder of BenchmarkSQL (it has no data/result.csv). Name the files in it."
        )
    try:
        return _read(path, tool, Output((path, *also), told), read)
    except OSError as error:
        raise ImportProblemError(
            f"{error.filename or path} cannot be read: {error.strerror or error}. Check its name and rights."
        ) from None


def _read(path: Path, tool: str, output: Output, read: Read | None) -> Source:
    with path.open("rb") as file:
        head = file.read(BLOCK_BYTES)
    whole = len(head) < BLOCK_BYTES
    must_be_text(path, head)
    if tool == ANY:
        # A text that fits into one block is tried on every reader; a longer one only on those whose sign is in it.
        signed = _signs(head)
        candidates = sorted(READERS, key=lambda name: name not in signed) if whole else _signed(path)
    else:
        candidates = [tool]
    refused = {}
    for name in candidates:
        try:
            reading = (read or READERS[name])(output)
        except NotItsOutputError as error:
            refused[name] = str(error)
        else:
            return Source(path, name, reading, tuple(output.files[1:]))
    if tool != ANY:
        raise ImportProblemError(
            f"{path} is no output of {tool}: {refused[tool]}. Name another tool, or `{ANY}` to have it recognised."
        )
    for name, (look, how) in _FOR_PEOPLE.items():
        if look.search(head):
            raise ImportProblemError(
                f"{path} is what {name} prints for people. Its figures are read from what `{how}` prints: run it with that."
            )
    # Of a text that begins as a tool's does, it is worth knowing why that tool's reader does not take it.
    near = "".join(f" As {name}: {refused[name]}." for name in _signs(head) if name in refused)
    raise ImportProblemError(
        f"{path} is the output of no tool that is known here ({', '.join(READERS)}).{near} Plain tables: `loadcell import csv`."
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
    """Tools whose signs are in a block, the surest first; `first` if it is a file's first."""

    def shows(name: str) -> bool:
        if first and name in _BEGIN_FILES and _BEGIN_FILES[name].match(block):
            return True
        begin = _BEGIN_LINES.get(name, ())
        return block.startswith(begin) or any(
            sign in block for sign in (*(b"\n" + one for one in begin), *_ANYWHERE.get(name, ()))
        )

    return [name for name in READERS if shows(name)]


def _signed(path: Path) -> list[str]:
    """Tools whose sign is in the first block that has any."""
    for number, part in enumerate(Output([path]).blocks()):
        found = _signs(part, first=number == 0)
        if found:
            return found
    return []


_THREAD_LOG = re.compile(r"(?P<run>.+\.\d+)\.\d+")


def together(files: Sequence[Path], tool: str) -> list[tuple[Path, tuple[Path, ...]]]:
    """Files that are one output: pgbench with several threads writes a log for each, `NAME.PID`, `NAME.PID.1` ..."""
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
    measured = tuple(replace(one, settings={**one.settings, **settings}) for one in source.reading.measured)
    return replace(source, reading=replace(source.reading, measured=measured))

"""Contents of a file that should be a log: none, a binary format, no lines, or a log of another kind."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Final

from loadcell.ingest.base import ImportProblemError
from loadcell.ingest.read import IMPORT_UTF16
from loadcell.model.message import Count, ForeignText, Labels, Message, MessageCode

EMPTY = MessageCode("log-file.empty", path=str)
BINARY = MessageCode("log-file.binary", path=str, format=Message)
JSON_ARRAY = MessageCode("log-file.json-array", path=str)
ONE_LINE = MessageCode("log-file.one-line", path=str, count=Count)
UNKNOWN_BINARY = MessageCode("log-file.unknown-binary", path=str, bytes=ForeignText)

#: Begins of binary files by format (RFC 1952 and file(1); HotSpot: heapDumper.cpp, perfData.hpp).
_SIGNS: Final = (
    ("heap-dump", b"JAVA PROFILE"), ("jfr", b"FLR\0"), ("counters", b"\xca\xfe\xc0\xc0"),
    ("class", b"\xca\xfe\xba\xbe"), ("program", b"\x7fELF"), ("archive", b"PK\x03\x04"),
    ("packed", b"\x1f\x8b"), ("packed", b"BZh"), ("packed", b"\xfd7zXZ\0"), ("packed", b"\x28\xb5\x2f\xfd"),
    ("journal", b"LPKSHHRH"), ("perf", b"PERFILE2"), ("database", b"SQLite format 3\0"),
    ("picture", b"\x89PNG"), ("pdf", b"%PDF-"),
)  # fmt: skip
FORMAT = Labels("log-file-format", (*dict.fromkeys(name for name, _ in _SIGNS), "tar"))
_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")
_TAR_PLACE: Final = slice(257, 262)
#: Bytes in which a zero shows that a file is binary, and those of a begin that a message shows.
_HEAD_BYTES: Final = 65_536
_SHOWN_BYTES: Final = 8
#: A line that only a JVM writes about its collector, in either format.
_GC_LINE: Final = re.compile(
    rb"\]\s?GC\(\d+\) |\[(?:Full )?GC[ (]|\[(?:info|debug|trace|warning)\s*\]\[(?:gc|safepoint)[,\]\s]"
    rb"|^\[[\d.,]+s\]\[\w+ *\]\["
    rb"|: (?:Total time for which application threads were stopped|Application time): "
    rb"|: \[(?:CMS-concurrent|ParNew|YG occupancy|Rescan)"
)
_GC_TEXT: Final = re.compile(_GC_LINE.pattern.decode())
_MOST_LINES: Final = 500
_JSON_ARRAY: Final = re.compile(rb'\s*\[\s*\{\s*"')
#: A time of day that is no part of an address of a network card, or an uptime of a GC log; as many on the
#: only line are those of entries without line ends.
_TIME: Final = re.compile(
    rb"(?<!\d)(?:(?<=\d{4}:)|(?<![0-9A-Fa-f]{2}:))(?:[01]\d|2[0-3]):[0-5]\d:[0-6]\d(?!\d|:(?!\d{3}(?!\d)))"
    rb"|\[\d+[.,]\d+s\]"
)
_MOST_TIMES: Final = 10
#: A line behind another.
_NEXT_LINE: Final = re.compile(rb"[\r\n]\s*\S")
#: Bytes in which the end of a first line is looked for.
_LONGEST_ENTRY: Final = 64 << 20
#: Share of the first lines from which on a file may be a GC log.
GC_SHARE: Final = 0.5
#: Share of the first lines from which on the collector is taken to write to the log of a service.
LEAST_GC_SHARE: Final = 0.02


def must_be_log_text(path: Path, head: bytes) -> None:
    """Raises ImportProblemError where the first block of a file shows that it is no text.

    Zero bytes in a text are passed over when it is read; text may follow a block of them.
    """
    shown = str(path)
    if head.startswith(_UTF16):
        raise ImportProblemError(IMPORT_UTF16(path=shown, name=path.name))
    if (name := _format(head)) is not None:
        raise ImportProblemError(BINARY(path=shown, format=Message(FORMAT(name))))
    if not head.strip():
        raise ImportProblemError(EMPTY(path=shown))
    begin = head.lstrip(b"\0")[:_HEAD_BYTES]
    if begin and (b"\0" in begin or not head[0]) and not _is_text(begin.replace(b"\0", b"")):
        raise ImportProblemError(UNKNOWN_BINARY(path=shown, bytes=head[:_SHOWN_BYTES].hex(" ")))


def must_have_lines(path: Path, head: bytes, following: Iterable[bytes] = ()) -> None:
    """Raises ImportProblemError where the first block of a file shows that its entries have no lines: it is a
    JSON array, or its only line has the time stamps of many.

    The blocks that follow are read up to the end of a long first line.
    """
    begin = head[:_HEAD_BYTES].strip()
    if _JSON_ARRAY.match(begin):
        raise ImportProblemError(JSON_ARRAY(path=str(path)))
    if _NEXT_LINE.search(begin) or (count := len(_TIME.findall(begin))) < _MOST_TIMES:
        return
    if not _have_lines(chain([head.lstrip()], following)):
        raise ImportProblemError(ONE_LINE(path=str(path), count=count))


def _have_lines(blocks: Iterable[bytes]) -> bool:
    """True of a text with a second line, however long the first is; that of a limited size is looked at."""
    read_bytes = 0
    is_ended = False
    for block in blocks:
        if (is_ended and block.strip()) or _NEXT_LINE.search(block):
            return True
        is_ended = is_ended or b"\n" in block or b"\r" in block
        read_bytes += len(block)
        if read_bytes >= _LONGEST_ENTRY:
            return False
    return False


def _is_text(data: bytes) -> bool:
    """True of printable UTF-8; its last character may be cut."""
    text = data.decode("utf-8", "ignore")
    is_complete = len(text.encode()) >= len(data) - _CUT_BYTES
    return bool(text.strip()) and is_complete and all(item.isprintable() or item.isspace() for item in text)


#: Of a character of UTF-8 without its end.
_CUT_BYTES: Final = 3


def _format(head: bytes) -> str | None:
    """The binary format of a file by its first block."""
    if head[_TAR_PLACE] == b"ustar":
        return "tar"
    return next((name for name, sign in _SIGNS if head.startswith(sign)), None)


def is_gc_line(line: str) -> bool:
    """True of a line that only a JVM writes about its collector."""
    return _GC_TEXT.search(line) is not None


def gc_share(head: bytes) -> float:
    """Share of the first lines that a JVM writes about its collector."""
    lines = [line for line in head[:_HEAD_BYTES].splitlines()[:_MOST_LINES] if line.strip()]
    return sum(_GC_LINE.search(line) is not None for line in lines) / len(lines) if lines else 0.0

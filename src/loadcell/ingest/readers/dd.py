"""GNU dd: one copy, in any locale."""

from __future__ import annotations

import re
from collections.abc import Iterable

from loadcell.ingest.base import Measured, NotItsOutputError, Reading, Unread, number
from loadcell.ingest.readers import Reader, by_line
from loadcell.model.message import MessageCode

OUTPUT_DD = MessageCode("output.dd")

NAME = "dd"

#: The last line in any language: bytes first, then the time in seconds before the rate. `1073741824 bytes
#: (1.1 GB, 1.0 GiB) copied, 0.7 s, 1.5 GB/s`.
_COPIED = re.compile(
    r"(?P<bytes>\d+)\s*\D.*?[,，]\s*(?P<s>\d[\d.,]*(?:e-\d+)?) ?(?:s|秒|seconds)[,，]\s*[\d.,]+ "
    r"?[kMGT]?B/(?:s|秒)"
)
#: In Chinese the words come first.
_RECORDS = re.compile(r"[^\d\n]{0,12}\d+\+\d+ ")


def read(lines: Iterable[str]) -> Reading:
    """Each copy: MiB/s by its bytes and its seconds, not by the rounded rate."""
    measured, unread = [], Unread()
    for line in lines:
        match = _COPIED.match(line)
        if match is not None:
            size, took_s = int(match["bytes"]), _seconds(match["s"])
            rate = size / took_s / 2**20 if took_s else None
            measured.append(
                Measured("copy", "MiB", rate, duration_s=took_s, clients=1, settings={"bytes": size})
            )
        elif _RECORDS.match(line) is None:
            unread.add(line)
    if not measured:
        raise NotItsOutputError(OUTPUT_DD())
    return unread.reading(measured)


def _seconds(text: str) -> float:
    """dd groups nothing: a comma is a decimal one."""
    return number(text.replace(",", "."))


READER = Reader(
    NAME,
    by_line(read),
    anywhere=(b"MB/s", b"GB/s", b"kB/s", "B/秒".encode(), "B/秒".encode("gb18030")),
    vague=True,
)

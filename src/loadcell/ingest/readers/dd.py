"""dd: one copy; GNU and busybox in any locale, BSD and macOS."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from loadcell.ingest.base import Interval, Measured, NotItsOutputError, PrintedTotal, Reading, Unread
from loadcell.ingest.checks import THROUGHPUT, printed_total
from loadcell.ingest.printed_numbers import integer, number
from loadcell.ingest.readers import Reader, by_line
from loadcell.model.message import MessageCode

OUTPUT_DD = MessageCode("output.dd")

NAME = "dd"

#: The last line in any language: bytes first, then the time in seconds before the rate. `1073741824 bytes
#: (1.1 GB, 1.0 GiB) copied, 0.7 s, 1.5 GB/s`.
_COPIED = re.compile(
    r"\s*(?:# ?)?(?P<bytes>\d+)\s*\D.*?[,，]\s*(?P<s>\d[\d.,]*(?:e-\d+)?) ?(?:s|秒|seconds)[,，]\s*"
    r"(?P<rate>[\d.,]+) ?(?P<prefix>[kMGT]?)B/(?:s|秒)"
)
#: `1048576 bytes transferred in 0.000486 secs (2157562870 bytes/sec)` of BSD and macOS, `seconds`
#: of GNU before 5.1; and progress,
#: `1048576000 bytes (1049 MB, 1000 MiB) transferred 1.001s, 1048 MB/s`.
_TRANSFERRED = re.compile(
    r"\s*(?:# ?)?(?P<bytes>\d+) bytes (?:\([^)]*\) )?transferred (?:in )?(?P<s>[\d.]+) ?s(?:ec(?:ond)?s?)?"
    r"(?:, (?P<rate>[\d.]+) (?P<prefix>[kMGT]?)B/s| \((?P<exact>\d+) bytes/sec\))"
)
_PREFIX = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
#: In Chinese the words come first.
_RECORDS = re.compile(r"[^\d\n]{0,12}\d+\+\d+ ")


def read(lines: Iterable[str]) -> Reading:
    """Each copy: MiB/s by its bytes and its seconds, not by the rounded rate.

    Lines of `status=progress` come before the records of their copy, and are its intervals.
    """
    measured: list[Measured] = []
    unread = Unread()
    #: Lines without records before them: of a copy that shows its progress, or of one copy each.
    pending: list[_Copied] = []
    after_records = False
    for line in lines:
        match = _COPIED.match(line) or _TRANSFERRED.match(line)
        if match is not None:
            exact = match.groupdict().get("exact")
            factor = 1 if exact else _PREFIX[match["prefix"]]
            rate = printed_total("rate", exact or match["rate"], THROUGHPUT, factor=factor / 2**20)
            copied = _Copied(integer(match["bytes"]), _seconds(match["s"]), rate)
            if after_records:
                progress = _progress_of(copied, pending)
                measured += [_measured(item) for item in pending[: len(pending) - len(progress)]]
                measured.append(_measured(copied, progress))
                pending = []
            else:
                pending.append(copied)
            after_records = False
        elif _RECORDS.match(line) is not None:
            after_records = True
        else:
            unread.add(line)
    measured += [_measured(item) for item in pending]
    if not measured:
        raise NotItsOutputError(OUTPUT_DD())
    return unread.reading(measured)


@dataclass(frozen=True)
class _Copied:
    """Bytes since the beginning, and the rate as printed."""

    size_bytes: int
    took_s: float
    rate: PrintedTotal


def _progress_of(copied: _Copied, pending: Sequence[_Copied]) -> Sequence[_Copied]:
    """Those at the end of `pending` that grow up to the copy."""
    first, later = len(pending), copied
    while (
        first
        and pending[first - 1].size_bytes <= later.size_bytes
        and pending[first - 1].took_s <= later.took_s
    ):
        first, later = first - 1, pending[first - 1]
    return pending[first:]


def _measured(copied: _Copied, progress: Sequence[_Copied] = ()) -> Measured:
    rate = copied.size_bytes / copied.took_s / 2**20 if copied.took_s else None
    intervals, before_bytes, before_s = [], 0, 0.0
    for step in (*progress, copied) if progress else ():
        length_s = step.took_s - before_s
        if length_s > 0:
            moved_mib = (step.size_bytes - before_bytes) / 2**20
            intervals.append(Interval(before_s, length_s, moved_mib / length_s))
            before_bytes, before_s = step.size_bytes, step.took_s
    return Measured(
        "copy", "MiB", rate, duration_s=copied.took_s, clients=1, settings={"bytes": copied.size_bytes},
        intervals=tuple(intervals), printed=(copied.rate,),
    )  # fmt: skip


def _seconds(text: str) -> float:
    """dd groups nothing: a comma is a decimal one."""
    return number(text.replace(",", "."))


READER = Reader(
    NAME,
    by_line(read),
    anywhere=(b"MB/s", b"GB/s", b"kB/s", b" bytes/sec)", "B/秒".encode(), "B/秒".encode("gb18030")),
    vague=True,
)

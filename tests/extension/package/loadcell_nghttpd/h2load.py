"""Reads the output of h2load, the load generator of nghttp2."""

from __future__ import annotations

import re
from collections.abc import Iterable

from loadcell.ingest.base import Measured, NotItsOutputError, Reading, Unread
from loadcell.ingest.readers import Reader, by_line
from loadcell_nghttpd.messages import NOT_H2LOAD

_RATE = re.compile(r"finished in (?P<s>[\d.]+)s, (?P<rate>[\d.]+) req/s")
_COUNTS = re.compile(r"requests: .* (?P<succeeded>\d+) succeeded, (?P<failed>\d+) failed")


def read(lines: Iterable[str]) -> Reading:
    """One execution per summary: requests per second, and counts of both outcomes."""
    unread = Unread()
    measured: list[Measured] = []
    rate = None
    for line in lines:
        if (match := _RATE.match(line)) is not None:
            rate = match
        elif (match := _COUNTS.match(line)) is not None and rate is not None:
            measured.append(
                Measured(
                    "h2load",
                    "request",
                    float(rate["rate"]),
                    succeeded=int(match["succeeded"]),
                    failed=int(match["failed"]),
                    duration_s=float(rate["s"]),
                )
            )
        else:
            unread.add(line)
    if not measured:
        raise NotItsOutputError(NOT_H2LOAD())
    return unread.reading(measured)


READER = Reader("h2load", by_line(read), line_starts=(b"finished in ",))

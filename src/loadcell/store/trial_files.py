"""Reads the CSV files of a trial as frames, by DuckDB, and its latency.hlog as a histogram.

latency.hlog is HdrHistogram's interval log 1.3, with histograms of version 2, compressed. Format:
HdrHistogram's own `HistogramLogWriter` and `AbstractHistogram.encodeIntoCompressedByteBuffer` (G. Tene,
public domain). Counts are ZigZag LEB128 numbers; a negative one is a number of empty places.
"""

from __future__ import annotations

import base64
import os
import struct
import zlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt

from loadcell.store.frames import Column, Frame, Text
from loadcell.store.layout import ColumnType, column_types, header_of, sql_types


def read_csv(content: bytes, text: Collection[str]) -> Frame | None:
    """A frame of complete lines that begin with a header, whose columns `text` hold text; None when a value
    is not of its column's type, a line too long, or a name unusable.
    """
    types = column_types(header_of(content), text)
    # In memory: the disk of temporary files may be full, and is no faster.
    with os.fdopen(os.memfd_create("loadcell-csv"), "wb") as file:
        file.write(content)
        file.flush()
        try:
            relation = _connection().read_csv(
                f"/proc/self/fd/{file.fileno()}", header=True, delimiter=",", quotechar='"', escapechar='"',
                columns=sql_types(types), auto_detect=False, null_padding=True, parallel=False,
            )  # fmt: skip
            columns = relation.fetchnumpy()
        except duckdb.Error:
            return None
    if columns.keys() != types.keys():  # a name with a NUL byte ends there for DuckDB
        return None
    return Frame({name: _column(columns[name], kind) for name, kind in types.items()})


#: No measured value is so large; sums of larger ones leave the range of floats. They count as missing.
_BEYOND_MEASURE = 1e100


@cache
def _connection() -> duckdb.DuckDBPyConnection:
    """The connection for all files: making one takes as long as reading a small file."""
    return duckdb.connect()


def _column(values: npt.NDArray[Any], kind: ColumnType) -> Column:
    """A column as DuckDB returns it: a masked array where values are missing."""
    if kind == "text":
        texts = np.ma.getdata(values)
        texts[np.ma.getmaskarray(values)] = None
        return Text.of(texts.tolist())
    numbers: npt.NDArray[np.float64] = np.ma.filled(values.astype(np.float64), np.nan)
    return np.where(np.abs(numbers) < _BEYOND_MEASURE, numbers, np.nan)


_COMPRESSED, _ENCODED = 0x1C849304, 0x1C849303
_COOKIE_BITS = 0xFFFFFF0F
_HEAD = struct.Struct(">iiiiqqd")


def read_histogram(path: Path, tag: str) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """All intervals of one tag together: latencies in ms (each the highest of its place), rising, and their
    counts.

    Empty when the log does not have the tag. Raises OSError, and ValueError for what is no such log.
    """
    decoded = decode(path, [line.rsplit(",", 1)[-1].strip() for line in tagged_lines(path, tag)])
    counts = np.bincount(decoded.places, decoded.counts).astype(np.int64)
    filled = np.flatnonzero(counts)
    return highest_ms(filled, decoded), counts[filled]


def tagged_lines(path: Path, tag: str) -> list[str]:
    """The lines of one tag: an interval each. Raises OSError."""
    start = f"Tag={tag},"
    with path.open(encoding="ascii", errors="replace") as lines:
        return [line for line in lines if line.startswith(start)]


@dataclass(frozen=True, eq=False)
class Histograms:
    """Histograms of one resolution: `counts` of the `places` of the histogram with the number `of`."""

    digits: int
    lowest: int
    of: npt.NDArray[np.int64]
    places: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]


def decode(path: Path, texts: Sequence[str]) -> Histograms:
    """Decode the histograms of a log, all at once: a loop over them would take most of a report's time.

    Raises ValueError for what is no histogram, and where they differ in resolution.
    """
    shapes, payloads = set(), []
    for text in texts:
        digits, lowest, payload = _payload(text)
        shapes.add((digits, lowest))
        payloads.append(payload)
    if len(shapes) > 1:
        raise ValueError(f"{path}: histograms of one tag differ in resolution")
    return Histograms(*(shapes or {(3, 1)}).pop(), *_counts(payloads))


def _payload(text: str) -> tuple[int, int, bytes]:
    """Significant digits, lowest value, and the encoded counts up to the last whole number."""
    try:
        packed = base64.b64decode(text, validate=True)
        cookie, length = struct.unpack_from(">ii", packed)
        if cookie & _COOKIE_BITS != _COMPRESSED & _COOKIE_BITS:
            raise ValueError("not a compressed histogram")
        plain = zlib.decompress(packed[8 : 8 + length])
        cookie, size, _, digits, lowest, _, _ = _HEAD.unpack_from(plain)
    except (struct.error, zlib.error, ValueError) as error:
        raise ValueError(f"a histogram that cannot be read: {error}") from None
    if cookie & _COOKIE_BITS != _ENCODED & _COOKIE_BITS:
        raise ValueError("a histogram of an unknown version")
    payload = plain[_HEAD.size : _HEAD.size + size]
    while payload and payload[-1] >= 0x80:
        payload = payload[:-1]
    return digits, lowest, payload


def _counts(payloads: Sequence[bytes]) -> tuple[npt.NDArray[np.int64], ...]:
    """Number of the payload, place and count of every place with a count, from ZigZag LEB128 numbers."""
    octets = np.frombuffer(b"".join(payloads), dtype=np.uint8)
    last = octets < 0x80
    ends = np.flatnonzero(last)
    if not ends.size:
        return (np.zeros(0, dtype=np.int64),) * 3
    starts = np.concatenate(([0], ends[:-1] + 1))
    if starts.size == octets.size:
        zigzag = octets.astype(np.int64)
    else:
        position = np.arange(octets.size) - np.repeat(starts, ends - starts + 1)
        zigzag = np.add.reduceat((octets & 0x7F).astype(np.int64) << (7 * position), starts)
    numbers = (zigzag >> 1) ^ -(zigzag & 1)
    steps = np.where(numbers < 0, -numbers, 1)
    after = np.cumsum(steps)
    bounds = np.concatenate(([0], np.cumsum([len(payload) for payload in payloads])))
    of = np.searchsorted(bounds, ends, side="right") - 1
    firsts = np.searchsorted(of, np.arange(len(payloads)))
    before = after - steps
    offsets = np.append(before, 0)[firsts]
    filled = numbers > 0
    return of[filled], (before - offsets[of])[filled], numbers[filled]


def highest_ms(places: npt.NDArray[np.int64], histograms: Histograms) -> npt.NDArray[np.float64]:
    """The highest value in ms that is counted in each place."""
    return _highest_of(places, histograms.digits, histograms.lowest) / 1e6


def _highest_of(places: npt.NDArray[np.int64], digits: int, lowest: int) -> npt.NDArray[np.float64]:
    """The highest value that is counted in each place."""
    magnitude = max(1, (2 * 10**digits - 1).bit_length()) - 1
    unit = max(0, lowest.bit_length() - 1)
    half = 1 << magnitude
    bucket = (places >> magnitude) - 1
    within = (places & (half - 1)) + half
    first = bucket < 0
    bucket = np.where(first, 0, bucket)
    within = np.where(first, within - half, within)
    values: npt.NDArray[np.float64] = ((within + 1) << (bucket + unit)).astype(np.float64) - 1
    return values

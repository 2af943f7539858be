"""Lines of GC logs of JDK 8 and before: stamps at their start, and lines that no event needs."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from typing import Final

from loadcell.ingest.gc_decorators import DATE, utc_ns
from loadcell.ingest.gc_unified import seconds_ns
from loadcell.model.gc_pauses import LogClock

#: Starts of lines that are of this format although they begin with a bracket.
STARTS: Final = ("[GC", "[Full GC", "[Times:", "[CMS-", "[Eden:", "[Pause ", "[Parallel Time", "[Unloading ")
STAMP: Final = rf"(?:({DATE}): ?)?(?:(\d{{1,12}}[.,]\d{{3}}): ?)?(?:#\d+: ?)?"
STAMPED: Final = re.compile(STAMP)
#: Stamps of two threads that wrote at the same time; the second message has none.
DOUBLED: Final = re.compile(
    rf"({DATE})[: ]*{DATE}[: ]*(?:(\d{{1,12}}[.,]\d{{3}})[: ]*\d{{1,12}}[.,]\d{{3}}[: ]*)?"
    r"|(\d{1,12}[.,]\d{3}): ?\d{1,12}[.,]\d{3}: "
)
#: Lines of heaps, ages, tables and statistics, which are known and not needed.
IGNORED: Final = re.compile(
    r"(?:\s*\[[A-Z])|(?:\s*[{}]?\s*(?:Heap\b|\}|PSYoungGen|ParOldGen|PSOldGen|PSPermGen|ParNew|par new"
    r"|def new|DefNew|tenured"
    r"|concurrent[ -]mark[- ]sweep|Metaspace|class space|compacting perm|garbage-first|region size|eden space"
    r"|from space|to +space|object space|the space|r[ow] space|- age|Desired survivor|Before GC|After GC"
    r"|Statistics for|-----|Total Free Space|Max +Chunk|Number of Blocks|Av\.|Tree +Height|No shared spaces"
    r"|CMS:|Application time|Large block|TLAB|Finished|AdaptiveSize|PSAdaptiveSize"
    r"|Survivor|Concurrent|vmop|GC locker|/proc/meminfo:|(?:Avg|Sum): +\d"
    r"|Waiting for|, *\d+[.,]\d+ secs|\(concurrent mode|: \d+K->|Polling page"
    r"|Shenandoah|Free:? |Free headroom|Adaptive |Using \d+ of \d+ workers|Trigger: |Pacer for |Cancelling GC"
    r"|(?:Good|Bad) progress for|Immediate Garbage|Garbage to be|Collectable Garbage|Evacuation Reserve"
    r"|Failed to allocate|CSet |Heuristics ergonomically|Uncommitted|Periodic GC))"
)
#: Those that no other program prints, also at the beginning of a rotated file.
DISTINCT: Final = re.compile(
    r"Memory: \d+k page|/proc/meminfo:|\d[-\d]+[T ][\d:.+-]+:? GC log (?:file|rotation)"
    r"|\{?Heap (?:before|after) GC inv"
    r"|\s*\[(?:Parallel Time|GC Worker|Code Root|Clear CT: |Other: |(?:Choose|Free) CSet: |Eden: |Times: user"
    r"|Ref (?:Proc|Enq): |Redirty Cards: |Humongous Re|G1Ergonomics)"
    r"|.* (?:heap|generation|gen|region) +(?:size|total) \d+K,? .*|\s*(?:Metaspace|class space) +used \d+K"
)


def doubled(double: re.Match[str]) -> dict[LogClock, int]:
    """Times of the stamp that two lines share."""
    return _clocks(double[1], double[2] or double[3])


def single(double: re.Match[str], line: str) -> str:
    """A line with one stamp in place of two."""
    stamps_of = (stamp for stamp in (double[1], double[2] or double[3]) if stamp is not None)
    return "".join(f"{stamp}: " for stamp in stamps_of) + line[double.end() :]


def times_of(stamp: re.Match[str]) -> dict[LogClock, int]:
    """Times of a stamp by their clock."""
    return _clocks(stamp[1], stamp[2])


def _clocks(date: str | None, uptime: str | None) -> dict[LogClock, int]:
    times: dict[LogClock, int] = {}
    if date is not None:
        with contextlib.suppress(ValueError):  # a damaged line
            times["utc"] = utc_ns(date)
    if uptime is not None:
        integral, fraction = re.split("[.,]", uptime)
        times["uptime"] = seconds_ns(integral, fraction)
    return times


def stamps(line: str) -> Mapping[LogClock, int]:
    """Times at the start of a line by their clock."""
    if (double := DOUBLED.match(line)) is not None:
        return doubled(double)
    match = STAMPED.match(line)
    return {} if match is None else times_of(match)

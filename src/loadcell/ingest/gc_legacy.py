"""Lines of GC logs as JDK 8 and before write them (-XX:+PrintGCDetails, -verbose:gc), of all collectors.

A collection is a text in square brackets that may go over several lines, with others within it; messages of
concurrent phases interrupt it anywhere. Its stamp is the time of its start. Sizes of G1 stand in the lines
after it.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from loadcell.ingest.gc_decorators import DATE, utc_ns
from loadcell.ingest.gc_gathering import Gathering
from loadcell.ingest.gc_unified import STOPPED, UNITS, seconds_ns, stopped
from loadcell.ingest.printed_numbers import UnusableNumberError, integer
from loadcell.model.gc_pauses import Failure, HeapDump, LogClock, Pause, PauseKind

#: Starts of lines that are of this format although they begin with a bracket.
STARTS: Final = ("[GC", "[Full GC", "[Times:", "[CMS-", "[Eden:", "[Pause ", "[Parallel Time", "[Unloading ")
_STAMP: Final = rf"(?:({DATE}): ?)?(?:(\d{{1,12}}[.,]\d{{3}}): ?)?(?:#\d+: ?)?"
_STAMPED: Final = re.compile(_STAMP)
_BEGIN: Final = re.compile(
    rf"{_STAMP}(?P<text>\[(?:(?:Full )?GC(?! concurrent| Worker)(?=[ (\[:-]|\d|$)|Pause (?=[A-Z])"
    r"|Heap Dump \())"
)
#: A new collection at the start of a line: the one before was cut.
_NEXT: Final = re.compile(
    rf"(?:{DATE}: ?\d|{DATE}: \[|\d{{1,12}}[.,]\d{{3}}: ).{{0,40}}?\[(?:Full )?GC(?! concurrent)[ (]"
)
_BRACKET: Final = re.compile(r"[\[\]]")
_GROUP: Final = re.compile(r"\[([^\[\]]*)\]")
_SIZE: Final = r"(\d{1,18}(?:[.,]\d{1,3})?) ?([BKMG])"
_CHANGE: Final = re.compile(rf"{_SIZE}(?:\({_SIZE}\))?->{_SIZE}(?:\({_SIZE}\))?")
_HEAP: Final = re.compile(rf"Heap: {_SIZE}\({_SIZE}\)->{_SIZE}\({_SIZE}\)")
_SECONDS: Final = re.compile(r"(\d{1,9})[.,](\d{1,9}) (secs|ms)\s*$")
_OCCUPIED: Final = re.compile(rf"(?:^|[\] ]){_SIZE}\({_SIZE}\), ")
_COMPACTED: Final = re.compile(r"\b(?:Tenured|CMS)(?![A-Za-z-]| Perm).*\d[KMG]->\d", re.DOTALL)
_METASPACE: Final = re.compile(r"(?:Metaspace|Perm\w*) *: (?:\d+)K(?:\(\d+K\))?->(\d{1,18})K")
_DUMP_GROUP: Final = re.compile(r"Heap Dump \((?:before|after) full gc\)", re.I)
_WORDS: Final = re.compile(r"\(((?:[^()]|\(\))*)\)")
_PHASE: Final = re.compile(
    rf"{_STAMP}\[(?:GC )?((?:CMS-)?[Cc]oncurrent[\w -]*?)(?:-start|-end)?"
    r"(?:: \d{1,9}[.,]\d{1,9}/(\d{1,9})[.,](\d{1,9}) secs|, (\d{1,9})[.,](\d{1,9}) (?:secs|ms))?\]"
)
_CONCURRENT: Final = re.compile(
    rf"{_STAMP}\[Concurrent ([a-z][\w -]*?)(?: \([^)]*\))*(?: {_SIZE}->{_SIZE}\({_SIZE}\))?"
    r", (\d{1,9})[.,](\d{1,9}) ms\]"
)
_VM: Final = re.compile(r"((?:OpenJDK|Java HotSpot)[^,]*)")
_FLAGS: Final = re.compile(r"(?:CommandLine flags|jvm_args): (.*)")
#: Lines of heaps, ages, tables and statistics, which are known and not needed.
_IGNORED: Final = re.compile(
    r"(?:\s*\[[A-Z])|(?:\s*[{}]?\s*(?:Heap\b|\}|PSYoungGen|ParOldGen|PSOldGen|PSPermGen|ParNew|par new"
    r"|def new|DefNew|tenured"
    r"|concurrent[ -]mark[- ]sweep|Metaspace|class space|compacting perm|garbage-first|region size|eden space"
    r"|from space|to +space|object space|the space|r[ow] space|- age|Desired survivor|Before GC|After GC"
    r"|Statistics for|-----|Total Free Space|Max +Chunk|Number of Blocks|Av\.|Tree +Height|No shared spaces"
    r"|Memory:|CMS:|Application time|Large block|TLAB|Finished|AdaptiveSize|PSAdaptiveSize"
    r"|Survivor|Concurrent"
    r"|vmop|\d{4}-[-\d]+T[\d:]+.* GC log (?:file|rotation)|\d[-\d]+ [\d:]+ GC log (?:file|rotation)|GC locker"
    r"|Waiting for|, *\d+[.,]\d+ secs|\(concurrent mode|: \d+K->|Polling page|Shenandoah|(?:Free|Adaptive) ))"
)
#: A young collection of Serial, Parallel or ParNew in one line, the most frequent of all.
_YOUNG_LINE: Final = re.compile(
    rf"{_STAMP}\[GC \((?P<cause>[^()]*(?:\(\))?)\) (?:{DATE}: )?(?:\d+[.,]\d{{3}}: )?"
    r"\[(?P<name>PSYoungGen|ParNew|DefNew): (\d{1,18})K->(\d{1,18})K\(\d+K\)(?:, \d+[.,]\d+ secs)?\] "
    r"(\d{1,18})K->(\d{1,18})K\((\d{1,18})K\), (\d{1,9})[.,](\d{1,9}) secs\](?: \[Times:[^\]]*\])?\s*$"
)
_TRAILING: Final = re.compile(r"\s*(?:\[Times: [^\]]*\])?[\s,]*")
#: Lines of a collection; what is longer never ends.
_MOST_LINES: Final = 200
_YOUNG: Final = ("PSYoungGen", "ParNew", "DefNew")
_COLLECTORS: Final = (
    ("ParNew", "Concurrent Mark Sweep"), ("CMS", "Concurrent Mark Sweep"), ("PSYoungGen", "Parallel"),
    ("DefNew", "Serial"), ("Tenured", "Serial"), ("GC pause", "G1"), ("Pause Init", "Shenandoah"),
    ("Pause Final", "Shenandoah"),
)  # fmt: skip

#: Gives the instant by the log's clock of times by their clock.
Place = Callable[[Mapping[LogClock, int]], int | None]


@dataclass
class Legacy:
    """State between the lines of a JVM: of a collection that goes over several lines."""

    gathering: Gathering
    locate: Place
    was_header: bool = False
    #: words of a header behind the first one: of a rotated file, or of the next JVM
    next_vm: str = ""
    next_flags: tuple[str, ...] = ()
    _lines: list[str] = field(default_factory=list)
    _depth: int = 0
    _times: Mapping[LogClock, int] = field(default_factory=dict)
    #: the line at which the collection begins
    _number: int = 0
    #: a pause of G1 whose sizes are still to come, and its line
    _waiting: tuple[Pause, str] | None = None
    _has_any: bool = False

    def take(self, line: str) -> bool:
        """False for a line that is not understood."""
        if not self._lines and (young := _YOUNG_LINE.match(line)) is not None:
            return self._young(young, line)
        if self._lines:
            if _NEXT.match(line) is None and len(self._lines) < _MOST_LINES:
                return self._more(line)
            self._drop()
        return self._first(line)

    def finish(self) -> None:
        """The end of the log."""
        self._drop()
        self._flush()

    def _young(self, match: re.Match[str], line: str) -> bool:
        times = _times(match)
        start_ns = self.locate(times)
        if start_ns is None:
            return False
        self._flush()
        self._has_any = True
        gathering = self.gathering
        if gathering.collector == "":
            gathering.collector = dict(_COLLECTORS)[match["name"]]
        sizes = (int(number) << 10 for number in match.groups()[4:9])
        young_before, young_after, before, after, capacity = sizes
        duration_ns = seconds_ns(*match.groups()[9:11])
        utc = times.get("utc")
        gathering.pause(
            Pause(
                start_ns + duration_ns, duration_ns, "young", "Young", match["cause"], before, after,
                capacity,
                max(0, (after - young_after) - (before - young_before)), gathering.number,
                None if utc is None else utc + duration_ns,
            ),
            line,
        )  # fmt: skip
        return True

    def _first(self, line: str) -> bool:
        begin = _BEGIN.search(line)
        if begin is None:
            return self._other(line)
        at = begin.start("text")
        before = line[: begin.start()]
        self._times = _times(begin)
        self._number = self.gathering.number
        self._lines, self._depth = [], 0
        understood = not before.strip() or self._other(before)
        return self._more(line[at:]) and understood

    def _more(self, text: str) -> bool:
        """The next part of a collection, up to its last bracket."""
        for bracket in _BRACKET.finditer(text):
            self._depth += 1 if bracket[0] == "[" else -1
            if self._depth <= 0:
                block = "".join((*self._lines, text[: bracket.end()]))
                remainder = text[bracket.end() :]
                self._lines = []
                understood = self._block(block)
                trailing = _TRAILING.match(remainder)
                remainder = remainder[trailing.end() :] if trailing is not None else remainder
                return (not remainder.strip() or self._first(remainder)) and understood
        self._lines.append(text)
        return True

    def _drop(self) -> None:
        """Count a collection without end as not understood."""
        if self._lines:
            self.gathering.not_understood(self._lines[0])
        self._lines = []

    def _flush(self) -> None:
        if self._waiting is not None:
            pause, line = self._waiting
            self._waiting = None
            self.gathering.pause(pause, line)

    def _other(self, line: str) -> bool:
        if (heap := _HEAP.search(line)) is not None and self._waiting is not None:
            pause, text = self._waiting
            numbers = [_bytes(*pair) for pair in zip(heap.groups()[::2], heap.groups()[1::2], strict=True)]
            self._waiting = (
                replace(
                    pause,
                    before_bytes=numbers[0],
                    after_bytes=numbers[2],
                    capacity_bytes=numbers[3],
                    metaspace_bytes=_metaspace(line),
                ),
                text,
            )
            self._flush()
            return True
        if (match := STOPPED.search(line)) is not None:
            stopped(self.gathering, match, "", line)
            return True
        understood = False
        for phase in (*_PHASE.finditer(line), *_CONCURRENT.finditer(line)):
            understood = self._has_any = True
            self.locate(_times(phase))
            if (seconds := _duration(phase)) is not None:
                self.gathering.phase(phase[3].strip(), seconds)
        if understood:
            return True
        if (vm := _VM.match(line)) is not None:
            self.was_header = True
            self.next_vm = vm[1].strip()
            self.gathering.vm = self.gathering.vm or self.next_vm
            return True
        if (flags := flags_of(line)) is not None:
            self.next_flags = flags
            self.gathering.flags = self.gathering.flags or self.next_flags
            return True
        stamp = _STAMPED.match(line)
        text = line[stamp.end() :] if stamp is not None else line
        return (self._has_any or self.was_header) and _IGNORED.match(text) is not None

    def _block(self, block: str) -> bool:
        """Take a collection by its complete text."""
        outer, groups = _unfolded(block)
        line = " ".join(block.split())
        try:
            self._dumps([outer, *groups], line)
            pause = self._pause(block, outer, groups)
        except UnusableNumberError:
            return False
        if pause is None:
            return outer.startswith("Heap Dump")
        self._flush()
        self._has_any = True
        if self.gathering.collector == "":
            self.gathering.collector = next((name for sign, name in _COLLECTORS if sign in block), "")
        is_short = pause.before_bytes is None or (pause.kind == "full" and pause.metaspace_bytes is None)
        if is_short and self.gathering.collector in ("G1", ""):
            self._waiting = (pause, line)
        else:
            self.gathering.pause(pause, line)
        return True

    def _dumps(self, texts: list[str], line: str) -> None:
        for text in texts:
            if _DUMP_GROUP.match(text) and (length := _SECONDS.search(text)) is not None:
                start_ns = self.locate(self._times)
                self.gathering.dump(HeapDump(self._number, start_ns, seconds_ns(length[1], length[2])), line)

    def _pause(self, block: str, outer: str, groups: list[str]) -> Pause | None:
        seconds = _SECONDS.search(outer)
        if outer.startswith("Heap Dump") or seconds is None:
            return None
        start_ns = self.locate(self._times)
        if start_ns is None:
            return None
        duration_ns = seconds_ns(seconds[1], seconds[2])
        if seconds[3] == "ms":
            duration_ns //= 1000
        before = after = capacity = None
        if (change := _CHANGE.search(outer)) is not None:
            before, after = _bytes(change[1], change[2]), _bytes(change[5], change[6])
            capacity = _bytes(change[7], change[8])
        elif (occupied := _OCCUPIED.search(outer)) is not None:
            before = after = _bytes(occupied[1], occupied[2])
            capacity = _bytes(occupied[3], occupied[4])
        kind, name, cause = _class(outer, groups)
        utc = self._times.get("utc")
        return Pause(
            start_ns + duration_ns,
            duration_ns,
            kind,
            name,
            cause,
            before,
            after,
            capacity,
            _promoted(kind, groups, before, after),
            self._number,
            None if utc is None else utc + duration_ns,
            next((value for group in groups if (value := _metaspace(group)) is not None), None),
            _failures(block),
        )


def flags_of(text: str) -> tuple[str, ...] | None:
    """Flags of the JVM in a line that states them."""
    match = _FLAGS.match(text)
    return None if match is None else tuple(match[1].split())


def _times(stamp: re.Match[str]) -> dict[LogClock, int]:
    times: dict[LogClock, int] = {}
    if stamp[1] is not None:
        with contextlib.suppress(ValueError):  # a damaged line
            times["utc"] = utc_ns(stamp[1])
    if stamp[2] is not None:
        integral, fraction = re.split("[.,]", stamp[2])
        times["uptime"] = seconds_ns(integral, fraction)
    return times


def _duration(phase: re.Match[str]) -> int | None:
    """Duration of a concurrent phase: the last two groups with a value; seconds, or milliseconds."""
    values = [value for value in phase.groups()[3:] if value is not None]
    if len(values) < 2 or not values[-1].isdigit():
        return None
    duration_ns = seconds_ns(values[-2], values[-1])
    return duration_ns // 1000 if phase[0].endswith("ms]") else duration_ns


def _unfolded(block: str) -> tuple[str, list[str]]:
    """The text of a collection without the brackets in it, and their texts."""
    outer, groups = block[1:-1], []
    while inner := list(_GROUP.finditer(outer)):
        groups += [match[1] for match in inner]
        outer = _GROUP.sub(" ", outer)
    return outer, groups


def _bytes(number: str | None, unit: str | None) -> int | None:
    if number is None or unit is None:
        return None
    integral, _, fraction = number.replace(",", ".").partition(".")
    return integer(integral) * UNITS[unit] + (
        integer(fraction) * UNITS[unit] // 10 ** len(fraction) if fraction else 0
    )


def _metaspace(text: str) -> int | None:
    match = _METASPACE.search(text)
    return None if match is None else integer(match[1]) * UNITS["K"]


def _class(outer: str, groups: list[str]) -> tuple[PauseKind, str, str]:
    """Kind, name in the words of later versions, and cause."""
    head = _CHANGE.split(outer, maxsplit=1)[0]
    words = _WORDS.findall(head)
    if outer.startswith("Pause "):
        name = head.removeprefix("Pause ").partition(",")[0].partition("(")[0].strip()
        kind: PauseKind = (
            "full" if name.startswith("Full") else "degenerated" if name.startswith("Degen") else "cycle"
        )
        return kind, name, ""
    is_mark = any("CMS-initial-mark" in group for group in groups) or "CMS Initial Mark" in words
    is_remark = any("CMS-remark" in group for group in groups) or "CMS Final Remark" in words
    if is_mark or is_remark:
        return "cycle", "Initial Mark" if is_mark else "Remark", ""
    if outer.startswith("GC remark"):
        return "cycle", "Remark", ""
    if outer.startswith("GC cleanup"):
        return "cycle", "Cleanup", ""
    cause = next((word for word in words if word not in _KINDS and not word.startswith(_NOTES)), "")
    cause = {"System": "System.gc()"}.get(cause, cause)
    if outer.startswith("Full GC") or any(_COMPACTED.search(group) for group in groups):
        return "full", "Full", cause
    if "mixed" in words:
        return "mixed", "Young (Mixed)", cause
    return "young", "Young (Initial Mark)" if "initial-mark" in words else "Young", cause


_KINDS: Final = ("young", "mixed", "partial", "initial-mark")
_NOTES: Final = ("to-space", "promotion failed", "concurrent mode", "parallel")


def _promoted(kind: PauseKind, groups: list[str], before: int | None, after: int | None) -> int | None:
    """Growth of the old generation: that of the heap without that of the young generation."""
    if kind != "young" or before is None or after is None:
        return None
    for group in groups:
        if any(name in group for name in _YOUNG) and (change := _CHANGE.search(group)) is not None:
            young_before, young_after = _bytes(change[1], change[2]), _bytes(change[5], change[6])
            if young_before is not None and young_after is not None:
                return max(0, (after - young_after) - (before - young_before))
    return None


def _failures(block: str) -> tuple[Failure, ...]:
    failures: list[Failure] = []
    if "promotion failed" in block or "--[PSYoungGen" in block or block.startswith("[GC--"):
        failures.append("promotion")
    if "to-space exhausted" in block or "to-space overflow" in block:
        failures.append("to-space")
    if "concurrent mode failure" in block:
        failures.append("concurrent-mode")
    return tuple(failures)


def stamps(line: str) -> Mapping[LogClock, int]:
    """Times at the start of a line by their clock."""
    match = _STAMPED.match(line)
    return {} if match is None else _times(match)

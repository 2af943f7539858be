"""Lines of GC logs as JDK 8 and before write them (-XX:+PrintGCDetails, -verbose:gc), of all collectors.

A collection is a text in square brackets that may go over several lines, with others within it; messages of
concurrent phases interrupt it anywhere. Its stamp is the time of its start. Sizes of G1 stand in the lines
after it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from loadcell.ingest.gc_decorators import DATE, DATE_PARTS, minute_ns
from loadcell.ingest.gc_gathering import Gathering
from loadcell.ingest.gc_legacy_collection import (
    SIZE,
    classified,
    failures_of,
    metaspace_bytes,
    promoted_bytes,
    size_bytes,
    sizes,
    unfolded,
)
from loadcell.ingest.gc_legacy_lines import (
    DISTINCT,
    DOUBLED,
    IGNORED,
    STAMP,
    STAMPED,
    doubled,
    single,
    times_of,
)
from loadcell.ingest.gc_unified import STOPPED, seconds_ns, stopped
from loadcell.ingest.printed_numbers import UnusableNumberError
from loadcell.model.gc_pauses import HeapChange, HeapDump, LogClock, Pause

_BEGIN: Final = re.compile(
    rf"{STAMP}(?P<text>\[(?:(?:Full )?GC(?! concurrent| Worker)(?=[ (\[:-]|\d|$)|Pause (?=[A-Z])"
    r"|Heap Dump \(|Concurrent [a-z][\w -]*(?: \([^)]*\))*\s*$))"
)
#: A new collection at the start of a line: the one before was cut.
_NEXT: Final = re.compile(
    rf"(?:{DATE}: ?(?=[\d\[])|\d{{1,12}}[.,]\d{{3}}: ).{{0,40}}?\[(?:Full )?GC(?! concurrent)[ (]"
)
_BRACKET: Final = re.compile(r"[\[\]]")
_HEAP: Final = re.compile(rf"Heap: {SIZE}\({SIZE}\)->{SIZE}\({SIZE}\)")
_SECONDS: Final = re.compile(r"(\d{1,9})[.,](\d{1,9}) (secs|ms)\s*$")
_DUMP_GROUP: Final = re.compile(r"Heap Dump \((?:before|after) full gc\)", re.I)
_PHASE: Final = re.compile(
    rf"{STAMP}\[(?:GC )?((?:CMS-)?[Cc]oncurrent[\w -]*?)(?:-start|-end)?"
    r"(?:: \d{1,9}[.,]\d{1,9}/(\d{1,9})[.,](\d{1,9}) secs|, (\d{1,9})[.,](\d{1,9}) (?:secs|ms))?\]"
)
_CONCURRENT: Final = re.compile(
    rf"{STAMP}\[Concurrent ([a-z][\w -]*?)(?: \([^)]*\))*(?: {SIZE}->{SIZE}\({SIZE}\))?"
    r"(?:, (\d{1,9})[.,](\d{1,9}) ms|, start)\]"
)
#: A collection within the pause that remarks, with -XX:+CMSScavengeBeforeRemark.
_OCCUPANCY: Final = "[YG occupancy"
#: An address range of the heap, whose brackets are not balanced.
_RANGE: Final = re.compile(r"\[0x[0-9a-f]+, ?0x[0-9a-f]+, ?0x[0-9a-f]+\)")
#: The statistics that Shenandoah prints at the end.
_STATISTICS: Final = "GC STATISTICS:"
_VM: Final = re.compile(r"((?:OpenJDK|Java HotSpot)[^,]*)")
_FLAGS: Final = re.compile(r"(?:CommandLine flags|jvm_args): (.*)")
#: A young collection of Serial, Parallel or ParNew in one line, the most frequent of all.
YOUNG_LINE: Final = re.compile(
    rf"(?:{DATE_PARTS}: ?)?(?:(\d{{1,12}})[.,](\d{{3}}): ?)?\[GC \(([^()]*(?:\(\))?)\) (?:{DATE}: )?"
    r"(?:\d+[.,]\d{3}: )?\[(PSYoungGen|ParNew|DefNew): (\d{1,18})K->(\d{1,18})K\(\d+K\)"
    r"(?:, \d+[.,]\d+ secs)?\] (\d{1,18})K->(\d{1,18})K\((\d{1,18})K\), (\d{1,9})[.,](\d{1,9}) secs\]"
    r"(?: \[Times:[^\]]*\])?\s*$"
)
_TRAILING: Final = re.compile(r"\s*(?:\[Times: [^\]]*\])?[\s,]*")
#: Lines of a collection; what is longer never ends.
_MOST_LINES: Final = 200
_COLLECTORS: Final = (
    ("ParNew", "Concurrent Mark Sweep"), ("CMS", "Concurrent Mark Sweep"), ("PSYoungGen", "Parallel"),
    ("DefNew", "Serial"), ("Tenured", "Serial"), ("GC pause", "G1"), ("GC remark", "G1"),
    ("GC cleanup", "G1"), ("Pause Init", "Shenandoah"), ("Pause Final", "Shenandoah"),
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
    _stamp: str = ""
    #: the line at which the collection begins
    _number: int = 0
    #: a pause of G1 whose sizes are still to come, and its line
    _waiting: tuple[Pause, str] | None = None
    _has_any: bool = False
    #: the stamp that the next line has lost to this one
    _spare: Mapping[LogClock, int] = field(default_factory=dict)
    #: pauses have a line for their start; the stamp of the other one is their end
    _has_starts: bool = False
    _is_statistics: bool = False

    def take(self, line: str) -> bool:
        """False for a line that is not understood."""
        self._spare, spare = {}, self._spare
        if line[0].isdigit() and (double := DOUBLED.match(line)) is not None:
            self._spare = doubled(double)
            line = single(double, line)
        if self._lines:
            if len(self._lines) < _MOST_LINES and (_NEXT.match(line) is None or self._is_before_remark()):
                return self._more(line)
            self._drop()
        return self._first(line, spare)

    def finish(self) -> None:
        """The end of the log."""
        self._drop()
        self._flush()

    def young(self, fields: Sequence[str], line: str, number: int) -> bool:
        """Take a young collection by the fields of its line; False of one that needs more than that."""
        (
            minute, second, millisecond, zone, uptime, milliseconds, cause, name, young_before, young_after,
            before, after, capacity, seconds, fraction,
        ) = fields  # fmt: skip
        gathering = self.gathering
        try:
            date_ns = (
                minute_ns(minute, zone) + int(second) * 1_000_000_000 + int(millisecond) * 1_000_000
                if minute
                else None
            )
        except ValueError:  # a damaged line
            return False
        if gathering.clock == "uptime" and uptime:
            start_ns = int(uptime) * 1_000_000_000 + int(milliseconds) * 1_000_000
        elif gathering.clock == "utc" and date_ns is not None:
            start_ns = gathering.onward(date_ns)
        else:
            return False
        is_after_others = start_ns >= gathering.latest_ns and gathering.first_ns is not None
        if not is_after_others or self._lines or self._waiting is not None or not self._has_any:
            return False
        gathering.latest_ns = gathering.last_ns = start_ns
        gathering.lines += 1
        if not gathering.collector:
            gathering.collector = dict(_COLLECTORS)[name]
        before_bytes, after_bytes = int(before) << 10, int(after) << 10
        duration_ns = int(seconds) * 1_000_000_000 + int(fraction) * 10 ** (9 - len(fraction))
        promoted = (after_bytes - before_bytes) + ((int(young_before) - int(young_after)) << 10)
        gathering.rows.append((
            start_ns + duration_ns, duration_ns, "young", "Young", cause, before_bytes, after_bytes,
            int(capacity) << 10, promoted if promoted > 0 else 0, number,
            None if date_ns is None else date_ns + duration_ns, None, (), line,
        ))  # fmt: skip
        return True

    def _latest(self) -> Mapping[LogClock, int]:
        """The time of a collection without a stamp, in a log whose other lines have one."""
        clock = self.gathering.clock
        return {} if clock is None else {clock: self.gathering.latest_ns}

    def _is_before_remark(self) -> bool:
        """True within a remark, up to its first part: a young collection may precede that."""
        text = self._lines[0]
        return _OCCUPANCY in text and not any("[Rescan" in line for line in self._lines)

    def _first(self, line: str, spare: Mapping[LogClock, int]) -> bool:
        begin = _BEGIN.search(line)
        if begin is None:
            return self._other(line)
        at = begin.start("text")
        before = line[: begin.start()].strip(" :\t")
        self._stamp = line[begin.start() : at]
        self._times = times_of(begin) or spare or self._latest()
        self._number = self.gathering.number
        self._lines, self._depth = [], 0
        understood = not before or self._other(before)
        return self._more(line[at:]) and understood

    def _more(self, text: str) -> bool:
        """The next part of a collection, up to its last bracket."""
        if "[0x" in text:
            text = _RANGE.sub("", text)
        for bracket in _BRACKET.finditer(text):
            self._depth += 1 if bracket[0] == "[" else -1
            if self._depth <= 0:
                block = "".join((*self._lines, text[: bracket.end()]))
                remainder = text[bracket.end() :]
                self._lines = []
                understood = self._block(block)
                trailing = _TRAILING.match(remainder)
                remainder = remainder[trailing.end() :] if trailing is not None else remainder
                return (not remainder.strip() or self._first(remainder, {})) and understood
        self._lines.append(text)
        return True

    def _drop(self) -> None:
        """Count a collection without end as not understood."""
        if self._lines:
            self.gathering.not_understood(self._lines[0], self._number)
        self._lines = []

    def _flush(self) -> None:
        if self._waiting is not None:
            pause, line = self._waiting
            self._waiting = None
            self.gathering.pause(pause, line)

    def _other(self, line: str) -> bool:
        if (heap := _HEAP.search(line)) is not None and self._waiting is not None:
            pause, text = self._waiting
            self.gathering.collector = self.gathering.collector or "G1"
            pairs = zip(heap.groups()[::2], heap.groups()[1::2], strict=True)
            numbers = [size_bytes(*pair) for pair in pairs]
            self._waiting = (
                replace(
                    pause,
                    before_bytes=numbers[0],
                    after_bytes=numbers[2],
                    capacity_bytes=numbers[3],
                    metaspace_bytes=metaspace_bytes(line),
                ),
                text,
            )
            self._flush()
            return True
        if (match := STOPPED.search(line)) is not None:
            stopped(self.gathering, match, "", line)
            return True
        if self._phases(line):
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
        stripped = line.lstrip()
        stamp = STAMPED.match(stripped)
        text = stripped[stamp.end() :] if stamp is not None and stamp.end() else line
        if text.startswith(_STATISTICS):
            self._is_statistics = True
        if DISTINCT.match(line) is not None or DISTINCT.match(text) is not None:
            return True
        is_of_log = self._has_any or self.was_header
        is_statistics = self._is_statistics and len(text) == len(line)
        return is_of_log and (is_statistics or IGNORED.match(text) is not None)

    def _phases(self, text: str) -> bool:
        """Take the concurrent phases of a text; False if it has none."""
        has_any = False
        for phase in _PHASE.finditer(text):
            has_any = True
            self.locate(times_of(phase))
            if (duration_ns := _duration(phase)) is not None:
                self.gathering.phase(phase[3].strip(), duration_ns)
        for phase in _CONCURRENT.finditer(text):
            has_any = True
            instant_ns = self.locate(times_of(phase))
            self._has_starts = self._has_starts or phase[10] is None
            duration_ns = _duration(phase) if phase[10] is not None else None
            if duration_ns is not None:
                self.gathering.phase(f"Concurrent {phase[3].strip()}", duration_ns)
            before, after = size_bytes(phase[4], phase[5]), size_bytes(phase[6], phase[7])
            if instant_ns is None or duration_ns is None or before is None or after is None:
                continue
            if phase[3].strip() == "cleanup":
                end_ns = instant_ns if self._has_starts else instant_ns + duration_ns
                self.gathering.change(
                    HeapChange(end_ns, before, after), self.gathering.number, text, is_total=True
                )
        self._has_any = self._has_any or has_any
        return has_any

    def _block(self, block: str) -> bool:
        """Take a collection by its complete text."""
        outer, groups = unfolded(block)
        line = self._stamp + " ".join(block.split())
        if outer.startswith("Concurrent "):
            return self._interrupted_phase(outer)
        if outer.endswith(", start"):
            self._has_starts = True
            return True
        try:
            self._dumps([outer, *groups], line)
            if _OCCUPANCY in block and (inner := _BEGIN.search(block, 1)) is not None:
                self._within(inner, block, line)
            pause = self._pause(block, outer, groups)
        except UnusableNumberError:
            return False
        if pause is None:
            return outer.startswith("Heap Dump")
        if "oncurrent-" in block:
            self._phases(block)
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

    def _interrupted_phase(self, text: str) -> bool:
        """Take a concurrent phase of Shenandoah that goes over several lines."""
        seconds = _SECONDS.search(text)
        if seconds is None or self.locate(self._times) is None:
            return False
        name = text.partition("\n")[0].partition("(")[0].strip()
        self.gathering.phase(name, _length_ns(seconds))
        self._has_any = True
        return True

    def _within(self, begin: re.Match[str], block: str, line: str) -> None:
        """Take the young collection within a remark, which ends first."""
        depth = 0
        at = begin.start("text")
        for bracket in _BRACKET.finditer(block, at):
            depth += 1 if bracket[0] == "[" else -1
            if not depth:
                text = block[at : bracket.end()]
                times, self._times = self._times, times_of(begin) or self._times
                pause = self._pause(text, *unfolded(text))
                self._times = times
                if pause is not None:
                    self._flush()
                    self.gathering.pause(pause, line)
                return

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
        duration_ns = _length_ns(seconds)
        if self._has_starts and outer.startswith("Pause "):
            start_ns -= duration_ns
        before, after, capacity = sizes(outer)
        kind, name, cause = classified(outer, groups)
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
            promoted_bytes(kind, groups, before, after),
            self._number,
            None if utc is None else utc + duration_ns,
            next((value for group in groups if (value := metaspace_bytes(group)) is not None), None),
            failures_of(block),
        )


def flags_of(text: str) -> tuple[str, ...] | None:
    """Flags of the JVM in a line that states them."""
    match = _FLAGS.match(text)
    return None if match is None else tuple(match[1].split())


def _length_ns(seconds: re.Match[str]) -> int:
    duration_ns = seconds_ns(seconds[1], seconds[2])
    return duration_ns // 1000 if seconds[3] == "ms" else duration_ns


def _duration(phase: re.Match[str]) -> int | None:
    """Duration of a concurrent phase: the last two groups with a value; seconds, or milliseconds."""
    values = [value for value in phase.groups()[3:] if value is not None]
    if len(values) < 2 or not values[-1].isdigit():
        return None
    duration_ns = seconds_ns(values[-2], values[-1])
    return duration_ns // 1000 if phase[0].endswith("ms]") else duration_ns

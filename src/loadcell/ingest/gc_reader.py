"""Lines of a GC log, one after the other, of any format; also several JVMs, and output of programs between.

Most lines of a log are needless, or of a young pause. These are recognised by their beginning, or by one
regular expression, without an object for each.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from loadcell.ingest import gc_legacy_lines
from loadcell.ingest.gc_decorators import DATE, instants, is_single_in_nanoseconds
from loadcell.ingest.gc_gathering import LONG_NS, MOST_ROWS, OVERTAKEN_NS, Gathering
from loadcell.ingest.gc_legacy import YOUNG_LINE as LEGACY_YOUNG_LINE
from loadcell.ingest.gc_legacy import Legacy, flags_of
from loadcell.ingest.gc_unified import BEGINNINGS, DETAILS, YOUNG_LINE, Unified, is_needless, seconds_ns
from loadcell.ingest.printed_numbers import UnusableNumberError, digits
from loadcell.model.gc_pauses import GcLog, HeapDump, LogClock

LINE: Final = re.compile(r"^((?:\[[^\]]*\])+) ?(.*)$")
DECORATOR: Final = re.compile(r"\[([^\]]*)\]")
#: A line of the log behind the beginning of another one, or of the output of the program.
_WITHIN: Final = re.compile(rf"\[(?:{DATE}|\d{{1,12}}[.,]\d{{3}}s|\d{{1,18}}[mn]s)\]")
_DUMPED: Final = re.compile(r"Heap dump file created \[(\d{1,18}) bytes in (\d{1,9})[.,](\d{1,9}) secs\]")
_DUMPING: Final = re.compile(r"Dumping heap to (\S+)")
#: Memory that the JVM could not allocate: of the metaspace, and of the heap of ZGC.
_UNAVAILABLE: Final = re.compile(r"Metaspace \((?:data|class)\) allocation failed|Out Of Memory \(")
_OUT_OF_MEMORY: Final = "java.lang.OutOfMemoryError"


class Reader:
    """Lines of a log, one after the other. With `splits` it begins again where another JVM starts."""

    def __init__(
        self,
        since_ns: Mapping[LogClock, int],
        clocks: tuple[LogClock, ...],
        *,
        splits: bool = False,
        long_ns: int | None = None,
    ) -> None:
        self._since_ns, self._clocks, self._splits, self._long_ns = since_ns, clocks, splits, long_ns
        self.ended: list[GcLog] = []
        self._number = 0
        self._decorators = ""
        self._read_times: tuple[str, Mapping[LogClock, int]] = ("", {})
        self._begin()

    def _begin(self) -> None:
        long_ns = LONG_NS if self._long_ns is None else self._long_ns
        self._gathering = Gathering(self._since_ns, selects=self._splits, long_ns=long_ns)
        self._unified = Unified(self._gathering)
        self._legacy = Legacy(self._gathering, self._place)
        self._is_doubtful = False

    def take(self, line: str) -> None:
        """The next line."""
        self._number += 1
        gathering = self._gathering
        gathering.number = self._number
        gathering.lines += 1
        if not line or line.isspace():
            return
        if not self._understands(line):
            self._gathering.not_understood(line)

    def end(self) -> GcLog:
        """The log, or that of its last JVM."""
        self._legacy.finish()
        gathering = self._gathering
        if self._decorators and (last_ns := self._instant(self._decorators)) is not None:
            last_ns = gathering.onward(last_ns)
            gathering.last_ns = max(gathering.latest_ns, last_ns) if self._splits else last_ns
        gathering.doubtful_ns = gathering.last_ns if self._is_doubtful else None
        return gathering.log()

    def take_all(self, lines: Iterable[str]) -> None:
        """All lines of a log of any length."""
        pattern = YOUNG_LINE
        is_young = False
        count = 0
        for number, line in enumerate(lines, self._number + 1):
            # in a log of pauses alone a young one follows another
            match = pattern.match(line) if is_young else None
            if match is None:
                at = line.find("] ")
                if not line.startswith("GC(", at + 2):
                    pattern = LEGACY_YOUNG_LINE
                    match = pattern.match(line)
                else:
                    begin = line.find(") ", at) + 2
                    head = line[begin : begin + 3]
                    if head == "Pau" and "->" in line:
                        pattern = YOUNG_LINE
                        match = pattern.match(line)
                    elif self._is_detail(line, at, head):
                        is_young = False
                        continue
            if match is not None:
                take = self._unified.young if pattern is YOUNG_LINE else self._legacy.young
                if take(match.groups(), line, number):
                    is_young = True
                    count += 1
                    if count == MOST_ROWS:
                        self._gathering.settle()
                        count = 0
                    continue
            is_young = False
            self._number = number - 1
            self.take(line)

    def _is_detail(self, line: str, at: int, head: str) -> bool:
        """Take a line of a collection that is a detail or needless, as most are."""
        gathering = self._gathering
        if gathering.clock is None or line[0] != "[":
            return False
        if head in DETAILS:
            if not self._unified.detail(line, at + 2, head):
                return False
        elif (head in BEGINNINGS or head[1:] == ": ") and not is_needless(line, at + 2):
            return False
        self._decorators = line[: at + 1]
        gathering.lines += 1
        return True

    def _understands(self, line: str) -> bool:
        if line[0] == "[" and not line.startswith(gc_legacy_lines.STARTS):
            end = line.find("] ") + 1
            if end and self._gathering.clock is not None and is_needless(line, end + 1):
                self._decorators = line[:end]
                return True
            match = LINE.match(line.rstrip("\r\n"))
            if match is not None and self._takes(match[1], match[2].strip(), line):
                return True
            if self._is_of_program(line):
                return True
            self._take_within(line)
            return False
        if self._is_of_program(line):
            return True
        self._note_stamp(line)
        if self._legacy.take(line):
            return True
        self._take_within(line)
        return False

    def _take_within(self, line: str) -> None:
        """Take a line that begins within another one, whose end is lost."""
        inner = _WITHIN.search(line, 1)
        match = None if inner is None else LINE.match(line[inner.start() :].rstrip("\r\n"))
        if match is not None:
            self._takes(match[1], match[2].strip(), line)

    def _takes(self, decorators: str, text: str, line: str) -> bool:
        if self._gathering.clock is None:  # also that of a log without a pause
            self._gathering.first_ns = self._instant(decorators)
        self._decorators = decorators
        if not text.startswith("GC(") and self._is_undated(decorators):
            return False
        if text.startswith(("Using ", "Initializing The ")) and self._gathering.collector:
            self._note_header(self._instant(decorators))
        elif "Pause " in text and "ms" in text and (instant_ns := self._instant(decorators)) is not None:
            self._note_instant(instant_ns)
        try:
            is_understood = self._unified.take(
                text, line, lambda: self._end_ns(decorators), lambda: self._utc_ns(decorators)
            )
        except UnusableNumberError:
            return False
        if _UNAVAILABLE.match(text):
            self._gathering.error(line)
        if text.startswith(("CommandLine flags", "jvm_args")) and (flags := flags_of(text)) is not None:
            self._gathering.flags = flags
        return is_understood

    def _is_of_program(self, line: str) -> bool:
        """True for what the JVM prints besides: heap dumps, and errors."""
        gathering = self._gathering
        if _OUT_OF_MEMORY in line:
            gathering.error(line)
        elif "eap" not in line:
            return False
        elif (made := _DUMPED.search(line)) is not None:
            duration_ns = seconds_ns(made[2], made[3])
            gathering.dump(HeapDump(self._number, None, duration_ns, digits(made[1])), line)
        elif (begun := _DUMPING.search(line)) is not None:
            gathering.dump(HeapDump(self._number, path=begun[1]), line)
        else:
            return False
        return True

    def _note_stamp(self, line: str) -> None:
        """The time at the start of a line of JDK 8."""
        if not line[0].isdigit():
            return
        instant_ns = self._of_clock(gc_legacy_lines.stamps(line))
        if instant_ns is None:
            return
        self._note_instant(instant_ns)
        gathering = self._gathering
        ordered_ns = gathering.onward(instant_ns)
        gathering.first_ns = ordered_ns if gathering.first_ns is None else gathering.first_ns
        gathering.last_ns = gathering.latest_ns = max(gathering.latest_ns, ordered_ns)

    def _note_instant(self, instant_ns: int) -> None:
        """An instant before the latest one: another JVM, which in a log of one is noted."""
        gathering = self._gathering
        if gathering.clock == "utc" or instant_ns >= gathering.latest_ns - OVERTAKEN_NS:
            return
        if self._splits:
            self._start_again(instant_ns)
        elif gathering.clock == "uptime":
            gathering.restart_line = gathering.restart_line or self._number

    def _note_header(self, instant_ns: int | None) -> None:
        """The first line of a JVM that is not the first one."""
        gathering = self._gathering
        is_same = instant_ns is not None and gathering.clock != "utc" and instant_ns >= gathering.latest_ns
        if self._splits and not is_same:
            self._start_again(instant_ns)

    def _start_again(self, instant_ns: int | None) -> None:
        """Begin the log of another JVM."""
        gathering = self._gathering
        decorators, self._decorators = self._decorators, ""
        legacy = self._legacy
        gathering.lines -= 1
        self.ended.append(self.end())
        self._begin()
        self._gathering.clock, self._gathering.number, self._gathering.lines = (
            gathering.clock,
            self._number,
            1,
        )
        self._gathering.first_ns = instant_ns
        self._gathering.vm, self._gathering.flags = legacy.next_vm, legacy.next_flags
        self._legacy.was_header = legacy.was_header
        self._decorators = decorators

    def _end_ns(self, decorators: str) -> int | None:
        gathering = self._gathering
        end_ns = self._instant(decorators)
        if end_ns is None:
            return None
        end_ns = gathering.onward(end_ns)
        gathering.latest_ns = max(gathering.latest_ns, end_ns)
        if self._splits:
            gathering.last_ns = gathering.latest_ns
        return end_ns

    def _place(self, times: Mapping[LogClock, int]) -> int | None:
        """The instant of a line of JDK 8."""
        instant_ns = self._of_clock(times)
        return None if instant_ns is None else self._gathering.onward(instant_ns)

    def _of_clock(self, times: Mapping[LogClock, int]) -> int | None:
        gathering = self._gathering
        if gathering.clock is None:
            gathering.clock = next((clock for clock in self._clocks if clock in times), None)
        return times.get(gathering.clock) if gathering.clock is not None else None

    def _instant(self, decorators: str) -> int | None:
        """Time of a line by the clock of the log; None if the line does not have it."""
        times = self._times(decorators)
        if self._gathering.clock is None:
            instant_ns = self._of_clock(times)
            is_single = is_single_in_nanoseconds(DECORATOR.findall(decorators))
            self._is_doubtful = self._gathering.clock == "monotonic" and is_single
            return instant_ns
        return times.get(self._gathering.clock)

    def _is_undated(self, decorators: str) -> bool:
        """True for brackets without the time that the lines of this log have: those of another program."""
        return self._gathering.clock is not None and self._instant(decorators) is None

    def _utc_ns(self, decorators: str) -> int | None:
        return None if self._gathering.clock == "utc" else self._times(decorators).get("utc")

    def _times(self, decorators: str) -> Mapping[LogClock, int]:
        """Times of the present line, read once."""
        if self._read_times[0] != decorators:
            self._read_times = decorators, instants(DECORATOR.findall(decorators))
        return self._read_times[1]

"""Lines of GC logs in the unified format (-Xlog:gc*) of JDK 9 and later, of all collectors.

A pause is one line, written at its end, with its duration. What belongs to it (growth of the old generation)
stands in lines before it, with the number of its collection, maybe in the file before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from loadcell.ingest.gc_decorators import DATE_PARTS, minute_ns
from loadcell.ingest.gc_gathering import OVERTAKEN_NS, Gathering
from loadcell.ingest.printed_numbers import digits
from loadcell.model.gc_pauses import Failure, HeapChange, HeapDump, Pause, PauseKind

UNITS: Final = {"B": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_SIZES: Final = r"(\d{1,18})([BKMG])(?:\(\d+%\))?->(\d{1,18})([BKMG])(?:\((?:(\d{1,18})([BKMG])|\d+%)\))?"
_PAUSE: Final = re.compile(
    rf"^GC\((\d+)\) (?:[yYO]: )?Pause (.+?)(?: {_SIZES})? (\d{{1,18}})[.,](\d{{1,18}})ms$"
)
#: The line of a young pause with common decorators, the most frequent of all.
YOUNG_LINE: Final = re.compile(
    rf"(?:\[{DATE_PARTS}\])?(?:\[(\d{{1,12}})[.,](\d{{3}})s\])?(?:\[[a-z0-9, ]+\])* GC\((\d+)\) "
    r"Pause (Young(?: \([^()]*(?:\(\))?\))*) (\d{1,18})([BKMG])->(\d{1,18})([BKMG])"
    r"\((\d{1,18})([BKMG])\) (\d{1,12})[.,](\d{3})ms$"
)
#: The line of a pause's end always has its duration after the heap.
_CUT_PAUSE: Final = re.compile(r"^GC\(\d+\) (?:[yYO]: )?Pause .*->")
#: A cycle of ZGC or Shenandoah: its heap is in no line of a pause.
_CYCLE: Final = re.compile(
    rf"^GC\((\d+)\) (?:(Garbage|Minor|Major) Collection \(.*\)"
    rf"|Concurrent cleanup(?: \((Young)\))?(?: \([^)]*\))*) {_SIZES}"
)
_CAUSE: Final = re.compile(r"^GC\((\d+)\) (?:Garbage|Minor|Major) Collection \((.*)\)$")
_OLD: Final = re.compile(
    r"GC\((\d+)\) (ParOldGen|Tenured|CMS|PSOldGen): (\d{1,18})K(?:\(\d+K\))?->(\d{1,18})K"
)
_OLD_REGIONS: Final = re.compile(r"GC\((\d+)\) Old regions: (\d{1,18})->(\d{1,18})")
_METASPACE: Final = re.compile(r"GC\((\d+)\) Metaspace: (?:\d+K(?:\(\d+K\))?->)(\d{1,18})K")
#: Of ZGC, by phase: the last column is the sum at the end of the cycle.
_TABLE: Final = re.compile(r"^GC\((\d+)\) (?:[yYO]: +)?(Allocated|Promoted): .*?(\d{1,18})M \(\d+%\)[ -]*$")
_PHASE: Final = re.compile(
    rf"^GC\(\d+\) (?:[yYO]: )?(Concurrent [A-Za-z][\w \-]*?)(?: \([^)]*\))*(?: {_SIZES})?"
    r" (\d{1,18})[.,](\d{1,18})ms$"
)
#: Generational Shenandoah states each object that it cannot promote, with its size; that is no failure.
_FAILURE: Final = re.compile(
    r"^GC\((\d+)\) (Promotion failed(?!,)|To-space exhausted|Concurrent mode failure)", re.I
)
#: Serial of JDK 17 and later writes this without the number of the collection, whose pause follows.
_PROMOTION_FAILED: Final = "Promotion failed"
_FAILURES: Final[dict[str, Failure]] = {
    "promotion failed": "promotion",
    "to-space exhausted": "to-space",
    "concurrent mode failure": "concurrent-mode",
}
_DUMP: Final = re.compile(
    r"^GC\(\d+\) Heap Dump \((?:before|after) full gc\) (\d{1,18})[.,](\d{1,18})ms$", re.I
)
_STALL: Final = re.compile(
    r"(?:GC\(\d+\) )?(?:Allocation|Relocation) Stall \(.*\) (\d{1,18})[.,](\d{1,18})ms$"
)
_SAFEPOINT: Final = re.compile(
    r'^Safepoint "([^"]*)", .*?Reaching safepoint: +(\d{1,18}) ns,.*? Total: +(\d{1,18}) ns'
)
STOPPED: Final = re.compile(
    r"Total time for which application threads were stopped: (\d{1,9})[.,](\d{1,9}) seconds"
    r"(?:, Stopping threads took: (\d{1,9})[.,](\d{1,9}) seconds)?"
)
_ENTERING: Final = re.compile(r"^Entering safepoint region: (.*)$")
_REGION: Final = re.compile(r"^Heap [Rr]egion [Ss]ize: (\d{1,18})([KMG])")
_COLLECTOR: Final = re.compile(r"^(?:Using|Initializing) (?:The )?(.*?)(?: Collector| Garbage Collector)?$")
#: Names of collectors in the line that states the one in use.
COLLECTORS: Final = re.compile(r"(?:G1|Parallel|Serial|Z|Shenandoah|Concurrent Mark Sweep|CMS|Epsilon)\b")
#: Collectors by their old generation, and by their pauses.
_OF_GENERATION: Final = {
    "ParOldGen": "Parallel", "PSOldGen": "Parallel", "Tenured": "Serial", "CMS": "Concurrent Mark Sweep",
}  # fmt: skip
_OF_PAUSE: Final = {
    "Mark Start": "Z", "Mark End": "Z", "Relocate Start": "Z", "Init Mark": "Shenandoah",
    "Final Mark": "Shenandoah", "Init Update Refs": "Shenandoah", "Final Update Refs": "Shenandoah",
    "Final Roots": "Shenandoah", "Degenerated GC": "Shenandoah",
}  # fmt: skip
_VERSION: Final = re.compile(r"^Version: (.*)$")
_BRACKETS: Final = re.compile(r" ?\(((?:[^()]|\(\))*)\)")
#: Kinds of a pause that stand in brackets; another text there is its cause.
_SUBKINDS: Final = frozenset({
    "Normal", "Mixed", "Prepare Mixed", "Concurrent Start", "Concurrent End", "Initial Mark", "Young", "Old",
    "Global", "Major", "Minor", "unload classes", "process weakrefs", "update refs", "Mark", "Evacuation",
    "Update Refs", "Outside of Cycle", "Roots", "Bootstrap Old",
})  # fmt: skip
_SIDE_NOTES: Final = ("Evacuation Failure", "To-space")
#: Evacuation fails for want of memory, and for objects that native code holds in place, which is harmless.
_NO_ROOM: Final = re.compile(
    r"\((?:Evacuation Failure(?::[^)]*Allocation[^)]*)?|To-space (?:Exhausted|Overflow))\)", re.I
)
#: First letters of lines that a pause needs, by the line's contents.
DETAILS: Final = frozenset({"Met", "Old", "Par", "Ten", "CMS", "PSO"})
#: First letters of all other lines of a collection that are needed; those of a generation have more before.
BEGINNINGS: Final = frozenset({
    "Gar", "Min", "Maj", "Con", "con", "All", "Pro", "pro", "To-", "to-", "Hea", "Pau", "Rel", "Hum",
    "Rec", "Dea", "Liv",
}) | DETAILS  # fmt: skip
_OF_A_GENERATION: Final = frozenset({"Pau", "Con", "All", "Pro"})
#: Collections that have not ended; a damaged log could have any number.
_MOST_OPEN: Final = 1_000


@dataclass(slots=True)
class _Open:
    """Facts of a collection that lines before its end state."""

    cause: str = ""
    promoted_bytes: int | None = None
    allocated_bytes: int = 0
    metaspace_bytes: int | None = None
    failures: tuple[Failure, ...] = ()


@dataclass
class Unified:
    """State between the lines of a JVM: of collections that have not ended."""

    gathering: Gathering
    operation: str = ""
    _has_failed: bool = False
    _open: dict[str, _Open] = field(default_factory=dict)

    def take(
        self, text: str, line: str, end_ns: Callable[[], int | None], utc_ns: Callable[[], int | None]
    ) -> bool:
        """False for a text that should be understood, and is not. The functions give the time of the line."""
        if text.startswith("GC("):
            return self._of_collection(text, line, end_ns, utc_ns)
        if text.startswith('Safepoint "'):
            if (match := _SAFEPOINT.match(text)) is None:
                return text.endswith(" ns")
            self.gathering.safepoint(match[1], digits(match[3]), digits(match[2]), line)
        elif (match := _REGION.match(text)) is not None:
            self.gathering.region_bytes = digits(match[1]) * UNITS[match[2]]
        elif text.startswith(("Using ", "Initializing The ")):
            named = _COLLECTOR.match(text)
            if not self.gathering.collector and named is not None and "workers" not in text:
                self.gathering.collector = named[1]
        elif text == _PROMOTION_FAILED:
            self._has_failed = True
        elif (match := _VERSION.match(text)) is not None:
            self.gathering.vm = match[1]
        elif (match := _STALL.match(text)) is not None:
            self.gathering.stall(_milliseconds(match[1], match[2]), line)
        elif (match := _ENTERING.match(text)) is not None:
            self.operation = match[1]
        elif (match := STOPPED.match(text)) is not None:
            stopped(self.gathering, match, self.operation, line)
            self.operation = ""
        return True

    def _of_collection(
        self, text: str, line: str, end_ns: Callable[[], int | None], utc_ns: Callable[[], int | None]
    ) -> bool:
        begin = text.find(") ") + 2
        head = text[begin : begin + 3]
        if head in DETAILS and self.detail(text, 0, head):
            return True
        if "Pause " in text:
            if (pause := _PAUSE.match(text)) is None:
                return not _CUT_PAUSE.match(text)
            return self._pause(pause, line, end_ns, utc_ns)
        if (cycle := _CYCLE.match(text)) is not None:
            self._cycle(cycle, line, end_ns)
        elif (match := _PHASE.match(text)) is not None:
            self.gathering.phase(match[1], _milliseconds(*match.groups()[-2:]))
        elif (match := _CAUSE.match(text)) is not None:
            self._of(match[1]).cause = match[2]
        elif (match := _TABLE.match(text)) is not None:
            self._row(match[1], match[2], digits(match[3]) * UNITS["M"])
        elif (match := _FAILURE.match(text)) is not None:
            collection, failure = self._of(match[1]), _FAILURES[match[2].lower()]
            if failure not in collection.failures:
                collection.failures += (failure,)
            self.gathering.note(self.gathering.number, line)
        elif (match := _DUMP.match(text)) is not None:
            duration_ns = _milliseconds(match[1], match[2])
            self.gathering.dump(HeapDump(self.gathering.number, end_ns(), duration_ns), line)
        elif (match := _STALL.match(text)) is not None:
            self.gathering.stall(_milliseconds(match[1], match[2]), line)
        elif "umongous region " in text:
            self.gathering.humongous.take(text)
        return True

    def detail(self, line: str, begin: int, head: str) -> bool:
        """Take a line of the old generation or of metaspace, whose collection begins at an index."""
        if head == "Met":
            if (match := _METASPACE.match(line, begin)) is not None:
                self._of(match[1]).metaspace_bytes = digits(match[2]) << 10
        elif head == "Old":
            if (match := _OLD_REGIONS.match(line, begin)) is None:
                return True
            self.gathering.collector = self.gathering.collector or "G1"
            if region_bytes := self.gathering.region_bytes:
                grown = (digits(match[3]) - digits(match[2])) * region_bytes
                self._of(match[1]).promoted_bytes = grown
        elif (match := _OLD.match(line, begin)) is not None:
            self._guess(_OF_GENERATION[match[2]])
            self._of(match[1]).promoted_bytes = (digits(match[4]) - digits(match[3])) << 10
        else:
            return False
        return True

    def _of(self, number: str) -> _Open:
        collection = self._open.get(number)
        if collection is None:
            if len(self._open) >= _MOST_OPEN:
                del self._open[next(iter(self._open))]
            collection = self._open[number] = _Open()
        return collection

    def _with_promotion(self, failures: tuple[Failure, ...]) -> tuple[Failure, ...]:
        self._has_failed = False
        return failures if "promotion" in failures else (*failures, "promotion")

    def _guess(self, collector: str) -> None:
        """Name the collector by its words where no line states it."""
        self.gathering.collector = self.gathering.collector or collector

    def _guess_by_pause(self, name: str, cause: str) -> None:
        if not self.gathering.collector:
            is_g1 = name.startswith("Young (") or cause.startswith("G1 ")
            self.gathering.collector = "G1" if is_g1 else _OF_PAUSE.get(name.partition(" (")[0], "")

    def _row(self, number: str, name: str, value_bytes: int) -> None:
        """A row of ZGC. A major cycle has a table of each generation; that of the old one lasts longer."""
        collection = self._of(number)
        if name == "Allocated":
            collection.allocated_bytes = max(collection.allocated_bytes, value_bytes)
        else:
            collection.promoted_bytes = max(collection.promoted_bytes or 0, value_bytes)

    def _cycle(self, match: re.Match[str], line: str, end_ns: Callable[[], int | None]) -> None:
        number, kind, young, *sizes = match.groups()
        before, after, _ = _bytes(sizes)
        self._guess("Shenandoah" if kind is None else "Z")
        instant = end_ns()
        collection = self._open.pop(number, _Open())
        if instant is None or before is None or after is None:
            return
        change = HeapChange(instant, before, after, collection.allocated_bytes, collection.promoted_bytes)
        is_total = kind != "Minor" and young is None
        self.gathering.change(change, self.gathering.number, line, is_total=is_total)

    def young(self, fields: Sequence[str], line: str, number: int) -> bool:
        """Take a young pause by the fields of its line; False of one that needs more than that."""
        (
            minute, second, millisecond, zone, seconds, milliseconds, collection, words, before, before_unit,
            after, after_unit, capacity, unit, full_ms, micros,
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
        if gathering.clock == "uptime" and seconds:
            end_ns = int(seconds) * 1_000_000_000 + int(milliseconds) * 1_000_000
        elif gathering.clock == "utc" and date_ns is not None:
            end_ns, date_ns = gathering.onward(date_ns), None
        else:
            return False
        latest_ns = gathering.latest_ns
        if end_ns >= latest_ns:
            gathering.latest_ns = latest_ns = end_ns
        elif end_ns < latest_ns - OVERTAKEN_NS:  # another JVM
            return False
        gathering.last_ns = latest_ns
        gathering.lines += 1
        name, cause, kind = _name(words)
        if not gathering.collector:
            self._guess_by_pause(name, cause)
        promoted = metaspace = None
        failures: tuple[Failure, ...] = ()
        if (facts := self._open.pop(collection, None)) is not None:
            promoted, metaspace, failures = facts.promoted_bytes, facts.metaspace_bytes, facts.failures
            cause = cause or facts.cause
            promoted = promoted if promoted is None or promoted > 0 else 0
        if "Fail" in words or "To-" in words:
            failures = _with_no_room(words, failures)
        if self._has_failed:
            failures = self._with_promotion(failures)
        gathering.rows.append((
            end_ns, int(full_ms) * 1_000_000 + int(micros) * 1_000, kind, name, cause,
            int(before) * UNITS[before_unit], int(after) * UNITS[after_unit], int(capacity) * UNITS[unit],
            promoted, number, date_ns, metaspace, failures, line,
        ))  # fmt: skip
        return True

    def _pause(
        self,
        match: re.Match[str],
        line: str,
        end_ns: Callable[[], int | None],
        utc_ns: Callable[[], int | None],
    ) -> bool:
        instant = end_ns()
        if instant is None:
            return False
        number, words, *sizes, milliseconds, fraction = match.groups()
        before, after, capacity = _bytes(sizes)
        name, cause, kind = _name(words)
        collection = self._open.get(number, _Open())
        failures = _with_no_room(words, collection.failures)
        if self._has_failed and kind == "young":
            failures = self._with_promotion(failures)
        promoted = collection.promoted_bytes if before is not None else None
        pause = Pause(
            instant,
            _milliseconds(milliseconds, fraction),
            kind,
            name,
            cause or collection.cause,
            before,
            after,
            capacity,
            None if promoted is None or kind not in ("young", "mixed") else max(0, promoted),
            self.gathering.number,
            utc_ns(),
            collection.metaspace_bytes,
            failures,
        )
        self._guess_by_pause(name, cause)
        collection.failures = ()
        if kind in ("young", "mixed"):
            self._open.pop(number, None)
        elif before is not None:
            collection.promoted_bytes = None
        self.gathering.pause(pause, line)
        return True


def _with_no_room(words: str, failures: tuple[Failure, ...]) -> tuple[Failure, ...]:
    if _NO_ROOM.search(words) is not None and "to-space" not in failures:
        return (*failures, "to-space")
    return failures


def is_needless(line: str, begin: int) -> bool:
    """True for a line of a collection that no event needs: phases, regions, processor time. Most are such."""
    if not line.startswith("GC(", begin):
        return False
    at = line.find(") ", begin) + 2
    if at < 2:
        return False
    head = line[at : at + 3]
    if head == "Pau":  # the line of its start
        return "ms" not in line[at:] and "->" not in line[at:]
    if head[1:] == ": " and head[0] in "yYO":
        return line[at + 3 : at + 20].lstrip()[:3] not in _OF_A_GENERATION
    if head == "Con":  # the line of its start
        return not any(word in line[at:] for word in ("ms", "->", "ailure"))
    return head not in BEGINNINGS


def stopped(gathering: Gathering, match: re.Match[str], operation: str, line: str) -> None:
    """A safepoint in the words of JDK 12 and before."""
    seconds, fraction, reaching_s, reaching_fraction = match.groups()
    reaching_ns = 0 if reaching_s is None else seconds_ns(reaching_s, reaching_fraction)
    gathering.safepoint(operation, seconds_ns(seconds, fraction), reaching_ns, line)


def seconds_ns(seconds: str, fraction: str) -> int:
    """Seconds with a decimal fraction in nanoseconds."""
    return int(seconds) * 10**9 + int(fraction.ljust(9, "0")[:9])


def _milliseconds(seconds: str, fraction: str) -> int:
    return int(seconds) * 1_000_000 + int(fraction.ljust(6, "0")[:6])


def _bytes(sizes: list[str | None]) -> tuple[int | None, int | None, int | None]:
    """Heap in use before and after, and its size."""
    before, after, capacity = (
        None if number is None else int(number) * UNITS[unit or "B"]
        for number, unit in zip(sizes[::2], sizes[1::2], strict=True)
    )
    return before, after, capacity


@lru_cache(maxsize=256)
def _name(words: str) -> tuple[str, str, PauseKind]:
    """`Young (Normal) (G1 Evacuation Pause)` as name, cause and kind."""
    cause = ""
    name = _BRACKETS.sub("", words)
    for text in _BRACKETS.findall(words):
        if text in _SUBKINDS or text.split(" ")[0].isdigit():
            name += f" ({text})"
        elif not text.startswith(_SIDE_NOTES):
            cause = cause or text
    return name, cause, _kind(name)


def _kind(name: str) -> PauseKind:
    if name.startswith("Young"):
        return "mixed" if "(Mixed)" in name else "young"
    if name.startswith("Full"):
        return "full"
    return "degenerated" if name.startswith("Degenerated") else "cycle"

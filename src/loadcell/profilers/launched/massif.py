"""Runs a process under valgrind's massif, and reads the heap over time and its largest allocation stacks.

massif counts what malloc, new and their like hand out, as asked for; the allocator's own overhead apart.
Memory that a program maps itself (mmap) is not in the heap. Snapshots carry trees from the allocating
function outwards; subtrees below a threshold are put together (valgrind manual, 9.2).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from loadcell.model.message import ForeignText, MessageCode
from loadcell.model.metrics import declare
from loadcell.model.profile_record import HeapRecord, HeapStack
from loadcell.profilers.launcher import NO_ACCOUNT, HeapSample, ProfilerAccount, SystemCode, UnreadableError

HEAP_CUT = MessageCode("massif.cut", error=ForeignText)
HEAP_EMPTY = MessageCode("massif.empty")
HEAP_PEAK = MessageCode("metric-meaning.heap-peak", "info")

declare("heap.peak", "size", HEAP_PEAK(), "lower", per_group=False)

#: Subtrees of a snapshot with a smaller share of the heap (in %) are put together.
THRESHOLD_PERCENT = 0.2
MOST_STACKS = 20
_DEEPEST = 12
#: Python's own frames lie between the start of the client's process and a system in it.
_DEPTH = 60
_NODE = re.compile(r"^(?P<indent> *)n(?P<below>\d+): (?P<bytes>\d+) (?:0x[0-9A-Fa-f]+: )?(?P<what>.*)$")
_FRAME = re.compile(r"^(?P<name>.*) \((?:in (?P<file>[^()]*)|(?P<place>[^()]*:\d+))\)$")
_BELOW_THRESHOLD = re.compile(r"^in \d+ places?, (?:all )?below massif's threshold")


@dataclass
class _Snapshot:
    t_s: float = 0.0
    heap: int = 0
    overhead: int = 0
    is_peak: bool = False
    stacks: list[tuple[int, tuple[str, ...], bool]] = field(default_factory=list)

    @property
    def rank(self) -> tuple[bool, bool, int]:
        """Order in which a snapshot is preferred as the peak; a program without a heap has none marked."""
        return self.is_peak, bool(self.stacks), self.heap

    @property
    def system_bytes(self) -> int:
        """Bytes of stacks that pass through the system's code."""
        return sum(size for size, _, passes in self.stacks if passes)


class Massif:
    """valgrind with its heap profiler."""

    name = "massif"
    program = "valgrind"
    package = "valgrind"

    def command(
        self, program: str, words: Sequence[str], account: Path, code: SystemCode | None
    ) -> list[str]:
        """Every snapshot has a tree where the system's part is to be found in it."""
        return [
            program, "--quiet", "--tool=massif", "--time-unit=ms", f"--threshold={THRESHOLD_PERCENT}",
            f"--depth={_DEPTH}", f"--detailed-freq={10 if code is None else 1}",
            f"--massif-out-file={str(account).replace('%', '%%')}", *words,
        ]  # fmt: skip

    def read(self, account: Path, code: SystemCode | None) -> ProfilerAccount:
        """The heap over time, and the stacks of its peak."""
        return read(account, code)


LAUNCHER = Massif()


def read(account: Path, code: SystemCode | None = None) -> ProfilerAccount:
    """Findings of an account; with `code`, the part of stacks that pass through it. Raises UnreadableError.

    Stacks below the threshold whose kept frames do not show the system count as the client's.
    """
    samples: list[HeapSample] = []
    peak: _Snapshot | None = None
    try:
        with account.open(encoding="utf-8", errors="replace") as lines:
            for snapshot in _snapshots(lines, code):
                size = snapshot.heap if code is None else snapshot.system_bytes
                if code is None:
                    samples.append(HeapSample(snapshot.t_s, size, snapshot.overhead))
                    better = peak is None or snapshot.rank > peak.rank
                else:
                    samples.append(HeapSample(snapshot.t_s, size, None, snapshot.heap - size))
                    better = peak is None or size > peak.system_bytes
                if better:
                    peak = snapshot
    except OSError as error:
        raise UnreadableError(NO_ACCOUNT(error=error.strerror)) from None
    except ValueError as error:
        raise UnreadableError(HEAP_CUT(error=error)) from None
    if peak is None:
        raise UnreadableError(HEAP_EMPTY())
    sums: Counter[tuple[str, ...]] = Counter()
    for size, stack, passes in peak.stacks:
        if passes and stack and size:
            sums[stack[:_DEEPEST]] += size
    stacks = sorted(sums.items(), key=lambda item: (-item[1], item[0]))
    record = HeapRecord(
        "valgrind massif",
        max(sample.heap_bytes for sample in samples),
        peak.t_s,
        peak.overhead if code is None else None,
        None if code is None else peak.heap - peak.system_bytes,
        tuple(HeapStack(size, stack) for stack, size in stacks[:MOST_STACKS]),
        len(stacks),
    )
    return ProfilerAccount(heap=record, samples=tuple(samples))


def _snapshots(lines: Iterator[str], code: SystemCode | None) -> Iterator[_Snapshot]:
    """Complete snapshots, in order of time. Raises ValueError."""
    snapshot: _Snapshot | None = None
    path: list[tuple[str, bool]] = []
    for line in lines:
        key, equals, value = line.strip().partition("=")
        if key == "snapshot" and equals:
            if snapshot is not None:
                yield snapshot
            snapshot, path = _Snapshot(), []
        elif snapshot is None:
            continue
        elif key == "time":
            snapshot.t_s = int(value) / 1000
        elif key == "mem_heap_B":
            snapshot.heap = int(value)
        elif key == "mem_heap_extra_B":
            snapshot.overhead = int(value)
        elif key == "heap_tree":
            snapshot.is_peak = value == "peak"
        elif (node := _NODE.match(line.rstrip("\n"))) is not None:
            depth = len(node["indent"])
            if depth > len(path) + 1:
                raise ValueError(line.strip()[:80])
            if depth == 0:  # the allocation functions themselves
                path = []
                continue
            del path[depth - 1 :]
            if _BELOW_THRESHOLD.match(node["what"]) is None:
                path.append(_frame(node["what"], code))
            if node["below"] == "0":
                passes = code is None or any(of_system for _, of_system in path)
                snapshot.stacks.append((int(node["bytes"]), tuple(name for name, _ in path), passes))
    if snapshot is not None:
        yield snapshot


def _frame(text: str, code: SystemCode | None) -> tuple[str, bool]:
    """A frame's name, and whether it is of the system."""
    match = _FRAME.match(text)
    if match is None:
        return text, code is not None and code.has(text)
    name, file = match["name"], match["file"] or ""
    of_system = code is not None and code.has(name, file)
    if match["place"]:
        return f"{name} ({match['place']})", of_system
    return (f"[{Path(file).name}]" if name == "???" else name), of_system

"""Analysis of sampled stacks: functions and processes of the samples, and the tree that a flame graph draws.

A sample is a look at one CPU at one moment. A function's *self* share is that of samples in which it was
running; its *total* share that of samples in which it, or something it had called, was. With n samples, a
share p has a standard error of sqrt(p (1 - p) / n).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from loadcell.analysis.finding import Concern, Finding, FindingCode, Subject
from loadcell.model.message import Bytes, Count, Message
from loadcell.model.profile_record import ProfileRecord
from loadcell.model.trial_record import TrialRecord

if TYPE_CHECKING:
    from loadcell.analysis.trials import Trial

#: of the normal distribution, for 95%
_Z = 1.96
#: Nodes of a drawn tree narrower than this share are left out: half a pixel of a wide page.
LEAST_SHARE = 0.0005
#: What has fewer samples is not distinguishable from what has none: a thing that was not seen once may still
#: be so common that three were to be expected (the rule of three; Hanley and Lippman-Hand 1983, 95%).
LEAST_RESOLVED = 4
#: Functions that are ranked only for what they had called: what lies below them is in the picture.
MOST_CALLERS = 10
KERNEL = "_[k]"
JUST_IN_TIME = "_[j]"
#: Innermost frame of a profile of allocations or locks; other tools for flame graphs remove it as well.
CLASS = "_[i]"


@dataclass
class Node:
    """A function called by those above it; `samples` are those in which it was on the stack, here."""

    name: str
    samples: int = 0
    below: dict[str, Node] = field(default_factory=dict)


@dataclass(frozen=True)
class Function:
    """A function over all stacks; `self_samples` samples fell on itself, `total` on it or what it
    had called.
    """

    name: str
    kind: str
    self_samples: int
    total: int


@dataclass(frozen=True)
class Others:
    """Several functions combined: `self_samples` samples fell on one of them, `total` on one of them or its
    callees.
    """

    count: int
    self_samples: int
    total: int


@dataclass(frozen=True)
class Profile:
    """A profile that was taken, or why it was not (`why`, with its `remedy`).

    `throughput_per_s` is what the load achieved meanwhile, `scored_per_s` the median of the treatment's
    scored trials.
    `kind` is empty if it is unknown. `folded` is the file with the stacks, its lines in `stacks`.
    """

    trial: str
    kind: str
    treatment: str
    status: str
    why: Message | None
    remedy: Message | None
    account: ProfileRecord | None
    measured_s: float | None
    throughput_per_s: float | None
    scored_per_s: float | None
    stacks: Sequence[tuple[tuple[str, ...], int]]

    @property
    def samples(self) -> int:
        """Number of samples there are."""
        return sum(count for _, count in self.stacks)

    @property
    def cost(self) -> float | None:
        """By how much the throughput changed while it was taken; None where one of the two is not known."""
        if not self.scored_per_s or self.throughput_per_s is None:
            return None
        return self.throughput_per_s / self.scored_per_s - 1


def kind(name: str) -> str:
    """`kernel`, `jit` (Java, or compiled at run time), `class`, `unresolved` (a program or library
    whose symbols are missing), `user`.
    """
    if name.endswith(KERNEL):
        return "kernel"
    if name.endswith(JUST_IN_TIME):
        return "jit"
    if name.endswith(CLASS):
        return "class"
    return "unresolved" if name.startswith("[") and name.endswith("]") else "user"


def plain(name: str) -> str:
    """A function's name without the mark of its kind."""
    return name.removesuffix(KERNEL).removesuffix(JUST_IN_TIME).removesuffix(CLASS)


def read(folded: str) -> list[tuple[tuple[str, ...], int]]:
    """The stacks of a file of folded ones, outermost frame first; lines that are none are left out."""
    stacks_read = []
    for line in folded.splitlines():
        stack, _, count = line.rpartition(" ")
        if stack and count.isdecimal() and int(count) > 0:
            stacks_read.append((tuple(stack.split(";")), int(count)))
    return stacks_read


def functions(stacks: Iterable[tuple[tuple[str, ...], int]]) -> list[Function]:
    """Every function, those with most samples of their own first.

    The outermost frames are processes, and left out.

    A function that calls itself is counted once a sample.
    """
    self_samples, total = _counts(stacks)
    ordered = sorted(total, key=lambda name: (-self_samples[name], -total[name], name))
    return [Function(plain(name), kind(name), self_samples[name], total[name]) for name in ordered]


def ranked(stacks: Sequence[tuple[tuple[str, ...], int]], most: int) -> tuple[list[Function], Others | None]:
    """The `most` functions that were often running, then some that had called others; and all that are left
    together.
    """
    self_samples, total = _counts(stacks)
    running = [name for name in total if self_samples[name] >= LEAST_RESOLVED]
    calling = [name for name in total if total[name] >= LEAST_RESOLVED > self_samples[name]]
    running.sort(key=lambda name: (-self_samples[name], -total[name], name))
    calling.sort(key=lambda name: (-total[name], -self_samples[name], name))
    shown = dict.fromkeys([*running[:most], *calling[:MOST_CALLERS]])
    others = total.keys() - shown.keys()
    functions_ranked = [Function(plain(name), kind(name), self_samples[name], total[name]) for name in shown]
    if not others:
        return functions_ranked, None
    met = sum(count for stack, count in stacks if not others.isdisjoint(stack[1:]))
    return functions_ranked, Others(len(others), sum(self_samples[name] for name in others), met)


def _counts(stacks: Iterable[tuple[tuple[str, ...], int]]) -> tuple[Counter[str], Counter[str]]:
    """Samples of each function's own, and all in which it was on the stack."""
    counts: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for stack, count in stacks:
        if len(stack) > 1:
            counts[stack[-1]] += count
        for name in set(stack[1:]):
            total[name] += count
    return counts, total


def processes(stacks: Iterable[tuple[tuple[str, ...], int]]) -> list[tuple[str, int]]:
    """Samples of each process, or of all that go by one name; most first."""
    by_process: Counter[str] = Counter()
    for stack, count in stacks:
        by_process[stack[0]] += count
    return sorted(by_process.items(), key=lambda item: (-item[1], item[0]))


def waits(stacks: Iterable[tuple[tuple[str, ...], int]]) -> list[tuple[str, int]]:
    """Microseconds off the CPU by the innermost named function outside the kernel; longest first.

    The frames below it are the kernel's, and equal for many reasons to wait.
    """
    times: Counter[str] = Counter()
    for stack, time_us in stacks:
        name = next((name for name in reversed(stack[1:]) if kind(name) == "user"), None)
        if name is not None:
            times[name] += time_us
    return sorted(times.items(), key=lambda item: (-item[1], item[0]))


def tree(stacks: Iterable[tuple[tuple[str, ...], int]]) -> Node:
    """All stacks as one tree, without the nodes that are too narrow to be seen."""
    root = Node("")
    for stack, count in stacks:
        root.samples += count
        node = root
        for name in stack:
            node = node.below.setdefault(name, Node(name))
            node.samples += count
    _prune(root, root.samples * LEAST_SHARE)
    return root


def _prune(root: Node, least: float) -> None:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        node.below = {name: child for name, child in node.below.items() if child.samples >= least}
        waiting.extend(node.below.values())


def uncertainty(share: float, samples: int) -> float:
    """Half the width of a 95% interval of a share that `samples` gave."""
    return _Z * math.sqrt(share * (1 - share) / samples)


LOST = FindingCode(
    "found.lost", Subject.MEMORY, "caution", (Concern.ANSWER, 190), definite_bytes=Bytes,
    indirect_bytes=Bytes, possible_bytes=Bytes,
)  # fmt: skip
LOST_NOTHING = FindingCode("found.lost.nothing", Subject.MEMORY, "good", (Concern.ANSWER, 190), count=Count)
LOST_POSSIBLY = FindingCode(
    "found.lost.possibly", Subject.MEMORY, "info", (Concern.COST, 45), possible_bytes=Bytes
)
HEAP_PEAK = FindingCode(
    "found.heap.peak", Subject.MEMORY, "info", (Concern.ANSWER, 191), trial=str, peak_bytes=Bytes,
)  # fmt: skip


@dataclass(frozen=True)
class Lost:
    """Bytes by memcheck's kinds: nothing points to them, only what is itself lost does, or something points
    into them.
    """

    definite: int
    indirect: int
    possible: int


def lost_memory(record: TrialRecord) -> Lost | None:
    """Memory that the server of one trial lost; None where it was not examined."""
    if record.memory is None:
        return None
    return Lost(**{kind: record.memory.lost[kind].bytes for kind in ("definite", "indirect", "possible")})


def leak_findings(trials: Sequence[Trial]) -> Iterator[Finding]:
    """The largest heap; the most that a trial's server lost, or that none lost anything; and what *possibly*
    means.
    """
    heaps = [(trial.heap_peak_bytes, trial.name) for trial in trials if trial.heap_peak_bytes is not None]
    if heaps:
        peak, of_trial = max(heaps)
        yield HEAP_PEAK.finding((of_trial,), trial=of_trial, peak_bytes=peak)
    looked = [(trial.name, trial.lost) for trial in trials if trial.lost is not None]
    if not looked:
        return
    name, most = max(looked, key=lambda pair: (pair[1].definite, pair[1].indirect, pair[1].possible))
    if not (most.definite or most.indirect or most.possible):
        yield LOST_NOTHING.finding(count=len(looked))
        return
    # The limit is the plan's: `expect` has its verdict.
    yield LOST.finding(
        (name,), definite_bytes=most.definite, indirect_bytes=most.indirect, possible_bytes=most.possible
    )
    possible = max(lost.possible for _, lost in looked)
    if possible:
        yield LOST_POSSIBLY.finding(possible_bytes=possible)

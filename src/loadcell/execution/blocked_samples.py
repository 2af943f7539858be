"""Samples of blocked threads: those in uninterruptible sleep, and those of them that flush."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from loadcell.linux.procfs import SmallFiles
from loadcell.linux.thread_states import thread_state, waits_for_thread
from loadcell.model.resources import BlockedThreads

#: Threads of one look; of more, a random choice of this size stands for all.
_MOST_THREADS = 30

#: Threads by id, each with the id of its process.
Threads = Mapping[int, int]


@dataclass
class BlockedSamples:
    """Looks at the threads of one side. One of a random choice stands for several."""

    looks: int = 0
    by_thread: dict[int, float] = field(default_factory=dict)
    #: looks at which a thread ran or was ready to, and at which it slept otherwise
    running: dict[int, float] = field(default_factory=dict)
    asleep: dict[int, float] = field(default_factory=dict)
    #: threads that flush, by look, and threads that then wait for another one
    flushing: list[tuple[int, ...]] = field(default_factory=list)
    behind: list[tuple[int, ...]] = field(default_factory=list)
    #: threads that were there, and that were read, of all looks
    threads: int = 0
    read: int = 0
    coverage: float = 0.0
    tells_calls: bool = True
    #: status and call of each thread of a look
    files: SmallFiles = field(default_factory=lambda: SmallFiles(2 * _MOST_THREADS))

    def look(self, root: Path, threads: Threads) -> None:
        """Look at all threads, or at a random choice of them."""
        chosen: Collection[int] = threads
        if len(threads) > _MOST_THREADS:
            chosen = random.sample(list(threads), _MOST_THREADS)
        self.looks += 1
        weight = len(threads) / len(chosen)
        self.coverage += 1 / weight
        self.threads += len(threads)
        self.read += len(chosen)
        flushing, asleep = [], []
        for tid in chosen:
            state = thread_state(root, threads[tid], tid, self.files.read)
            if state is None:
                continue
            if not state.blocked:
                counts = self.running if state.state == "R" else self.asleep
                counts[tid] = counts.get(tid, 0.0) + weight
                if state.state == "S":
                    asleep.append(tid)
                continue
            self.by_thread[tid] = self.by_thread.get(tid, 0.0) + weight
            self.tells_calls = self.tells_calls and state.flushing is not None
            if state.flushing:
                flushing.append(tid)
        self.flushing.append(tuple(flushing))
        if not flushing:
            asleep = []
        behind = (tid for tid in asleep if waits_for_thread(root, threads[tid], tid, self.files.read))
        self.behind.append(tuple(behind))

    def use(self, working: Collection[int], running: float | None = None) -> BlockedThreads | None:
        """None without looks.

        `running` is the mean number of working threads that ran or were ready to, by CPU time and run delay.
        Looks find too many of them: the timer of a look wakes an idle core, which then handles other expired
        timers, such as the end of a wait for storage. Looks therefore divide only the remaining time into
        blocked and other sleep (post-stratification: Cochran, "Sampling Techniques", 3rd edition, 5A.9).
        """
        if not self.looks:
            return None
        blocked, ran, slept = (
            sum(count for tid, count in counts.items() if tid in working) / self.looks
            for counts in (self.by_thread, self.running, self.asleep)
        )
        ratio, telling = 1.0, 1.0
        if running is not None and blocked:
            ratio = max(0.0, blocked + ran + slept - running) / (blocked + slept)
            telling = (blocked + slept) / (blocked + ran + slept)
        return BlockedThreads(
            self.looks,
            sum(self.by_thread.values()) / self.looks,
            ratio * blocked,
            min(1.0, ratio * self._flushing_share(working)) if self.tells_calls else None,
            telling * self.coverage / self.looks,
            ratio * self._flush_waiting_mean(working) if self.tells_calls else None,
        )

    def _flush_waiting_mean(self, working: Collection[int]) -> float:
        """Mean number of working threads that flush, or wait for another one while a working one does.

        The second is the share of the time with a flush times the mean number at looks that found one: a
        look that reads a choice of the threads may miss the flush, and with it those that wait.
        """
        seen = [
            (count, sum(tid in working for tid in behind))
            for flushing, behind in zip(self.flushing, self.behind, strict=True)
            if (count := sum(tid in working for tid in flushing))
        ]
        if not seen:
            return 0.0
        weight = self.threads / self.read
        flushing = sum(count for count, _ in seen) / self.looks
        waiting = sum(count for _, count in seen) / len(seen)
        return weight * (flushing + self._flushing_share(working) * waiting)

    def _flushing_share(self, working: Collection[int]) -> float:
        """Share of the looks at which a working thread flushed.

        Where looks read a choice of the threads, it is estimated as the larger of two values. That of n
        independent threads, each of which flushes with probability p, is 1 - (1 - p)^n: too low for threads
        that flush one at a time. Bonferroni's lower bound for any threads is the mean number of those that
        flush, less that of pairs (Galambos, "Bonferroni Inequalities", Annals of Probability 5, 1977).
        """
        counts = [sum(tid in working for tid in look) for look in self.flushing]
        if self.read == self.threads:
            return sum(map(bool, counts)) / self.looks
        weight = self.threads / self.read
        independent = float(1 - (1 - sum(counts) / self.read) ** (self.threads / self.looks))
        pairs = sum(count * (count - 1) / 2 for count in counts) * weight**2
        return max(independent, min(1.0, (sum(counts) * weight - pairs) / self.looks))

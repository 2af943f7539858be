"""Off-CPU time by call stack: how long threads waited, and in which calls.

perf records each switch of the target's threads (PERF_RECORD_SWITCH) and, of the event `context-switches`,
the call stack with which a thread leaves the CPU. Neither needs the tracepoint sched:sched_switch, which only
root can open. Off-CPU time is that from a switch out to the next switch in (Gregg, Systems Performance, 2nd
ed., 5.4.2). A thread that was off the CPU at an end of the measurement is counted inside it only; one that
never came back waited to its end. A thread that exits has no last switch out.

Where only every n-th stack is recorded, a thread's waits are timed all the same, and its total is divided in
the proportion of the recorded waits.
"""

from __future__ import annotations

import io
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from loadcell.model.message import MessageCode
from loadcell.plan.profile import OffCpuProfile
from loadcell.profilers.perf import MOST_DATA_BYTES, Perf, PerfSampler, ProfilerError, SampledStacks

OFF_CPU_NOT_ALLOWED = MessageCode("off-cpu.not-allowed", paranoid=str)

#: Innermost frame of a thread that could have run: it waited for a CPU.
PREEMPTED = "waiting for a CPU_[k]"
#: Frame of waits without a recorded stack.
NO_STACK = "[no stack recorded]"
_PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
#: From this level on, perf leaves the kernel out, and with it the moment at which a thread is switched.
_KERNEL_EXCLUDED = 2
_FIELDS = "comm,pid,tid,time,event,ip,sym,dso"
_HEAD = re.compile(
    r"^\s*(?P<comm>\S.*?)\s+(?P<pid>-?\d+)/(?P<tid>-?\d+)\s+(?P<s>\d+)\.(?P<ns>\d{9}):\s+(?P<event>\S.*?)\s*$"
)
_FRAME = re.compile(r"^\s+[0-9a-f]+ (?P<symbol>.*) \((?P<file>\S.*)\)$")


@dataclass
class _Thread:
    """State of a thread; `stack` is that of its present wait, where it was recorded, and `leaving` that of a
    sample whose switch out is yet to come.
    """

    name: str = ""
    stack: tuple[str, ...] | None = None
    leaving: tuple[str, ...] | None = None
    out_ns: int | None = None
    preempted: bool = False
    waited_ns: int = 0
    by_stack: Counter[tuple[str, ...]] = field(default_factory=Counter)

    def forget(self) -> None:
        """Drop the present wait: its end, or its beginning, is not known."""
        self.out_ns = self.stack = self.leaving = None


@dataclass(frozen=True)
class OffCpu:
    """Folded stacks with microseconds; `waits` within the window, `recorded` of them with a stack.

    `ended_ns` is the last instant of the recording; `lost` events were not recorded.
    """

    folded: str
    waits: int
    recorded: int
    ended_ns: int
    lost: int


def fold(lines: Iterable[str], from_ns: int, to_ns: int, *, is_cut: bool = False) -> OffCpu:
    """Read the output of `perf script --ns --show-switch-events` within a window of monotonic time.

    Waits without an end last to the end of the window; of a recording that `is_cut`, to its last event.
    """
    threads: dict[int, _Thread] = defaultdict(_Thread)
    counts: Counter[str] = Counter()
    sampled: _Thread | None = None
    frames: list[str] = []
    ended_ns = from_ns

    def end_wait(thread: _Thread, now_ns: int) -> None:
        """Count the thread's present wait up to now."""
        if thread.out_ns is None:
            return
        waited_ns = min(now_ns, to_ns) - max(thread.out_ns, from_ns)
        if waited_ns > 0:
            thread.waited_ns += waited_ns
            counts["waits"] += 1
            if thread.stack is not None:
                counts["recorded"] += 1
                thread.by_stack[(*thread.stack, PREEMPTED) if thread.preempted else thread.stack] += waited_ns
        thread.out_ns = thread.stack = None

    for line in lines:
        if sampled is not None and (frame := _FRAME.match(line)) is not None:
            frames.append(_name(frame["symbol"], frame["file"]))
            continue
        head = _HEAD.match(line)
        if head is None:
            continue
        if sampled is not None:
            sampled.leaving, sampled, frames = tuple(reversed(frames)), None, []
        thread = threads[int(head["tid"])]
        thread.name = f"{head['comm'].replace(';', ':')}-{head['pid']}"
        now_ns = int(head["s"]) * 10**9 + int(head["ns"])
        ended_ns = max(ended_ns, now_ns)
        event = head["event"]
        if event.startswith("PERF_RECORD_LOST"):
            counts["lost"] += 1
            for other in threads.values():  # what it did since is unknown
                other.forget()
        elif event.startswith("PERF_RECORD_SWITCH"):
            _, way, *how = event.split()
            if way == "OUT":  # of one that is off the CPU, the switch between both is missing
                thread.out_ns, thread.preempted = now_ns, "preempt" in how
                thread.stack, thread.leaving = thread.leaving, None
            else:
                end_wait(thread, now_ns)
        elif "context-switches" in event:
            sampled, frames = thread, []
    for thread in threads.values():
        end_wait(thread, ended_ns if is_cut else to_ns)
    return OffCpu(_folded(threads.values()), counts["waits"], counts["recorded"], ended_ns, counts["lost"])


def _folded(threads: Iterable[_Thread]) -> str:
    """Lines of stacks; a thread's whole time is divided in the proportion of its recorded waits."""
    times: Counter[str] = Counter()
    for thread in threads:
        recorded_ns = sum(thread.by_stack.values())
        shares = thread.by_stack or Counter({(NO_STACK,): thread.waited_ns})
        for stack, waited_ns in shares.items():
            share = waited_ns / (recorded_ns or thread.waited_ns or 1)
            times[";".join((thread.name, *stack))] += round(share * thread.waited_ns / 1000)
    return "".join(f"{stack} {time_us}\n" for stack, time_us in sorted(times.items()) if time_us)


@lru_cache(maxsize=1 << 16)
def _name(symbol: str, file: str) -> str:
    """A frame as the flame graph marks it: `_[k]` of the kernel, the file's name without a symbol."""
    if symbol == "[unknown]":
        return f"[{Path(file).name.strip('[]') or 'unknown'}]"
    bare = symbol.partition("+0x")[0].partition("@")[0].replace(";", ":")
    return f"{bare}_[k]" if file.startswith("[") or file.endswith(".ko") else bare


class OffCpuSampler(PerfSampler[OffCpuProfile]):
    """Times the waits of the threads of a trial's target."""

    kind = "off-cpu"
    nothing_sampled = "profile: no thread of the target waited while the load measured"

    def _events(self) -> Sequence[str]:
        return (
            *("--event", "context-switches", "--count", str(self.options.every)),
            *("--switch-events", "--max-size", f"{MOST_DATA_BYTES >> 20}M"),
        )

    def _stacks(self, perf: Perf, log: Callable[[str], None]) -> SampledStacks:
        # Folded while perf prints it: as text a recording is several times as long, too much for a disk.
        options = ["--ns", "--show-switch-events", "--show-lost-events", "-F", _FIELDS]
        with (
            perf.output_of(options) as output,
            io.TextIOWrapper(output, "utf-8", "replace") as lines,
        ):
            off_cpu = fold(lines, *self._window, is_cut=perf.ended_early)
        short_s = (self._window[1] - off_cpu.ended_ns) / 1e9
        if off_cpu.waits and perf.ended_early and short_s > 0:
            reason = (
                f"its size limit of {MOST_DATA_BYTES >> 30} GiB was reached"
                if perf.is_full
                else "perf ended, as all processes of the target had exited or by an error"
            )
            log(f"profile: the recording ended {short_s:.1f} s before the measurement: {reason}")
        if off_cpu.lost:
            log(f"profile: events were lost {off_cpu.lost:,} times; waits across them are left out")
        if off_cpu.waits and not off_cpu.recorded:
            _require_kernel()
        caption = f"{off_cpu.waits:,} waits, {off_cpu.recorded:,} with their stacks; microseconds off CPU"
        return SampledStacks(
            off_cpu.folded, "context-switches", off_cpu.recorded, caption, waits=off_cpu.waits
        )


def _require_kernel() -> None:
    """Raise ProfilerError if stacks are missing because the kernel may not be sampled."""
    try:
        paranoid = int(_PARANOID.read_text())
    except (OSError, ValueError):
        return
    if os.geteuid() != 0 and paranoid >= _KERNEL_EXCLUDED:
        raise ProfilerError(OFF_CPU_NOT_ALLOWED(paranoid=str(paranoid)))


#: Kind of profile, and what takes it.
SAMPLERS = (("off-cpu", OffCpuSampler),)

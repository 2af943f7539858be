"""Collapsed stacks of async-profiler as folded stacks of loadcell: threads that do the same under one name,
and frames marked by their kind.

With `ann`, async-profiler marks frames: `_[j]` compiled, `_[i]` inlined, `_[0]` interpreted, `_[1]` compiled
by C1, `_[k]` of the kernel. The thread is the outermost frame, `[name tid=42]`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Final, TypeAlias

from loadcell.analysis.flames import CLASS, JUST_IN_TIME, KERNEL

#: Values by stack, from the outermost frame.
Stacks: TypeAlias = Counter[tuple[str, ...]]

_THREAD: Final = re.compile(r"^\[(?P<name>.*?)(?: tid=\d+)?\]$")
#: of threads that all do the same: `pool-1-thread-3`, `G1 Conc#0`
_NUMBERED: Final = re.compile(r"[-_#. ]*\d+$")
_MARK: Final = re.compile(r"_\[[0-9a-z]\]$")
#: Address of a hidden class, which differs between two starts: `Service$$Lambda$14.0x00007f973c000a08.run`
_ADDRESS: Final = re.compile(r"[./+]0x[0-9a-f]{8,}(?=[./]|$)")


def read(collapsed: str, *, ends_in_class: bool) -> Stacks:
    """Stacks with their values; `ends_in_class`: the innermost frame is a class, not a function."""
    stacks: Stacks = Counter()
    for line in collapsed.splitlines():
        stack, _, value = line.rpartition(" ")
        if stack and value.isdecimal():
            thread, *frames = stack.split(";")
            match = _THREAD.match(thread)
            if match is None:  # a stack without its thread
                thread, frames = "[unknown]", [thread, *frames]
            else:
                thread = _NUMBERED.sub("", match["name"]) or match["name"]
            named = [_frame(frame) for frame in frames]
            if ends_in_class and named:
                named[-1] = _MARK.sub("", named[-1]) + CLASS
            stacks[(thread, *named)] += int(value)
    return stacks


def _frame(frame: str) -> str:
    """A frame with the mark of its kind; of Java, however it is run, there is one."""
    name = _ADDRESS.sub("", frame)
    mark = _MARK.search(name)
    if mark is None or mark[0] == KERNEL:
        return name
    return _MARK.sub("", name) + JUST_IN_TIME


def folded(stacks: Iterable[Stacks], scale: int) -> list[str]:
    """Lines of folded stacks, sorted, with values in units of `scale`; less than a unit is one."""
    sums: Stacks = Counter()
    for values in stacks:
        sums.update(values)
    return [
        f"{';'.join(stack)} {max(1, round(value / scale))}" for stack, value in sorted(sums.items()) if value
    ]

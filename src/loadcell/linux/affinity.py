"""Puts this process on given processors and takes its memory from given nodes; whatever it starts inherits
both.

Nothing but the standard library, as bare interpreters run this: processors and policies are written as the
kernel writes them (`0-3,8`; `bind:0`, `interleave:0-1`), empty where they are to stay.
"""

from __future__ import annotations

import ctypes
import os
import platform

#: Numbers of set_mempolicy(2) and get_mempolicy(2): Linux' tables of system calls. Later architectures share
#: one.
_COMMON = (237, 236)
_CALLS = {
    "x86_64": (238, 239),
    "aarch64": _COMMON,
    "riscv64": _COMMON,
    "loongarch64": _COMMON,
    "ppc64le": (261, 260),
    "s390x": (270, 269),
}
#: linux/mempolicy.h: by number
_MODES = ("default", "prefer", "bind", "interleave", "local")
#: Bits of a set of nodes: more than any kernel is built for (CONFIG_NODES_SHIFT is 10 at the most).
_MOST_NODES = 1024
_WORD = 8 * ctypes.sizeof(ctypes.c_ulong)
_Nodes = ctypes.c_ulong * (_MOST_NODES // _WORD)


def pin(cpus: str, memory: str) -> None:
    """Do it. Raises OSError whose `strerror` says what the kernel refused."""
    if cpus:
        try:
            os.sched_setaffinity(0, _numbers(cpus))
        except OSError as error:
            raise OSError(error.errno, f"the kernel refuses CPUs {cpus}: {error.strerror}") from None
    if memory:
        mode, _, nodes = memory.partition(":")
        mask = _Nodes()
        for node in _numbers(nodes):
            mask[node // _WORD] |= 1 << node % _WORD
        # The kernel looks at one bit fewer than it is told of.
        failed = _call(0, ctypes.c_int(_MODES.index(mode)), mask, ctypes.c_ulong(_MOST_NODES + 1))
        if failed:
            raise OSError(
                failed,
                f"the kernel refuses the memory policy {memory}: {os.strerror(failed)}"
                + (" (a container needs the capability SYS_NICE for it)" if failed == 1 else ""),
            )


def pinned() -> tuple[str, str]:
    """Where this process runs, read back in the same notation; an empty policy where the kernel does not
    tell.
    """
    mode, mask = ctypes.c_int(), _Nodes()
    failed = _call(1, ctypes.byref(mode), mask, ctypes.c_ulong(_MOST_NODES + 1), None, ctypes.c_ulong(0))
    cpus = _ranges(sorted(os.sched_getaffinity(0)))
    if failed or not 0 <= mode.value < len(_MODES):
        return cpus, ""
    nodes = [node for node in range(_MOST_NODES) if mask[node // _WORD] >> node % _WORD & 1]
    return cpus, _MODES[mode.value] + (f":{_ranges(nodes)}" if nodes else "")


def _call(which: int, *arguments: object) -> int:
    """One of the two system calls: 0, or the error's number."""
    numbers = _CALLS.get(platform.machine())
    if numbers is None:
        return 38  # ENOSYS: nobody has looked the number up
    libc = ctypes.CDLL(None, use_errno=True)
    return ctypes.get_errno() if libc.syscall(ctypes.c_long(numbers[which]), *arguments) else 0


def _numbers(listed: str) -> list[int]:
    numbers: list[int] = []
    for part in listed.split(","):
        first, _, last = part.partition("-")
        numbers.extend(range(int(first), int(last or first) + 1))
    return numbers


def _ranges(numbers: list[int]) -> str:
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in parts)

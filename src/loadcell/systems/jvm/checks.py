"""Checks of a plan's options of a JVM before a run: flags that it refuses, and sizes of its memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import psutil

from loadcell.linux.cgroups import folders, memory_limit
from loadcell.linux.procfs import ROOT
from loadcell.model.jvm_caches import off_heap_bytes
from loadcell.model.jvm_pointers import compressed_pointers
from loadcell.model.message import Bytes, ForeignText, MessageCode
from loadcell.plan.parts import Advice, Misfit
from loadcell.systems.jvm import java
from loadcell.systems.jvm.arguments import COLLECTORS, flag_argument, flag_arguments, properties
from loadcell.systems.jvm.java import Java
from loadcell.systems.jvm.options import JvmOptions
from loadcell.systems.jvm.services import services

JVM_NO_COLLECTOR = MessageCode("jvm.no-collector", collector=str, java=str, version=str, output=ForeignText)
JVM_NO_FLAG = MessageCode("jvm.no-flag", flag=str, version=str, output=ForeignText)
JVM_NO_FLAG_NEAR = MessageCode("jvm.no-flag-near", flag=str, nearest=str, version=str, output=ForeignText)
JVM_FLAGS_REFUSED = MessageCode("jvm.flags-refused", version=str, output=ForeignText)
JVM_UNCOMPRESSED = MessageCode(
    "jvm.uncompressed", "caution", heap_bytes=Bytes, limit_bytes=Bytes, largest_bytes=Bytes
)
JVM_HEAP_TOO_LARGE = MessageCode("jvm.heap-too-large", "caution", heap_bytes=Bytes, memory_bytes=Bytes)
JVM_HEAPS_TOO_LARGE = MessageCode(
    "jvm.heaps-too-large", "caution", jvms=int, heap_bytes=Bytes, total_bytes=Bytes, memory_bytes=Bytes,
    property=str,
)  # fmt: skip
JVM_MEMORY_TOO_LARGE = MessageCode("jvm.memory-too-large", "caution", wanted_bytes=Bytes, memory_bytes=Bytes)

#: Names of flags by which a JVM writes files, records, runs commands or waits, even for `-version`.
_WITH_EFFECTS: Final = re.compile(
    r"File|Path|Archive|Record|Dump|AtExit|Checkpoint|^(?:AOT|Log|On[EO]|PauseAt|Flags$)"
)


def refused_flags(options: JvmOptions, jdk: Java) -> Iterator[Misfit]:
    """The collector and the flags that this JVM refuses, by its own message. Raises TargetError."""
    output = java.refused(jdk, flag_arguments(options, _flags_with_effects(options, jdk)))
    if output is None:
        return
    if options.collector is not None and COLLECTORS[options.collector] in output:
        yield Misfit(
            "collector",
            JVM_NO_COLLECTOR(
                collector=options.collector, java=jdk.program, version=jdk.version, output=output
            ),
        )
        return
    refused = False
    flags = java.all_flags(jdk)
    for name, value in options.flags.items():
        if name in flags and flag_argument(name, value).removeprefix("-XX:").lstrip("+-") not in output:
            continue
        refused = True
        near = None if name in flags else java.nearest_flag(jdk, name)
        code = JVM_NO_FLAG if near is None else JVM_NO_FLAG_NEAR
        yield Misfit(f"flags.{name}", code.pick(flag=name, nearest=near, version=jdk.version, output=output))
    if not refused:
        yield Misfit("flags", JVM_FLAGS_REFUSED(version=jdk.version, output=output))


def _flags_with_effects(options: JvmOptions, jdk: Java) -> frozenset[str]:
    """Flags that the check leaves out: a file that they name would be replaced. An unknown flag has no
    effect. Raises TargetError.
    """
    names = {
        name for name, value in options.flags.items()
        if _WITH_EFFECTS.search(name) or (isinstance(value, str) and "/" in value)
    }  # fmt: skip
    return frozenset(names and names & java.all_flags(jdk).keys())


def memory_advice(options: JvmOptions) -> Iterator[Advice]:
    """Remarks on a heap without compressed object pointers, and on more memory than there is: heap, direct
    memory, and the caches of Berkeley DB outside the heap, of all JVMs that a service starts.
    """
    if options.heap is None:
        return
    heap = int(options.heap)
    pointers = compressed_pointers(options.collector, options.flags)
    if pointers is not None and heap >= pointers.limit_bytes:
        message = JVM_UNCOMPRESSED(
            heap_bytes=heap, limit_bytes=pointers.limit_bytes, largest_bytes=pointers.largest_bytes
        )
        yield Advice("target.jvm.heap", message, subject="compressed")
    memory = _memory_bytes()
    direct, off_heap = int(options.direct or 0), off_heap_bytes(options.properties, heap) or 0
    service = None if options.service is None else services()[options.service]
    jvms = 1 if service is None else service.processes(properties(options))
    wanted = jvms * (heap + direct + off_heap)
    if heap <= memory < jvms * heap and service is not None:
        message = JVM_HEAPS_TOO_LARGE(
            jvms=jvms, heap_bytes=heap, total_bytes=jvms * heap, memory_bytes=memory,
            property=service.processes_property,
        )  # fmt: skip
        yield Advice("target.jvm.heap", message, subject="memory")
    elif heap > memory:
        yield Advice(
            "target.jvm.heap", JVM_HEAP_TOO_LARGE(heap_bytes=heap, memory_bytes=memory), subject="memory"
        )
    elif wanted > memory:
        path = "target.jvm.direct" if direct else "target.jvm.properties"
        yield Advice(path, JVM_MEMORY_TOO_LARGE(wanted_bytes=wanted, memory_bytes=memory))


def _memory_bytes() -> int:
    """Memory that a process of this user can have: that of the machine, or the limit of its cgroup."""
    total = int(psutil.virtual_memory().total)
    return min(total, memory_limit(folders(ROOT)) or total)

"""Threads of a JVM by their names in Java: the kernel keeps 15 characters of a name."""

from __future__ import annotations

from loadcell.store.frames import Frame, Text


def with_java_names(threads: Frame, names: Frame) -> Frame:
    """Samples of threads (`pid`, `tid`, `name`), with the names that JVMs gave for them (`java_name`).

    A thread that ended before the JVM was asked retains its name in the kernel.
    """
    if not (threads.has("trial", "pid", "tid", "name") and names.has("trial", "pid", "tid", "java_name")):
        return threads
    java = {
        (trial, pid, tid): name for trial, pid, tid, name in names.rows("trial", "pid", "tid", "java_name")
    }
    rows = threads.rows("trial", "pid", "tid", "name")
    return threads.adding(
        {"name": Text.of([java.get((trial, pid, tid), name) for trial, pid, tid, name in rows])}
    )

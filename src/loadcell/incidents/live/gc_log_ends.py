"""Collections of running JVMs by the end of the GC log that each writes.

Logs may lie on a mount that does not answer, so they are read by another process than the counters.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from loadcell.incidents import gc_logs
from loadcell.incidents.evidence.base import Missing
from loadcell.incidents.evidence.collections import Collections
from loadcell.incidents.live.base import Gatherer, Host
from loadcell.incidents.live.jvms import jvms
from loadcell.ingest import base as ingest
from loadcell.linux import gc_log_files, process_files, procfs
from loadcell.linux.gc_log_files import LogEnd
from loadcell.model.message import ForeignText, Message, MessageCode

NO_LOG = MessageCode("doctor.live.no-gc-log", "info", pids=list)
UNREADABLE = MessageCode("doctor.live.gc-log-unreadable", "info", path=str, pid=str, reason=ForeignText)


class GcLogGatherer(Gatherer):
    name = "gc-logs"
    gathers = (Collections,)
    is_optional = True
    limit_s = 5.0

    def gather(self, host: Host) -> Iterable[Collections | Missing]:
        without: list[str] = []
        for process in jvms(host):
            location = gc_log_files.located(process.pid, host.root)
            if location is None:
                without.append(str(process.pid))
                continue
            try:
                yield _read(*location, process.pid, host)
            except OSError as error:
                yield unreadable(location[0], process.pid, error.strerror or str(error))
            except ingest.ImportProblemError as error:
                yield unreadable(location[0], process.pid, error.message)
        if without:
            yield Missing(Collections, NO_LOG(pids=without))


def _read(name: str, path: Path, pid: int, host: Host) -> Collections:
    """The last JVM of the end of a log. Raises OSError, ImportProblemError."""
    flags = tuple(word for word in procfs.command_line(pid, host.root) if word.startswith("-X"))
    folder = process_files.directory(pid, Path(name).parent, host.root)
    try:
        log = process_files.opened(folder, path.name, process_files.owner_of(pid, host.root))
    finally:
        os.close(folder)
    return replace(
        collections_of(name, gc_log_files.end_of(log), flags, host), source=f"{name} ({pid})", pid=pid
    )


def collections_of(name: str, end: LogEnd, flags: tuple[str, ...], host: Host) -> Collections:
    """The last JVM of the end of a log, whose options are `flags`. Raises OSError, ImportProblemError."""
    with tempfile.NamedTemporaryFile(prefix="gc-", suffix=".log") as copy:
        copy.write(end.text)
        copy.flush()
        jvm = gc_logs.read([(Path(copy.name), name)], host.timeout_ns).jvms[-1]
    log = jvm.log
    # the begin of the log, and the process, tell what its end does not
    around = log.around if log.around.flags else replace(log.around, flags=flags)
    # the copy lies beside dumps of other programs
    return replace(
        jvm,
        source=name,
        dump_files=(),
        log=replace(log, collector=log.collector or end.collector, around=around),
    )


def unreadable(name: str, pid: int, reason: str | Message) -> Missing:
    """A log that could not be read."""
    return Missing(Collections, UNREADABLE(path=name, pid=str(pid), reason=reason))


PART = GcLogGatherer

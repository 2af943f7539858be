"""JVMs that have ended: their GC logs, crash reports and heap dumps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from loadcell.incidents.evidence.base import Missing
from loadcell.incidents.evidence.collections import (
    ERROR_FLAG,
    Collections,
    DumpFile,
    dumps_often,
)
from loadcell.incidents.evidence.jvms import EndedJvm
from loadcell.incidents.live import gc_log_ends
from loadcell.incidents.live.base import Gatherer, Host
from loadcell.ingest import base as ingest
from loadcell.linux import gc_log_files, java_traces
from loadcell.linux.java_traces import JavaTraces
from loadcell.plan.secret_patterns import without_secrets


class EndedJvmGatherer(Gatherer):
    """For an event of a watch alone: a host has no list of ended processes."""

    name = "ended-jvms"
    gathers = (EndedJvm,)
    is_optional = True
    limit_s = 5.0

    def gather(self, host: Host) -> Iterable[EndedJvm | Collections | Missing]:
        for jvm in host.ended:
            sharing = _sharing(jvm, host)
            dumps = tuple(
                DumpFile(name, status.st_size, status.st_mtime_ns, _writers(sharing, status.st_mtime))
                for name, status in jvm.dumps()
            )
            text, collections = "", None
            try:
                if (log := jvm.log()) is not None:
                    end = gc_log_files.end_of(log)
                    text = end.text.decode("utf-8", "replace")
                    collections = gc_log_ends.collections_of(jvm.log_name, end, jvm.flags, host)
            except OSError as error:
                yield gc_log_ends.unreadable(jvm.log_name, jvm.pid, error.strerror or str(error))
            except ingest.ImportProblemError as error:
                yield gc_log_ends.unreadable(jvm.log_name, jvm.pid, error.message)
            crashes = tuple(
                (name, without_secrets(report.decode("utf-8", "replace"))) for name, report in jvm.crashes()
            )
            yield EndedJvm(
                str(jvm.pid), jvm.pid, without_secrets(" ".join(jvm.command)), jvm.log_name,
                without_secrets(text), crashes, dumps,
            )  # fmt: skip
            if collections is not None:
                certain = tuple(dump for dump in dumps if not dump.others)
                is_of_error = ERROR_FLAG in jvm.flags and not dumps_often(jvm.flags)
                yield replace(
                    collections, source=f"{jvm.log_name} ({jvm.pid})", dump_files=certain,
                    error_dumps=certain if is_of_error else (),
                )  # fmt: skip


def _sharing(jvm: JavaTraces, host: Host) -> list[JavaTraces]:
    """Other JVMs, running or ended, whose heap dumps have the same path as those of one that has ended."""
    if not jvm.dump_name or jvm.mounts is None:
        return []
    ended = [other for other in host.ended if jvm.shares_dumps(other)]
    return [*ended, *java_traces.sharing_dumps(jvm, host.root)]


def _writers(jvms: Iterable[JavaTraces], written_s: float) -> tuple[int, ...]:
    """Those that ran when a dump was written: a JVM that was started again later is none of them."""
    return tuple(sorted({jvm.pid for jvm in jvms if jvm.ran_at(written_s)}))

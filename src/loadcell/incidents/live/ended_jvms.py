"""JVMs that have ended: their GC logs, crash reports and heap dumps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from loadcell.incidents.evidence.base import Missing
from loadcell.incidents.evidence.collections import ERROR_FLAG, Collections, DumpFile
from loadcell.incidents.evidence.jvms import EndedJvm
from loadcell.incidents.live import gc_log_ends
from loadcell.incidents.live.base import Gatherer, Host
from loadcell.ingest import base as ingest
from loadcell.linux import gc_log_files, java_traces, procfs
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
            others = _others(jvm, host)
            dumps = tuple(
                DumpFile(name, status.st_size, status.st_mtime_ns, others) for name, status in jvm.dumps()
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
                certain = () if others else dumps
                is_of_error = ERROR_FLAG in jvm.flags
                yield replace(
                    collections, source=f"{jvm.log_name} ({jvm.pid})", dump_files=certain,
                    error_dumps=certain if is_of_error else (),
                )  # fmt: skip


def _others(jvm: JavaTraces, host: Host) -> tuple[int, ...]:
    """Other JVMs, running or ended, whose heap dumps have the same path as those of one that has ended."""
    if not jvm.dump_name:
        return ()
    ended = [other.pid for other in host.ended if other.pid != jvm.pid and other.dump_name == jvm.dump_name]
    running = [
        stat.pid
        for stat in procfs.all_stats(host.root)
        if stat.pid != jvm.pid and stat.state != "D" and not stat.has_ended
        and java_traces.dump_name(stat.pid, host.root) == jvm.dump_name
    ]  # fmt: skip
    return tuple(sorted({*ended, *running}))

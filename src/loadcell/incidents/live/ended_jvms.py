"""JVMs that have ended: their GC logs, crash reports and heap dumps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from loadcell.incidents.evidence.base import Missing
from loadcell.incidents.evidence.collections import Collections, DumpFile
from loadcell.incidents.evidence.jvms import EndedJvm
from loadcell.incidents.live import gc_log_ends
from loadcell.incidents.live.base import Gatherer, Host
from loadcell.ingest import base as ingest
from loadcell.linux import gc_log_files
from loadcell.plan.secret_patterns import without_secrets


class EndedJvmGatherer(Gatherer):
    """For an event of a watch alone: a host has no list of ended processes."""

    name = "ended-jvms"
    gathers = (EndedJvm,)
    is_optional = True
    limit_s = 5.0

    def gather(self, host: Host) -> Iterable[EndedJvm | Collections | Missing]:
        for jvm in host.ended:
            dumps = tuple(
                DumpFile(name, status.st_size, status.st_mtime_ns) for name, status in jvm.dumps()
            )  # fmt: skip
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
                yield replace(collections, source=f"{jvm.log_name} ({jvm.pid})", dump_files=dumps)

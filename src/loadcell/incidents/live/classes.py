"""Two class histograms of a JVM, some seconds apart. Each collects its whole heap."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Final

from loadcell.incidents.evidence.base import Missing
from loadcell.incidents.evidence.jvms import ClassGrowth, ClassHistograms
from loadcell.incidents.live.base import Gatherer, Host
from loadcell.incidents.live.jvms import ENDED, name_of
from loadcell.linux import procfs
from loadcell.linux.java_attach import AttachError, run
from loadcell.model.message import Message, MessageCode
from loadcell.model.profile_record import ClassCount
from loadcell.profilers import class_histogram

NO_PID = MessageCode("doctor.live.no-pid", "info")
NO_HISTOGRAM = MessageCode("doctor.live.no-histogram", "info", pid=str, reason=Message)

_LIMIT_S: Final = 2.5
#: Time between the last reading of counters (`live/jvms.py`) and the first histogram.
_LATER_S: Final = 0.4
#: Time between the histograms, less the time that both take: a slow leak shows.
_APART_S: Final = 4.5


class ClassGatherer(Gatherer):
    name = "classes"
    gathers = (ClassHistograms,)
    limit_s = 8.0

    def gather(self, host: Host) -> Iterable[ClassHistograms | Missing]:
        pid = host.pid
        if pid is None:
            yield Missing(ClassHistograms, NO_PID())
            return
        # each histogram is a full collection, which must not be among those that the JVM's counters show
        time.sleep(host.interval_s + _LATER_S)
        try:
            asked = time.monotonic()
            before, begin = self._counts(pid, host), time.monotonic()
            time.sleep(max(host.interval_s, _APART_S - 2 * (begin - asked)))
            after, end = self._counts(pid, host), time.monotonic()
        except AttachError as error:
            stat = procfs.process_stat(host.root, pid)
            has_ended = stat is None or stat.has_ended
            reason = ENDED(pid=str(pid)) if has_ended else NO_HISTOGRAM(pid=str(pid), reason=error.message)
            yield Missing(ClassHistograms, reason)
            return
        record = class_histogram.grown(before, after)
        yield ClassHistograms(
            name_of(pid, host),
            pid,
            end - begin,
            record.after.bytes,
            tuple(ClassGrowth(item.name, item.before.bytes, item.after.bytes) for item in record.classes),
        )

    @staticmethod
    def _counts(pid: int, host: Host) -> dict[str, ClassCount]:
        """A histogram. Raises AttachError."""
        return class_histogram.counts(run(pid, class_histogram.COMMAND, _LIMIT_S, host.root))


PART = ClassGatherer

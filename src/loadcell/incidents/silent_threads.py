"""A thread or job that writes nothing for far longer than it usually does: it hangs, or waits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from loadcell.incidents.base import Confidence, Incident, Judgement
from loadcell.incidents.evidence.application_log import ApplicationLog
from loadcell.incidents.evidence.log_silences import (
    LEAST_NS,
    WITHOUT_WORK_NS,
    Silence,
    open_silences,
    period_ns,
)
from loadcell.incidents.log_coincidences import explained
from loadcell.model.application_log import LogLine, LogThread
from loadcell.model.message import Count, Factor, Message, MessageCode, Seconds
from loadcell.stats.long_gaps import FACTOR, FEWEST

SIGNS = MessageCode(
    "incident.silent-threads.signs", "info",
    least_s=Seconds, usual_times=Factor, fewest=Count, night_s=Seconds,
)  # fmt: skip
_THREAD = MessageCode(
    "incident.silent-threads.thread", "info", thread=str, longest_s=Seconds, usual_s=Seconds, count=Count
)
_THREADS = MessageCode(
    "incident.silent-threads.threads", "info",
    thread=str, others=Count, longest_s=Seconds, usual_s=Seconds, count=Count,
)  # fmt: skip
_SERVICE = MessageCode(
    "incident.silent-threads.service", "info", service=str, longest_s=Seconds, usual_s=Seconds, count=Count
)
_SERVICE_OR_CLOCK = MessageCode(
    "incident.silent-threads.service-or-clock", "info",
    service=str, longest_s=Seconds, usual_s=Seconds, count=Count,
)  # fmt: skip
_REGULAR_SERVICE = MessageCode(
    "incident.silent-threads.regular-service", "info",
    service=str, longest_s=Seconds, period_s=Seconds, usual_s=Seconds, count=Count,
)  # fmt: skip
_REGULAR_THREAD = MessageCode(
    "incident.silent-threads.regular-thread", "info",
    thread=str, longest_s=Seconds, period_s=Seconds, usual_s=Seconds, count=Count,
)  # fmt: skip
_MAY_BE_JOB = MessageCode(
    "incident.silent-threads.may-be-job", "info",
    thread=str, longest_s=Seconds, period_s=Seconds, usual_s=Seconds, count=Count,
)  # fmt: skip
_POOL = MessageCode(
    "incident.silent-threads.pool", "info",
    pool=str, threads=Count, lines=Count, longest_s=Seconds, usual_s=Seconds, count=Count,
)  # fmt: skip
_MOST_OF_POOL = MessageCode(
    "incident.silent-threads.most-of-pool", "info",
    pool=str, threads=Count, of=Count, lines=Count, longest_s=Seconds, count=Count,
)  # fmt: skip
_IDLE = MessageCode("incident.silent-threads.idle", "info", count=Count, longest_s=Seconds)
_EXPLAINED = MessageCode("incident.silent-threads.explained", "info", count=Count, longest_s=Seconds)
_OPEN = MessageCode("incident.silent-threads.open", "info", count=Count, thread=str, longest_s=Seconds)
_HEALTHY = MessageCode("incident.silent-threads.healthy", "info", threads=Count)
_HEALTHY_SERVICES = MessageCode("incident.silent-threads.healthy-services", "info", services=Count)
_LACKS_WORK = MessageCode("incident.silent-threads.without-work", "info", count=Count, longest_s=Seconds)
_FEW = MessageCode("incident.silent-threads.few", "info", fewest=Count)

#: Silences of a thread with a period may be those of a job: as many, for this part of the time.
_FEWEST_OF_JOB: Final = 6
_LEAST_OF_JOB: Final = 0.25


class SilentThreads(Incident[ApplicationLog]):
    name = "silent-threads"
    needs = ApplicationLog
    source = (
        "B. M. Hill: A simple general approach to inference about the tail of a distribution, 1975; "
        "I. Weissman, 1978; A. C. Kimber: Tests for many outliers in an exponential sample, 1982"
    )
    signs = SIGNS(least_s=LEAST_NS / 1e9, usual_times=FACTOR, fewest=FEWEST, night_s=WITHOUT_WORK_NS / 1e9)

    remedies = ("service-or-clock",)

    def examine(self, evidence: ApplicationLog) -> Iterator[Judgement]:
        regular = [
            thread
            for service in evidence.logs.services
            for thread in service.threads
            if sum(thread.gaps.values()) >= FEWEST
        ]
        if not regular:
            yield self.unseen(_FEW(fewest=FEWEST))
            return
        of_pauses = explained(evidence)
        silences = [
            silence for silence in evidence.silences if not silence.may_lack_work and silence not in of_pauses
        ]
        totals = [silence for silence in silences if silence.is_total]
        pools = [silence for silence in silences if silence.pool and not silence.of_threads]
        most = [silence for silence in silences if silence.of_threads]
        single = [silence for silence in silences if not silence.is_total and not silence.pool]
        for service in dict.fromkeys(silence.service for silence in totals):
            yield self._service(evidence, [silence for silence in totals if silence.service == service])
        if pools:
            yield self._pool(evidence, pools)
        if most:
            yield self._most_of_pool(evidence, most)
        if single:
            yield self._thread(evidence, single)
        yield from self._open(evidence)
        if idle := evidence.idle_silences:
            yield self.healthy(_IDLE(count=len(idle), longest_s=idle[0].duration_ns / 1e9))
        if of_pauses:
            longest_ns = max(silence.duration_ns for silence in of_pauses)
            yield self.healthy(_EXPLAINED(count=len(of_pauses), longest_s=longest_ns / 1e9))
        elif not silences:
            lacking = [silence for silence in evidence.silences if silence.may_lack_work]
            if lacking:
                longest_s = lacking[0].duration_ns / 1e9
                yield self.healthy(_LACKS_WORK(count=len(lacking), longest_s=longest_s))
            else:
                yield self.healthy(_healthy(evidence, regular))

    def _service(self, evidence: ApplicationLog, silences: list[Silence]) -> Judgement:
        longest = silences[0]
        period_s = period_ns(silences) / 1e9
        may_be_clock = not period_s and not evidence.kinds_at(longest)
        code = _REGULAR_SERVICE if period_s else _SERVICE_OR_CLOCK if may_be_clock else _SERVICE
        summary = code.pick(
            service=longest.service,
            longest_s=longest.duration_ns / 1e9,
            period_s=period_s,
            usual_s=longest.usual_ns / 1e9,
            count=len(silences),
        )
        gap = longest.gap
        quotes = evidence.quotes(_lines(silences))
        span_ns = gap.begin_ns, gap.end_ns
        return self.diagnosis(
            "warning", "medium", summary, span_ns, quotes, "service-or-clock" if may_be_clock else ""
        )

    def _thread(self, evidence: ApplicationLog, silences: list[Silence]) -> Judgement:
        longest = silences[0]
        others = len(set(longest.threads)) - 1
        is_of_one = not others and len({silence.threads for silence in silences}) == 1
        period_s = period_ns(silences) / 1e9 if is_of_one else 0.0
        may_be_job = (
            len(silences) >= _FEWEST_OF_JOB and longest.duration_ns / 1e9 >= _LEAST_OF_JOB * period_s > 0
        )
        regular = _MAY_BE_JOB if may_be_job else _REGULAR_THREAD
        summary = (_THREADS if others else regular if period_s else _THREAD).pick(
            thread=longest.threads[0],
            others=others,
            longest_s=longest.duration_ns / 1e9,
            period_s=period_s,
            usual_s=longest.usual_ns / 1e9,
            count=len(silences),
        )
        gap = longest.gap
        quotes = evidence.quotes(_lines(silences))
        span_ns = gap.begin_ns, gap.end_ns
        if may_be_job:
            return self.diagnosis("note", "low", summary, span_ns, quotes)
        confidence: Confidence = "high" if gap.ends_in_error else "medium"
        return self.diagnosis("warning", confidence, summary, span_ns, quotes)

    def _pool(self, evidence: ApplicationLog, silences: list[Silence]) -> Judgement:
        """All threads of a pool while others write as usual: they wait for one thing, such as connections."""
        longest = silences[0]
        gap = longest.gap
        summary = _POOL(
            pool=longest.pool,
            threads=len(set(longest.threads)),
            lines=gap.passed,
            longest_s=longest.duration_ns / 1e9,
            usual_s=longest.usual_ns / 1e9,
            count=len(silences),
        )
        quotes = evidence.quotes(_lines(silences))
        confidence: Confidence = "high" if gap.ends_in_error else "medium"
        return self.diagnosis("warning", confidence, summary, (gap.begin_ns, gap.end_ns), quotes)

    def _most_of_pool(self, evidence: ApplicationLog, silences: list[Silence]) -> Judgement:
        """Most threads of a pool at the same time, while the others write as usual."""
        longest = silences[0]
        gap = longest.gap
        summary = _MOST_OF_POOL(
            pool=longest.pool,
            threads=len(longest.threads),
            of=longest.of_threads,
            lines=gap.passed,
            longest_s=longest.duration_ns / 1e9,
            count=len(silences),
        )
        quotes = evidence.quotes(_lines(silences))
        confidence: Confidence = "high" if gap.ends_in_error else "medium"
        return self.diagnosis("warning", confidence, summary, (gap.begin_ns, gap.end_ns), quotes)

    def _open(self, evidence: ApplicationLog) -> Iterator[Judgement]:
        """Threads that are silent to the end: they hang, or have ended."""
        threads = [item for service in evidence.logs.services for item in open_silences(service)]
        if threads:
            thread, duration_ns = max(threads, key=lambda item: item[1])
            summary = _OPEN(count=len(threads), thread=thread.name, longest_s=duration_ns / 1e9)
            span = thread.end_ns, thread.end_ns + duration_ns
            yield self.diagnosis("note", "low", summary, span, evidence.quotes([thread.last]))


def _healthy(evidence: ApplicationLog, regular: list[LogThread]) -> Message:
    """The number of regular threads; of services where no line names a thread."""
    services = [service.threads[0] for service in evidence.logs.services if service.threads]
    threads = sum(thread not in services for thread in regular)
    return _HEALTHY(threads=threads) if threads else _HEALTHY_SERVICES(services=len(regular))


def _lines(silences: list[Silence]) -> list[LogLine]:
    return [line for silence in silences[:4] for line in (silence.gap.before, silence.gap.after)]


PART = SilentThreads

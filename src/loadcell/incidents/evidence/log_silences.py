"""Silences in the logs of services that are far beyond the usual time between two lines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from loadcell.ingest.log_steps import is_zone_change
from loadcell.ingest.log_zones import is_change_of_a_zone
from loadcell.model import duration_classes
from loadcell.model.application_log import Gap, Leap, LogThread, Service
from loadcell.stats import long_gaps

#: Less is no silence for people.
LEAST_NS: Final = 10**9
#: Longer ones are as well those of a night or of a job without work, unless an error ends them.
WITHOUT_WORK_NS: Final = 1800 * 10**9
_SECOND_NS: Final = 10**9
#: Of the shorter one: silences of several threads that overlap so far are one.
_OVERLAP: Final = 0.8
_NUMBER: Final = re.compile(r"\d+")
#: This number of silences that are alike, at distances that are alike, have a period.
_PERIODIC: Final = 3
_ALIKE: Final = 1.2
_MOST: Final = 500
#: Silent threads of a pool whose others continue.
_FEWEST_OF_POOL: Final = 3
#: Of the usual rate of the others' lines: with less they were idle, too.
_LEAST_RATE: Final = 0.5


@dataclass(frozen=True)
class Silence:
    """Time without a line of a thread; `threads` are those of a service that were silent.

    Without names all of the service was silent. `chance` is the number of such gaps that chance would cause.
    `is_open` is true of one that lasts to the end of the log, and `is_idle` of one in which the others of its
    pool or service wrote hardly more than in a usual gap. `pool` is the name of a pool that was silent as a
    whole.
    """

    service: str
    threads: tuple[str, ...]
    gap: Gap
    chance: float
    usual_ns: int
    is_total: bool = False
    is_open: bool = False
    pool: str = ""
    is_idle: bool = False
    #: threads of a pool of which most were silent, and the others wrote as usual; 0 of other silences
    of_threads: int = 0

    @property
    def duration_ns(self) -> int:
        return self.gap.duration_ns

    @property
    def may_lack_work(self) -> bool:
        """True of one that may be time without work."""
        return self.duration_ns >= WITHOUT_WORK_NS and not self.gap.ends_in_error


def silences(services: Sequence[Service], leaps: Iterable[Leap] = ()) -> tuple[Silence, ...]:
    """Silences of all services, the longest first; those of leaps of the clock are none."""
    of_clock = list(leaps)
    events = [
        silence
        for service in services
        for silence in _merged(
            _with_pools(
                [item for thread, names in _units(service) for item in _of(thread, names, service, of_clock)],
                service,
            )
        )
    ]
    return tuple(sorted(events, key=lambda event: -event.duration_ns)[:_MOST])


def _units(service: Service) -> Iterator[tuple[LogThread, tuple[str, ...]]]:
    """Threads and pools with the names of their threads; a pool of one thread is that thread."""
    members: dict[str, list[str]] = {}
    for thread in service.threads:
        if thread.pool:
            members.setdefault(thread.pool, []).append(thread.name)
    for thread in service.threads:
        if not thread.pool or len(members[thread.pool]) > 1:
            yield thread, ((thread.name,) if thread.name else ())
    for pool in service.pools:
        if names := members.get(pool.name):
            yield pool, tuple(names)


def _is_idle(thread: LogThread, gap: Gap, unusual: Sequence[Gap]) -> bool:
    """True if the others of its pool or service wrote no more than in a usual gap, or far slower.

    A thread that hangs is passed over by them; one without work shares that with them.
    """
    removed = Counter(duration_classes.of(item.passed) for item in unusual)
    usual = {key: count - removed[key] for key, count in thread.work.items() if count > removed[key]}
    if gap.passed <= max((duration_classes.middle_ns(key) for key in usual), default=0):
        return True
    lines = thread.lines_of_others - sum(item.passed for item in unusual)
    usual_ns = thread.gap_ns - sum(item.duration_ns for item in unusual)
    return gap.passed * usual_ns < _LEAST_RATE * lines * gap.duration_ns


def _with_pools(events: list[Silence], service: Service) -> list[Silence]:
    """The silences with those of most threads of a pool as one: their work was that of the others, but the
    others did not do it.
    """
    pools = _pools(service)
    of_pools: dict[str, list[Silence]] = {}
    for event in events:
        if event.is_idle and len(event.threads) == 1 and (pool := _pool_of(event.threads[0], pools)):
            of_pools.setdefault(pool, []).append(event)
    for name, idle in of_pools.items():
        remaining = sorted(idle, key=lambda event: event.gap.begin_ns)
        while remaining:
            first, *_ = remaining
            alike = [event for event in remaining if _begin_at_once(first, event)]
            names = tuple(dict.fromkeys(thread for event in alike for thread in event.threads))
            least = min(alike, key=lambda event: event.gap.passed)
            if _are_most(pools[name], names, least.gap.passed, least.duration_ns):
                longest = max(alike, key=lambda event: event.duration_ns)
                of_threads = len(pools[name])
                events = [event for event in events if event not in alike]
                events.append(
                    replace(longest, threads=names, pool=name, is_idle=False, of_threads=of_threads)
                )
            remaining = [event for event in remaining if event not in alike]
    return events


def _pools(service: Service) -> dict[str, list[LogThread]]:
    pools: dict[str, list[LogThread]] = {}
    for thread in service.threads:
        if thread.pool:
            pools.setdefault(thread.pool, []).append(thread)
    return pools


def _pool_of(name: str, pools: Mapping[str, list[LogThread]]) -> str:
    return next((pool for pool, items in pools.items() if any(item.name == name for item in items)), "")


def _begin_at_once(first: Silence, other: Silence) -> bool:
    """True if two silences begin within a usual gap, and overlap."""
    near_ns = max(_SECOND_NS, min(first.usual_ns, other.usual_ns))
    overlap_ns = min(first.gap.end_ns, other.gap.end_ns) - max(first.gap.begin_ns, other.gap.begin_ns)
    is_near = abs(other.gap.begin_ns - first.gap.begin_ns) <= near_ns
    return is_near and overlap_ns >= _OVERLAP * min(first.duration_ns, other.duration_ns)


def _are_most(threads: Sequence[LogThread], names: Sequence[str], passed: int, duration_ns: int) -> bool:
    """True if `names` are most threads of a pool, and the others wrote at their usual rate meanwhile.

    Without work, the others of a pool write less as well.
    """
    others = [thread for thread in threads if thread.name not in names]
    if not others or len(names) < _FEWEST_OF_POOL or len(names) <= len(others):
        return False
    usual_per_ns = sum(sum(item.gaps.values()) / item.gap_ns for item in others if item.gap_ns)
    return usual_per_ns > 0 and passed >= _LEAST_RATE * usual_per_ns * duration_ns


def _of(
    thread: LogThread, names: tuple[str, ...], service: Service, leaps: Sequence[Leap]
) -> Iterator[Silence]:
    """Silences of one thread or pool; that of its service is total."""
    if sum(thread.gaps.values()) < long_gaps.FEWEST:
        return
    candidates = [gap for gap in thread.longest if not any(_is_of(gap, leap) for leap in leaps)]
    gaps = _gaps(thread, [gap for gap in thread.longest if gap not in candidates])
    # between rounded stamps, a usual gap may have been longer by a step, and a long one shorter
    step_ns = _step_ns(thread)
    gaps = [(value + step_ns, count) for value, count in gaps]
    durations = [float(gap.duration_ns - step_ns) for gap in candidates]
    number = long_gaps.outliers(gaps, durations, long_gaps.LEVEL / max(1, len(service.threads)))
    usual_ns = candidates[number].duration_ns if number < len(candidates) else 0
    unusual = candidates[:number]
    for gap in unusual:
        is_abrupt = gap.duration_ns >= long_gaps.FACTOR * gap.before_ns
        if gap.duration_ns < LEAST_NS or not is_abrupt or gap.at_rotation:
            continue
        is_of_zone = is_zone_change(gap.duration_ns) and is_change_of_a_zone(gap.begin_ns, gap.end_ns)
        if not service.has_zone and is_of_zone:
            continue  # the begin of daylight saving time
        shorter = [(value, count) for value, count in gaps if value < gap.duration_ns / _ALIKE]
        chance = long_gaps.expected(shorter or gaps, gap.duration_ns - step_ns)
        yield Silence(
            service.name,
            names,
            gap,
            chance,
            usual_ns,
            is_total=not names,
            pool=thread.name if len(names) > 1 else "",
            is_idle=bool(names) and not gap.ends_in_error and _is_idle(thread, gap, unusual),
        )


def _step_ns(thread: LogThread) -> int:
    """The step of the stamps of a thread: a second where no long gap has a fraction of one, else nothing."""
    instants = (instant for gap in thread.longest for instant in (gap.begin_ns, gap.end_ns))
    return 0 if any(instant % _SECOND_NS for instant in instants) else _SECOND_NS


def _gaps(thread: LogThread, without: Iterable[Gap] = ()) -> list[tuple[float, int]]:
    """Durations of the gaps of a thread with their numbers, the longest first."""
    removed = Counter(duration_classes.of(gap.duration_ns) for gap in without)
    return [
        (float(duration_classes.middle_ns(key)), count)
        for key in sorted(thread.gaps)[::-1]
        if (count := thread.gaps[key] - removed[key]) > 0
    ]


def period_ns(silences: Sequence[Silence]) -> int:
    """The mean time between the begins of silences that are alike, at distances that are alike; else 0."""
    durations = [silence.duration_ns for silence in silences]
    if len(silences) < _PERIODIC or not _are_alike(min(durations), max(durations)):
        return 0
    begins = sorted(silence.gap.begin_ns for silence in silences)
    distances = [later - earlier for earlier, later in pairwise(begins)]
    return (begins[-1] - begins[0]) // len(distances) if _are_alike(min(distances), max(distances)) else 0


def _are_alike(first: int, second: int) -> bool:
    return max(first, second) <= _ALIKE * min(first, second)


def open_silences(service: Service) -> list[tuple[LogThread, int]]:
    """Threads that have been silent to the end of the log for unusually long, and for how long.

    One of a pool may have had no work: only if all threads with its name but for its numbers are silent, or
    most of them since about the same time, while the others write as usual.
    """
    silent: list[tuple[LogThread, int]] = []
    passed_over: set[str] = set()
    threads_of = _pools(service)
    pools = {pool.name: pool for pool in service.pools}
    sizes = Counter(_pool(thread) for thread in service.threads[1:])
    for thread in service.threads[1:]:
        duration_ns = service.end_ns - thread.end_ns
        if duration_ns < LEAST_NS or sum(thread.gaps.values()) < long_gaps.FEWEST:
            continue
        unit = pools.get(thread.pool, thread)
        if unit.passed > max(map(duration_classes.middle_ns, unit.work), default=0):
            passed_over.add(thread.name)
        is_long = duration_ns >= long_gaps.FACTOR * thread.longest[0].duration_ns
        chance = long_gaps.expected(_gaps(thread), duration_ns)
        if is_long and chance <= long_gaps.LEVEL / len(service.threads):
            silent.append((thread, duration_ns))
    most = [
        item
        for name, threads in threads_of.items()
        for item in _most_of_pool([item for item in silent if item[0].pool == name], threads)
    ]
    silent = [item for item in silent if item[0].name in passed_over]
    of_pools = Counter(_pool(thread) for thread, _ in silent)
    silent = [item for item in silent if of_pools[_pool(item[0])] == sizes[_pool(item[0])]]
    silent += [item for item in most if item not in silent]
    return sorted(silent, key=lambda item: -item[1])


def _most_of_pool(
    silent: Sequence[tuple[LogThread, int]], threads: Sequence[LogThread]
) -> list[tuple[LogThread, int]]:
    """The silent threads of a pool, if they are most of it and the others continue; else none."""
    if not silent:
        return []
    first_ns = min(thread.end_ns for thread, _ in silent)
    at_once = [
        item
        for item in silent
        if item[0].end_ns - first_ns <= max(_SECOND_NS, item[0].longest[0].duration_ns)
    ]
    names = [thread.name for thread, _ in at_once]
    passed = min(thread.passed for thread, _ in at_once)
    shortest_ns = min(duration_ns for _, duration_ns in at_once)
    return at_once if _are_most(threads, names, passed, shortest_ns) else []


def _pool(thread: LogThread) -> str:
    return _NUMBER.sub("#", thread.name)


def _merged(events: list[Silence]) -> list[Silence]:
    """Silences of threads that overlap as one; a total one has those of all threads."""
    merged: list[Silence] = []
    for event in sorted(events, key=lambda event: (event.is_idle, not event.is_total, -event.duration_ns)):
        for index, other in enumerate(merged):
            overlap = min(event.gap.end_ns, other.gap.end_ns) - max(event.gap.begin_ns, other.gap.begin_ns)
            if overlap >= _OVERLAP * min(event.duration_ns, other.duration_ns):
                if not other.is_total and event.is_idle == other.is_idle:
                    merged[index] = replace(
                        other, threads=tuple(dict.fromkeys((*other.threads, *event.threads)))
                    )
                break
        else:
            merged.append(event)
    return merged


def _is_of(gap: Gap, leap: Leap) -> bool:
    """True if a leap of the clock makes most of a gap."""
    overlap = min(gap.end_ns, leap.after_ns) - max(gap.begin_ns, leap.before_ns)
    return overlap >= _OVERLAP * gap.duration_ns

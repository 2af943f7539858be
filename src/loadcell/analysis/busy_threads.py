"""The busiest threads of the target by treatment, from the samples of the monitor `target`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from loadcell.analysis.treatments import Treatment
from loadcell.analysis.trials import Trial
from loadcell.store.frames import Frame

#: Names of threads of a treatment.
MOST_NAMES = 3
#: Threads that ran for a smaller share of the time limit nothing.
LEAST_SHARE = 0.01


@dataclass(frozen=True)
class BusyThread:
    """Threads with one name: the shares of the time (0 to 1) that the busiest of them ran and was ready
    without a core, medians over trials. `states` are the shares of its `samples` in each state.
    """

    treatment: Treatment
    name: str
    running: float
    delayed: float
    states: tuple[tuple[str, float], ...]
    samples: int


@dataclass
class _Thread:
    ran_s: float = 0.0
    delayed_s: float = 0.0


def by_treatment(
    samples: Frame, treatments: Sequence[Treatment], trials: Sequence[Trial]
) -> tuple[BusyThread, ...]:
    """The busiest threads of each treatment, by CPU time within the measurement.

    A thread is counted in the samples in which it was among the busiest; in others it had less.
    """
    needed = ("trial", "t_s", "tid", "name", "state", "cpu_percent", "run_delay_percent", "elapsed_s")
    if not samples.has(*needed):
        return ()
    measured = samples.take(samples.numbers("t_s") > 0)
    seconds: dict[str, float] = defaultdict(float)
    threads: dict[str, dict[tuple[str, float], _Thread]] = defaultdict(lambda: defaultdict(_Thread))
    states: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for trial, _, tid, name, state, cpu, delay, elapsed_s in measured.rows(*needed):
        if tid == 0:
            seconds[trial] += elapsed_s
            continue
        thread = threads[trial][name or "", tid]
        thread.ran_s += cpu * elapsed_s / 100
        thread.delayed_s += delay * elapsed_s / 100
        if state:
            states[trial, name or ""][state] += 1
    results: list[BusyThread] = []
    for treatment in treatments:
        names = [trial.name for trial in trials if trial.treatment == treatment.id and trial.counts]
        results += _of_treatment(
            treatment, [name for name in names if seconds[name] > 0], seconds, threads, states
        )
    return tuple(results)


def _of_treatment(
    treatment: Treatment,
    trials: Sequence[str],
    seconds: dict[str, float],
    threads: dict[str, dict[tuple[str, float], _Thread]],
    states: dict[tuple[str, str], Counter[str]],
) -> Iterator[BusyThread]:
    running: dict[str, list[float]] = defaultdict(list)
    delayed: dict[str, list[float]] = defaultdict(list)
    for trial in trials:
        busiest: dict[str, _Thread] = {}
        for (name, _), thread in threads[trial].items():
            if name not in busiest or thread.ran_s > busiest[name].ran_s:
                busiest[name] = thread
        for name, thread in busiest.items():
            running[name].append(thread.ran_s / seconds[trial])
            delayed[name].append(thread.delayed_s / seconds[trial])
    busy = [name for name in running if median(running[name]) >= LEAST_SHARE]
    for name in sorted(busy, key=lambda name: -median(running[name]))[:MOST_NAMES]:
        counted = sum((states[trial, name] for trial in trials), Counter[str]())
        shares = tuple((state, count / counted.total()) for state, count in counted.most_common())
        yield BusyThread(
            treatment, name, median(running[name]), median(delayed[name]), shares, counted.total()
        )

"""Waits of a server's sessions: over the time of a trial, and at each treatment.

Sessions are looked at at regular instants (active session history). The mean number of active sessions found
in a state is the share of time spent in it, times the sessions: Little's law read backwards. Looks are
instants, so a wait that takes a thousandth of the time needs thousands of looks to be known well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from loadcell.analysis.treatments import Treatment
from loadcell.store.frames import Frame, Text, matching_rows, taken

#: What a session does that waits for nothing.
RUNNING = "CPU"
#: More kinds than this are not distinguishable by colour; the others are combined.
MOST_KINDS = 7


@dataclass(frozen=True)
class Waited:
    """One treatment's sessions, over all trials that count: `active` on average, and of these how many in
    each wait.

    `looks` is how many instants that rests on; `waits` is sorted, the most frequent first.
    `idle_in_transaction` are sessions that wait for their client in the middle of a transaction, and are not
    active.
    """

    treatment: Treatment
    looks: int
    active: float
    idle_in_transaction: float
    waits: Mapping[str, float]

    def share(self, name: str) -> float:
        """The share of the active sessions' time spent in this wait."""
        return self.waits.get(name, 0.0) / self.active if self.active else 0.0


def named(waits: Frame) -> Frame:
    """The frame with `name`: `CPU`, or type and event such as `Lock: transactionid`."""
    names = [
        RUNNING if kind == RUNNING else None if kind is None or event is None else f"{kind}: {event}"
        for kind, event in waits.rows("wait_event_type", "wait_event")
    ]
    return waits.adding({"name": Text.of(names)})


def kinds(waits: Frame) -> list[str]:
    """The names that matter most over all trials, running first; at most `MOST_KINDS`."""
    if not len(waits):
        return []
    totals = _totals(named(waits), "name")
    names = [name for (name,), _ in totals]
    first = [RUNNING] if RUNNING in names else []
    return [*first, *(name for name in names if name != RUNNING)][:MOST_KINDS]


def _totals(frame: Frame, *names: str) -> list[tuple[tuple[str, ...], float]]:
    """Sum of the sessions for each combination of texts in these columns, the largest first."""
    groups = frame.groups(*names)
    keys = frame.take(groups.first).rows(*names)
    totals = zip(keys, groups.sum(frame.numbers("sessions")).tolist(), strict=True)
    return sorted(totals, key=lambda total: (-total[1], total[0][-1] or ""))


def over_time(waits: Frame, looks: Frame, names: list[str]) -> Frame:
    """`trial`, `t_s`, a column `w0`, `w1` ... for each of `names`, and `rest`: mean active sessions.

    `looks` (the monitor's samples: `trial`, `t_s`, `looks`) also has the instants at which nobody waited.
    """
    base = looks.take(looks.numbers("looks") > 0).select("trial", "t_s", "looks")
    if not len(waits):
        return base.select("trial", "t_s")
    base = base.sorted_by("trial", "t_s")
    frame = named(waits)
    columns = {name: f"w{number}" for number, name in enumerate(names)}
    sums = {}
    for column, mask in (
        *((column, frame.text("name").isin(name)) for name, column in columns.items()),
        ("rest", ~frame.text("name").isin(*names)),
    ):
        chosen = frame.take(mask)
        groups = chosen.groups("trial", "t_s")
        totals = groups.sum(chosen.numbers("sessions"))
        rows = matching_rows(base, chosen.take(groups.first), "trial", "t_s")
        sums[column] = np.nan_to_num(taken(totals, rows)) / base.numbers("looks")
    return base.select("trial", "t_s").adding(sums)


def measured(frame: Frame, treatments: Iterable[Treatment]) -> Frame:
    """The samples inside the measurement of trials that count."""
    ends = {
        trial.name: trial.duration_s for treatment in treatments for trial in treatment.trials if trial.counts
    }
    samples = until(frame, ends)
    return samples.take(samples.numbers("t_s") > 0) if samples.has("t_s") else samples


def until(frame: Frame, ends: Mapping[str, float | None]) -> Frame:
    """The samples of these trials up to the end of each one's measurement."""
    if not frame.has("t_s"):
        return frame
    return frame.take(frame.numbers("t_s") <= frame.text("trial").map(ends.get))


def by_treatment(waits: Frame, looks: Frame, treatments: Iterable[Treatment]) -> tuple[Waited, ...]:
    """Waits of each treatment's sessions; treatments that were not watched are left out."""
    treatments = tuple(treatments)
    counted = measured(looks, treatments)
    if not len(counted):
        return ()
    groups, instants = counted.groups("treatment"), counted.numbers("looks")
    idle = np.nan_to_num(counted.numbers("sessions_idle_in_transaction")) * instants
    looked = {
        treatment: (count, total)
        for treatment, count, total in zip(
            counted.text("treatment")[groups.first].tolist(),
            groups.sum(instants).tolist(),
            groups.sum(idle).tolist(),
            strict=True,
        )
    }
    sums: dict[str, dict[str, float]] = {}
    if len(waits):
        for (treatment_id, name), sessions in _totals(
            named(measured(waits, treatments)), "treatment", "name"
        ):
            sums.setdefault(treatment_id, {})[name] = sessions
    waited = []
    for treatment in treatments:
        count, idle_sum = looked.get(treatment.id, (0, 0.0))
        if count:
            shares = {name: sessions / count for name, sessions in sums.get(treatment.id, {}).items()}
            waited.append(Waited(treatment, int(count), sum(shares.values()), idle_sum / count, shares))
    return tuple(waited)

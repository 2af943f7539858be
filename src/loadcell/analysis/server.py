"""Activity of a database server: counters at each treatment, checkpoints, the statements that took most time,
and the waits of its sessions.

Sessions are looked at at regular instants (active session history). The mean number of active sessions found
in a state is the share of time spent in it, times the sessions: Little's law read backwards. Looks are
instants, so a wait that takes a thousandth of the time needs thousands of looks to be known well.

Activity of a key-value server at each treatment: rates, hits, memory, evictions.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from loadcell.analysis.finding import Concern, Finding, FindingCode, Subject
from loadcell.analysis.treatments import Treatment
from loadcell.model.message import Count, Share
from loadcell.model.trial_record import TrialRecord
from loadcell.store.frames import Frame, Text, matching_rows, taken

#: What a session does that waits for nothing.
RUNNING = "CPU"
#: Wait of a session of PostgreSQL that has answered and expects the next command.
FOR_CLIENT = "Client: ClientRead"
#: Share from which on sessions mostly waited.
_MOSTLY = 0.5
#: With fewer sightings of active sessions a share of a half is uncertain by 18 percentage points and more
#: (binomial, 95%).
FEW_SIGHTINGS = 30
WAITED_FOR_CLIENT = FindingCode(
    "found.server.waited-for-client", Subject.THROUGHPUT, "info", (Concern.COST, 20),
    count=Count, lowest_share=Share,
)  # fmt: skip
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

    @property
    def sightings(self) -> int:
        """Number of times that an active session was found."""
        return round(self.active * self.looks)

    @property
    def of_client(self) -> float:
        """The share of sessions, active or in a transaction, that waited for their client."""
        everybody = self.active + self.idle_in_transaction
        waited = self.waits.get(FOR_CLIENT, 0.0) + self.idle_in_transaction
        return waited / everybody if everybody else 0.0


def waiting_findings(waited: Sequence[Waited]) -> Iterator[Finding]:
    """A remark if sessions mostly waited for their client."""
    mostly = [wait for wait in waited if wait.of_client > _MOSTLY and wait.sightings >= FEW_SIGHTINGS]
    if mostly:
        lowest = min(wait.of_client for wait in mostly)
        yield WAITED_FOR_CLIENT.finding(
            tuple(wait.treatment.id for wait in mostly),
            count=len(mostly), lowest_share=lowest,
        )  # fmt: skip


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


def waited_by_treatment(waits: Frame, looks: Frame, treatments: Iterable[Treatment]) -> tuple[Waited, ...]:
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


#: Sums over the measurement that are shown as rates, or compared with commits.
_SUMS = (
    "elapsed_s", "commits", "rollbacks", "deadlocks", "blocks_hit", "blocks_read", "temp_bytes", "wal_bytes",
    "wal_full_pages", "checkpoints",
)  # fmt: skip


@dataclass(frozen=True)
class Served:
    """One treatment's counters, over all trials that count; None where the server did not tell."""

    treatment: Treatment
    commits_per_s: float | None
    hit_share: float | None
    blocks_read_per_s: float | None
    wal_bytes_per_s: float | None
    wal_bytes_per_commit: float | None
    temp_bytes_per_s: float | None
    deadlocks: int
    checkpoints: int


@dataclass(frozen=True)
class Checkpoint:
    """When a checkpoint began and was done, in seconds from the measurement's start; `end_s`
    None: not seen.
    """

    trial: str
    begin_s: float
    end_s: float | None
    reason: str


@dataclass(frozen=True)
class Statement:
    """One statement over all trials that count; `share` is of all time spent in recorded statements."""

    query: str
    calls: float
    total_ms: float
    share: float
    rows: float
    hit_share: float | None


@dataclass(frozen=True)
class Evidence:
    """All that a server said of itself in one run.

    `samples` and `over_time` (a column `w0`, `w1` ... for each of `kinds`, and `rest`) are frames a row a
    second;
    `notes` says what could not be seen: the monitor's code of it, and its own words.
    """

    samples: Frame
    kinds: tuple[str, ...]
    over_time: Frame
    waited: tuple[Waited, ...]
    served: tuple[Served, ...]
    checkpoints: tuple[Checkpoint, ...]
    statements: tuple[Statement, ...]
    notes: Mapping[str, str]


#: How many statements a report shows.
MOST_STATEMENTS = 12


def evidence(
    samples: Frame,
    sessions: Frame,
    statements: Frame,
    events: Frame,
    records: Iterable[TrialRecord],
    treatments: Iterable[Treatment],
) -> Evidence:
    """Combine the tables of monitors (`DatabaseTables`) with the trials' events and records."""
    treatments, records = tuple(treatments), tuple(records)
    # Values read after the load belong to its sums, and to no chart.
    ends = {record.name: record.measure.duration_s if record.measure else None for record in records}
    samples, sessions = until(samples, ends), until(sessions, ends)
    names = kinds(sessions)
    seen = checkpoints(events)
    notes: dict[str, str] = {}
    for monitor in (monitor for record in records for monitor in record.monitors.values()):
        for note in monitor.notes or ():
            if "code" in note:  # a remark on series by name
                continue
            notes.setdefault(str(note["note"]), str(note["text"]))
    return Evidence(
        samples=samples,
        kinds=tuple(names),
        over_time=samples if not len(samples) else over_time(sessions, samples, names),
        waited=waited_by_treatment(sessions, samples, treatments),
        served=by_treatment(samples, seen, treatments),
        checkpoints=tuple(seen),
        statements=top_statements(statements, treatments, MOST_STATEMENTS),
        notes=notes,
    )


def checkpoints(events: Frame) -> list[Checkpoint]:
    """Checkpoints in the order they were seen, each with its end."""
    seen: list[Checkpoint] = []
    if not len(events):
        return seen
    marks = events.take(events.text("event").isin("checkpoint", "checkpoint-end"))
    for trial, at_s, event, detail in marks.rows("trial", "t_s", "event", "detail"):
        if at_s is None:
            continue
        if event == "checkpoint":
            seen.append(Checkpoint(trial, at_s, None, str(json.loads(detail).get("reason", ""))))
        elif seen and seen[-1].trial == trial and seen[-1].end_s is None:
            seen[-1] = replace(seen[-1], end_s=at_s)
    return seen


def by_treatment(
    samples: Frame, checkpoints: Iterable[Checkpoint], treatments: Iterable[Treatment]
) -> tuple[Served, ...]:
    """The counters of each treatment that was watched."""
    treatments = tuple(treatments)
    frame = measured(samples, treatments)
    if not len(frame):
        return ()
    groups = frame.groups("treatment")
    totals = {name: groups.sum(frame.numbers(name)).tolist() for name in _SUMS if samples.has_values(name)}
    sums = {
        treatment: {name: values[group] for name, values in totals.items()}
        for group, treatment in enumerate(frame.text("treatment")[groups.first].tolist())
    }
    begun: dict[str, int] = {}
    for checkpoint in checkpoints:
        if checkpoint.begin_s > 0:
            begun[checkpoint.trial] = begun.get(checkpoint.trial, 0) + 1
    waits = []
    for treatment in treatments:
        row = sums.get(treatment.id)
        if row is None or not row.get("elapsed_s"):
            continue
        seconds, commits = row["elapsed_s"], row.get("commits")
        hit, read = row.get("blocks_hit"), row.get("blocks_read")
        waits.append(
            Served(
                treatment,
                commits_per_s=ratio(commits, seconds),
                hit_share=None if hit is None or read is None else ratio(hit, hit + read),
                blocks_read_per_s=ratio(read, seconds),
                wal_bytes_per_s=ratio(row.get("wal_bytes"), seconds),
                wal_bytes_per_commit=ratio(row.get("wal_bytes"), commits),
                temp_bytes_per_s=ratio(row.get("temp_bytes"), seconds),
                deadlocks=round(row.get("deadlocks", 0)),
                checkpoints=sum(begun.get(trial.name, 0) for trial in treatment.trials if trial.counts)
                + round(row.get("checkpoints", 0)),
            )
        )
    return tuple(waits)


def ratio(part: float | None, total: float | None) -> float | None:
    """Quotient; None if a value is unknown or the total is 0."""
    return None if part is None or not total else part / total


def top_statements(statements: Frame, treatments: Iterable[Treatment], most: int) -> tuple[Statement, ...]:
    """The statements that took most time over all trials that count (whole loads, warm-up included)."""
    counted = [trial.name for treatment in treatments for trial in treatment.trials if trial.counts]
    if not len(statements):
        return ()
    frame = statements.take(statements.text("trial").isin(*counted))
    groups = frame.groups("query")
    sums = (
        groups.sum(frame.numbers(name)).tolist()
        for name in ("total_ms", "calls", "rows", "blocks_hit", "blocks_read")
    )
    rows = sorted(
        zip(frame.text("query")[groups.first].tolist(), *sums, strict=True),
        key=lambda row: (-row[1], row[0] or ""),
    )
    recorded_ms = sum(row[1] for row in rows)
    return tuple(
        Statement(
            query=query or "",
            calls=calls,
            total_ms=total_ms,
            share=total_ms / recorded_ms if recorded_ms else 0.0,
            rows=count,
            hit_share=ratio(hit, hit + read),
        )
        for query, total_ms, calls, count, hit, read in rows[:most]
    )


#: What is divided by the time it was counted in: of samples whose time lies in the measurement from their
#: beginning on. The first one that is taken in a measurement counts from before it, when the server may have
#: had nothing to do.
_RATES = ("elapsed_s", "commands", "cpu_s")
_KEY_VALUE_SUMS = ("hits", "misses", "evicted_keys", "expired_keys", "forks")
_MOST = ("used_memory_bytes", "rss_bytes", "fragmentation", "clients")

EVICTED_NOTHING = FindingCode(
    "found.server.evicted-nothing", Subject.EFFECTS, "caution", (Concern.TRUST, 30), settings=list
)


@dataclass(frozen=True)
class KeyValueServed:
    """One treatment's values, over all trials that count; None where the server did not tell, rates also
    where no sample began and ended in a measurement.

    `cpu` is in processors; memory, fragmentation and clients are the highest that were seen; `saving_share`
    is the share of the looks at which it was writing its data to disk.
    """

    treatment: Treatment
    commands_per_s: float | None
    hit_share: float | None
    cpu: float | None
    used_memory_bytes: float | None
    fragmentation: float | None
    evicted_keys: int | None
    expired_keys: int
    clients: int | None
    saving_share: float


def key_value_by_treatment(
    samples: Frame, saving_columns: Sequence[str], treatments: Iterable[Treatment]
) -> tuple[KeyValueServed, ...]:
    """Values of each treatment that was watched, from the samples of a `KeyValueTable`."""
    treatments = tuple(treatments)
    frame = measured(samples, treatments)
    if not len(frame):
        return ()
    groups = frame.groups("treatment")
    complete = frame.numbers("t_s") >= frame.numbers("elapsed_s") if frame.has("elapsed_s") else False
    columns = {}
    for name in (*_RATES, *_KEY_VALUE_SUMS, *_MOST):
        if samples.has_values(name):
            values = frame.numbers(name)
            if name in _RATES:
                columns[name] = groups.sum(np.where(complete, values, 0.0))
            else:
                columns[name] = groups.sum(values) if name in _KEY_VALUE_SUMS else groups.max(values)
    saving = np.zeros(len(frame))
    for name in saving_columns:
        if frame.has(name):
            saving[frame.numbers(name) > 0] = 1.0
    columns["saving"] = groups.mean(saving)
    rows = {
        treatment: {
            name: value for name, values in columns.items() if (value := float(values[group])) == value
        }
        for group, treatment in enumerate(frame.text("treatment")[groups.first].tolist())
    }
    served = []
    for treatment in treatments:
        row = rows.get(treatment.id)
        if row is None:
            continue
        hits, misses = row.get("hits"), row.get("misses")
        looked_up = None if hits is None or misses is None else hits + misses
        clients = row.get("clients")
        served.append(
            KeyValueServed(
                treatment,
                commands_per_s=ratio(row.get("commands"), row.get("elapsed_s")),
                hit_share=ratio(hits, looked_up),
                cpu=ratio(row.get("cpu_s"), row.get("elapsed_s")),
                used_memory_bytes=row.get("used_memory_bytes"),
                fragmentation=row.get("fragmentation"),
                evicted_keys=None if (evicted := row.get("evicted_keys")) is None else round(evicted),
                expired_keys=round(row.get("expired_keys", 0)),
                clients=None if clients is None else int(clients),
                saving_share=row["saving"],
            )
        )
    return tuple(served)


def key_value_findings(
    served: Sequence[KeyValueServed], eviction_settings: Sequence[str]
) -> Iterator[Finding]:
    """A remark if treatments differ in how the server evicts keys, and none was evicted."""
    if len(served) < 2 or any(item.evicted_keys != 0 for item in served):
        return
    paths = dict.fromkeys(
        path
        for item in served
        for path in item.treatment.values
        if path.rpartition(".")[2] in eviction_settings
    )
    differing = [path for path in paths if len({str(item.treatment.values.get(path)) for item in served}) > 1]
    if differing:
        names = tuple(path.rpartition(".")[2] for path in differing)
        yield EVICTED_NOTHING.finding(tuple(item.treatment.id for item in served), settings=names)

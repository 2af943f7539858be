"""The sampler: regular instants, lateness and price on record, and a broken monitor that harms nothing."""

from __future__ import annotations

import queue
import time
from collections.abc import Mapping
from typing import Any, ClassVar

from hypothesis import given
from hypothesis import strategies as st

from loadcell.model.panels import SampleTable
from loadcell.model.trial_record import MonitorRecord
from loadcell.monitors.base import Monitor, MonitorContext, Row, Sampler, Schedule
from loadcell.plan.parts import Options

MS = 1_000_000


class Nothing(Options):
    pass


class Probe(Monitor[Nothing]):
    name = "probe"
    summary = "for tests"
    Options = Nothing
    table = SampleTable("probe", ("elapsed_s",))

    def __init__(self, act: Any = None) -> None:
        super().__init__(Nothing(), MonitorContext(roots=list))
        self.act = act
        self.calls: list[float] = []
        self.closed = False

    def sample(self, elapsed_s: float) -> list[Row]:
        self.calls.append(elapsed_s)
        if self.act:
            self.act(len(self.calls))
        return [{"elapsed_s": elapsed_s}] if elapsed_s else []

    def close(self) -> None:
        self.closed = True


class TestSchedule:
    def test_instants_do_not_shift_when_one_is_taken_late(self) -> None:
        schedule = Schedule(start_ns=1000 * MS, interval_ns=100 * MS)
        assert schedule.take(1000 * MS) == 0
        assert schedule.take(1130 * MS) == 30 * MS
        assert schedule.due_ns == 1200 * MS
        assert schedule.missed == 0

    def test_instants_wholly_gone_by_are_missed_not_made_up_for(self) -> None:
        schedule = Schedule(start_ns=0, interval_ns=100 * MS)
        schedule.take(350 * MS)
        assert (schedule.taken, schedule.missed, schedule.due_ns) == (1, 3, 400 * MS)

    @given(st.lists(st.integers(0, 10**10), max_size=50))
    def test_the_next_instant_is_always_ahead_and_every_instant_is_accounted_for(
        self, waits: list[int]
    ) -> None:
        schedule, now = Schedule(0, 100 * MS), 0
        for wait in waits:
            now = max(now, schedule.due_ns) + wait
            schedule.take(now)
            assert now < schedule.due_ns <= now + 100 * MS
            assert schedule.due_ns == (schedule.taken + schedule.missed) * 100 * MS


def run(probe: Probe, seconds: float, interval_ns: int = 50 * MS) -> tuple[Any, list[Row]]:
    rows: queue.SimpleQueue[list[Row]] = queue.SimpleQueue()
    sampler = Sampler("probe", probe, lambda _, sample: rows.put(sample), interval_ns)
    sampler.start()
    time.sleep(seconds)
    account = sampler.stop()
    samples = []
    while not rows.empty():
        samples += rows.get()
    return account, samples


def test_every_row_says_when_how_late_and_at_what_price() -> None:
    begun = time.monotonic_ns()
    account, rows = run(Probe(), 0.4)
    assert account.samples == len(rows) >= 3
    for row in rows:
        assert begun < row["mono_ns"] < time.monotonic_ns()
        assert row["utc"].endswith("Z")
        assert row["late_ms"] >= 0
        assert row["cost_ms"] >= 0
    assert account.record().file == "probe.csv"


def test_the_price_is_the_samplers_own_cpu_time_not_its_waiting() -> None:
    def work(call: int) -> None:
        end = time.thread_time() + 0.02
        while time.thread_time() < end:
            pass
        time.sleep(0.05)

    account, rows = run(Probe(work), 0.5, interval_ns=100 * MS)
    assert 20 <= rows[0]["cost_ms"] < 45
    assert account.cpu_ns >= 20 * MS * len(rows)


def test_a_slow_sample_misses_instants_and_says_so() -> None:
    account, rows = run(Probe(lambda call: time.sleep(0.18) if call == 2 else None), 0.6)
    assert account.missed >= 2
    assert max(row["elapsed_s"] for row in rows) > 0.15, "rates are over the time that went by"


def test_a_monitor_that_raises_loses_its_sample_and_is_named() -> None:
    def fail(call: int) -> None:
        if call == 2:
            raise OSError("no such thing")

    probe = Probe(fail)
    account, rows = run(probe, 0.4)
    assert account.trouble == "OSError: no such thing"
    assert account.record().trouble == account.trouble
    assert len(rows) >= 1, "and goes on"
    assert probe.closed


class Talker(Probe):
    """Has a table beside its file, events, a last look and a dedicated account."""

    tables: ClassVar[Mapping[str, SampleTable]] = {
        "words": SampleTable("probe-words", ("word",), text=frozenset({"word"})),
        "never": SampleTable("probe-never", ("word",), text=frozenset({"word"})),
    }

    def finish(self, elapsed_s: float) -> list[Row]:
        assert elapsed_s > 0
        return [{"elapsed_s": -1.0}]

    def further_rows(self) -> dict[str, list[Row]]:
        return {"words": [{"word": "a"}], "never": []}

    def events(self) -> list[Row]:
        return [{"event": "said"}]

    def account(self) -> MonitorRecord:
        assert self.closed, "asked when all is over"
        return MonitorRecord(questions=len(self.calls))


def test_tables_events_and_a_last_look() -> None:
    put: dict[str, list[Row]] = {}
    events: list[Row] = []
    talker = Talker()
    sampler = Sampler(
        "talker",
        talker,
        lambda name, rows: put.setdefault(name, []).extend(rows),
        50 * MS,
        tell=events.append,
    )
    sampler.start()
    time.sleep(0.2)
    record = sampler.stop().record()
    assert put["talker"][-1]["elapsed_s"] == -1.0
    assert set(put) == {"talker", "talker.words"}
    assert put["talker.words"][0].keys() >= {"mono_ns", "utc", "word"}
    assert len(events) == len(talker.calls) + 1
    assert events[0]["event"] == "said"
    assert events[0]["mono_ns"] <= events[-1]["mono_ns"]
    assert record.tables == {"words": "probe-words.csv"}, "a table without a row has no file"
    assert record.text_columns == {"probe.csv": (), "probe-words.csv": ("word",)}
    assert record.questions == len(talker.calls)


def test_a_monitor_that_gave_no_row_names_no_file() -> None:
    def fail(call: int) -> None:
        raise OSError("never")

    account, rows = run(Probe(fail), 0.1)
    assert rows == []
    assert account.record().file is None


def test_what_the_monitors_of_a_host_cost() -> None:
    """Facts: some 16 files, 0.15 ms in C; in Python, on a busy machine, below 0.3% of a core at 1 Hz."""
    from loadcell.monitors.host import Host, HostOptions

    monitor = Host(HostOptions(), MonitorContext(roots=list))
    monitor.sample(0)
    before = time.thread_time()
    for _ in range(50):
        monitor.sample(1.0)
    each_s = (time.thread_time() - before) / 50
    monitor.close()
    assert each_s < 0.003

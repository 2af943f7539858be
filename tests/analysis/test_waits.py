"""Waits of sessions, from looks to shares; checkpoints from events; counters from samples."""

from __future__ import annotations

import pytest

from frame_values import frame_of, frame_of_rows, values
from loadcell.analysis import server
from loadcell.analysis.analyse import analyse
from loadcell.analysis.treatments import Treatment
from loadcell.model.run_record import RunRecord
from loadcell.model.trial_record import Status, Totals, Window
from loadcell.store.frames import Frame, number_column
from loadcell.store.layout import ColumnType
from records import treatment as treatment_record
from records import trial as trial_record


def looks(trial: str, seconds: range, interval_s: int = 1) -> Frame:
    return frame_of(
        {"trial": [trial] * len(seconds), "treatment": ["a"] * len(seconds),
        "t_s": [float(s) for s in seconds],
         "looks": [float(interval_s)] * len(seconds), "sessions_idle_in_transaction": [0.5] * len(seconds)}
    )  # fmt: skip


def waited(*rows: tuple[str, float, str, str, float]) -> Frame:
    types: dict[str, ColumnType] = {
        "trial": "text", "t_s": "number", "wait_event_type": "text", "wait_event": "text",
        "sessions": "number", "treatment": "text",
    }  # fmt: skip
    return frame_of_rows(types, [(*row, "a") for row in rows])


def treatment(**statuses: str) -> tuple[Treatment, ...]:
    """Treatment `a` with trials of ten seconds by name and status."""
    records = [
        trial_record(
            n, "a", name=name, repeat=n, status=Status(status), measure=Window(10.0),
            totals=Totals(throughput_per_s=5.0),
        )
        for n, (name, status) in enumerate(statuses.items(), 1)
    ]  # fmt: skip
    return analyse(RunRecord(treatments=(treatment_record({}, "a"),)), records).treatments


def test_running_comes_first_and_then_what_took_most() -> None:
    frame = waited(("x", 1, "CPU", "CPU", 1), ("x", 1, "Lock", "tuple", 3), ("x", 2, "IO", "WALSync", 5))
    assert server.kinds(frame) == ["CPU", "IO: WALSync", "Lock: tuple"]
    assert server.kinds(frame.take(slice(0))) == []


def test_only_the_most_frequent_kinds_are_listed_and_the_others_are_summed() -> None:
    frame = waited(*(("x", 1.0, "IO", f"E{n}", 10.0 - n) for n in range(9)))
    names = server.kinds(frame)
    assert len(names) == server.MOST_KINDS
    wide = server.over_time(frame, looks("x", range(1, 2)), names)
    assert values(wide, "rest") == [3.0 + 2.0]


def test_a_moment_at_which_nobody_waited_counts_as_one() -> None:
    frame = waited(("x", 1, "Lock", "tuple", 4))
    wide = server.over_time(frame, looks("x", range(1, 4)), ["Lock: tuple"])
    assert values(wide, "w0") == [4, 0, 0]
    (item,) = server.waited_by_treatment(frame, looks("x", range(1, 4)), treatment(x="ok"))
    assert (item.looks, item.active) == (3, pytest.approx(4 / 3))


def test_sessions_are_means_over_the_looks_of_a_row() -> None:
    frame = waited(("x", 1, "CPU", "CPU", 30), ("x", 1, "Lock", "tuple", 10))
    (item,) = server.waited_by_treatment(frame, looks("x", range(1, 2), interval_s=10), treatment(x="ok"))
    assert item.active == 4
    assert item.idle_in_transaction == 0.5
    assert item.waits == {"CPU": 3, "Lock: tuple": 1}
    assert item.share("Lock: tuple") == 0.25
    assert item.share("IO: WALSync") == 0


def test_only_the_measurement_of_trials_that_count() -> None:
    frame = waited(
        ("x", -1, "IO", "early", 1),
        ("x", 5, "CPU", "CPU", 2),
        ("x", 11, "IO", "late", 1),
        ("bad", 5, "IO", "bad", 9),
    )
    seen = Frame.concat([looks("x", range(-1, 12)), looks("bad", range(1, 10))])
    (item,) = server.waited_by_treatment(frame, seen, treatment(x="ok", bad="invalid"))
    assert item.looks == 10
    assert item.waits == {"CPU": pytest.approx(0.2)}


def test_nothing_watched_gives_nothing() -> None:
    empty = frame_of_rows({"trial": "text", "treatment": "text"}, [])
    evidence = server.evidence(
        empty, empty, empty, frame_of_rows({"event": "text"}, []), [], treatment(x="ok")
    )
    assert (evidence.kinds, evidence.waited, evidence.served, evidence.statements) == ((), (), (), ())


def event(trial: str, t_s: float, name: str, reason: str = "timed") -> tuple[str, float, str, str]:
    return trial, t_s, name, f'{{"reason": "{reason}"}}'


def test_a_checkpoint_has_its_end_unless_the_trial_ended_first() -> None:
    events = frame_of_rows(
        {"trial": "text", "t_s": "number", "event": "text", "detail": "text"},
        [
            event("x", 1.0, "checkpoint"), event("x", 3.0, "checkpoint-end"), event("x", 3.5, "phase"),
            event("x", 8.0, "checkpoint", "requested"), event("y", 2.0, "checkpoint-end"),
        ],
    )  # fmt: skip
    assert server.checkpoints(events) == [
        server.Checkpoint("x", 1.0, 3.0, "timed"),
        server.Checkpoint("x", 8.0, None, "requested"),
    ]


def test_what_a_server_did_not_tell_is_unknown() -> None:
    counters = {
        "elapsed_s": 1.0, "commits": 50.0, "wal_bytes": None, "blocks_hit": 30.0, "blocks_read": 10.0,
        "deadlocks": 0.1,
    }  # fmt: skip
    samples = looks("x", range(1, 11)).adding(
        {name: number_column([value] * 10) for name, value in counters.items()}
    )
    (item,) = server.by_treatment(samples, [server.Checkpoint("x", 2.0, None, "timed")], treatment(x="ok"))
    assert (item.commits_per_s, item.hit_share, item.blocks_read_per_s) == (50, 0.75, 10)
    assert item.wal_bytes_per_s is None
    assert item.temp_bytes_per_s is None
    assert (item.deadlocks, item.checkpoints) == (1, 1)

"""Loads of Python callables: recorded as any other load, whatever the callables do."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from engine.loads import MS, Event, Result, specification
from loadcell import _engine
from loadcell.model.engine_messages import load_outcome

PARTS = [{"name": "look", "kind": "read"}, {"name": "put", "kind": "write"}]
Client = Callable[[int, _engine.Recording], Callable[[], object]]


def run(
    client: Client, on_event: Callable[[Event], None] = lambda event: None, parts: Any = PARTS, **load: Any
) -> Result:
    spec = json.loads(
        specification(
            {"protocol": "calls"}, {"operations": parts}, workload="calls", **{"clients": 2, **load}
        )
    )
    result: Result = json.loads(
        _engine.run_calls(json.dumps(spec), lambda line: on_event(json.loads(line)), client)
    )
    return result


def operation(result: Result, name: str) -> dict[str, Any]:
    [entry] = [operation for operation in result["operations"] if operation["name"] == name]
    return dict(entry)


class Works:
    """A call of two parts, which counts what it does; client 0's first call is noted with its thread."""

    def __init__(self, number: int, recording: _engine.Recording) -> None:
        self.recording = recording
        self.calls = 0
        self.made_on = threading.get_ident()

    def __call__(self) -> None:
        assert threading.get_ident() == self.made_on
        with self.recording.timed("look"):
            time.sleep(0.002)
        for _ in range(3):
            with self.recording.timed("put"):
                pass
        self.calls += 1


def test_calls_are_transactions_and_their_parts_operations() -> None:
    made: list[Works] = []

    def client(number: int, recording: _engine.Recording) -> Works:
        made.append(Works(number, recording))
        return made[-1]

    result = run(client, warmup_ns=0)
    complete, look, put = (operation(result, name) for name in ("transaction", "look", "put"))
    assert result["outcome"] == "completed"
    assert len(made) == 2
    assert result["lifetime"]["transactions"] == sum(works.calls for works in made)
    assert (look["kind"], put["kind"]) == ("read", "write")
    assert look["response"]["min_ns"] >= 2 * MS * 0.99
    for entry in (complete, look, put):
        assert entry["attempted"] == entry["succeeded"] + entry["failed"] + entry["in_flight"]
        assert entry["response"]["count"] == entry["succeeded"]
    assert abs(put["succeeded"] - 3 * complete["succeeded"]) <= 2 * 3, (
        "but for those that the window's end cut through"
    )
    assert result["lifetime"]["operations"]["put"] == 3 * result["lifetime"]["transactions"]


def test_the_number_of_calls_is_exact_and_parts_lie_in_the_intervals_in_which_they_happened() -> None:
    rows: list[Event] = []

    def client(number: int, recording: _engine.Recording) -> Callable[[], None]:
        def call() -> None:
            for _ in range(6):
                with recording.timed("look"):
                    time.sleep(0.1)

        return call

    def note(event: Event) -> None:
        if event["type"] == "interval" and event["phase"] == "measure":
            rows.append(event)

    result = run(
        client, note, clients=1, warmup_ns=0, requests=1, duration_ns=60_000 * MS, interval_ns=100 * MS
    )
    assert (operation(result, "transaction")["succeeded"], operation(result, "look")["succeeded"]) == (1, 6)
    looks = [
        operation["succeeded"]
        for row in rows
        for operation in row["operations"]
        if operation["name"] == "look"
    ]
    assert sum(looks) == 6
    assert sum(count > 0 for count in looks) >= 3, (
        "one call lasted for as many intervals, and its parts are not all in the last"
    )


class NotThereError(Exception):
    code = "not-there"


class GoneError(Exception):
    fatal = True


def test_what_is_raised_has_failed_by_its_code_or_its_class() -> None:
    def client(number: int, recording: _engine.Recording) -> Callable[[], None]:
        turns = iter(range(10**9))

        def call() -> None:
            time.sleep(0.001)
            with recording.timed("look"):
                if next(turns) % 2:
                    raise NotThereError("no such row\nand more of it")
            raise ValueError("not a number")

        return call

    result = run(client, warmup_ns=0)
    assert operation(result, "transaction")["succeeded"] == 0
    messages = {(error["operation"], error["code"]): error["message"] for error in result["errors"]}
    assert messages["transaction", "not-there"] == messages["look", "not-there"] == "no such row"
    assert messages["transaction", "ValueError"] == "not a number"
    assert ("look", "ValueError") not in messages
    assert operation(result, "look")["succeeded"] > 0


def test_what_is_tried_again_is_counted_apart() -> None:
    def client(number: int, recording: _engine.Recording) -> Callable[[], None]:
        def call() -> None:
            with recording.timed("put"):
                recording.retried("put")
                time.sleep(0.001)

        return call

    put = operation(run(client, warmup_ns=0), "put")
    assert put["failed"] == 0
    assert put["retried"] >= put["succeeded"] > 0


def test_clients_that_cannot_begin_end_the_load() -> None:
    def client(number: int, recording: _engine.Recording) -> Callable[[], None]:
        raise NotThereError("the file is locked")

    result = run(client)
    assert (result["outcome"], result["window"]) == ("connect-failed", None)
    assert "the file is locked" in load_outcome(result["outcome"], result["reason_args"], "calls").text


def test_a_client_that_is_lost_calls_no_more_and_all_of_them_end_the_load() -> None:
    calls: list[int] = []

    def client(number: int, recording: _engine.Recording) -> Callable[[], None]:
        def call() -> None:
            calls.append(number)
            raise GoneError("invalidated")

        return call

    result = run(client, warmup_ns=0, duration_ns=60_000 * MS, lost_ns=100 * MS)
    assert result["outcome"] == "lost"
    assert sorted(calls) == [0, 1]


def test_calls_are_due_by_a_rate() -> None:
    def client(number: int, recording: _engine.Recording) -> Callable[[], None]:
        return lambda: None

    schedule = {"rate": [{"from_per_s": 200, "to_per_s": 200, "for_ns": 500 * MS}]}
    result = run(client, warmup_ns=0, duration_ns=500 * MS, schedule=schedule)
    assert operation(result, "transaction")["attempted"] == result["schedule"]["offered"] == 100


def test_stopping_ends_it_in_order() -> None:
    def client(number: int, recording: _engine.Recording) -> Callable[[], None]:
        def call() -> None:
            time.sleep(0.001)

        return call

    def note(event: Event) -> None:
        if event["type"] == "interval":
            _engine.stop()

    assert run(client, note, duration_ns=60_000 * MS)["outcome"] == "stopped"


def test_a_part_that_was_not_announced_is_an_error_of_whoever_calls() -> None:
    def client(number: int, recording: _engine.Recording) -> Callable[[], None]:
        def call() -> None:
            time.sleep(0.001)
            recording.timed("transaction")

        return call

    assert {error["code"] for error in run(client, warmup_ns=0)["errors"]} == {"KeyError"}


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ([{"name": "look", "kind": "read"}] * 2, '"value":"look"'),
        ([{"name": "x"}], "missing field"),
        (None, "engine.spec.unreadable"),
    ],
)
def test_ambiguous_parts_are_refused(parts: Any, says: str) -> None:
    with pytest.raises(_engine.EngineError, match=says):
        run(Works, parts=parts)

"""Calling the engine: what ends a load before its time, and what cannot be carried out."""

from __future__ import annotations

import json
import signal
import threading
import time
from types import FrameType
from typing import Any

import pytest

from engine.loads import MS, Event, assert_counted, failure, specification
from loadcell import _engine
from loadcell.model.engine_messages import load_outcome
from servers import free_port
from specifications import complete
from truth.reference_server import ReferenceServer

LONG_S = 60


def call(server: ReferenceServer, on_event: Any) -> dict[str, Any]:
    spec = server.specification("oltp_point_select", clients=4, duration_s=LONG_S, warmup_s=0.1)
    spec["load"]["interval_ns"] = 100 * MS
    result: dict[str, Any] = json.loads(_engine.run(json.dumps(complete(spec)), on_event))
    return result


def nothing(_: str) -> None:
    """Nobody listens."""


def test_what_a_listener_raises_ends_the_load_and_is_raised() -> None:
    events: list[Event] = []

    def tired(text: str) -> None:
        events.append(json.loads(text))
        if events[-1]["type"] == "interval":
            raise RuntimeError("enough")

    started = time.monotonic()
    with ReferenceServer(service_us=1000) as server, pytest.raises(RuntimeError, match="enough"):
        call(server, tired)
    assert time.monotonic() - started < LONG_S / 2
    # It hears nothing more; whether a phase was told before its last interval is a matter of microseconds.
    types = [event["type"] for event in events if event["type"] != "phase"]
    assert types == ["connected", "interval"]
    assert events[-1]["type"] == "interval"


def test_ctrl_c_ends_the_load_at_once() -> None:
    def interrupt(_: int, __: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with ReferenceServer(service_us=1000) as server:
            started = time.monotonic()
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            with pytest.raises(KeyboardInterrupt):
                call(server, nothing)
        assert 0.25 < time.monotonic() - started < LONG_S / 2
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_signal_handler_can_stop_the_load_properly() -> None:
    before = signal.signal(signal.SIGALRM, lambda *_: _engine.stop())
    try:
        with ReferenceServer(service_us=1000) as server:
            signal.setitimer(signal.ITIMER_REAL, 0.5)
            result = call(server, nothing)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert result["outcome"] == "stopped"
    assert (
        load_outcome(result["outcome"], result["reason_args"], "calls").text
        == "the load was stopped before its end"
    )
    assert_counted(result)
    assert 0.1e9 < result["window"]["duration_ns"] < LONG_S / 2 * 1e9
    assert result["operations"][0]["succeeded"] > 10


def test_another_thread_can_stop_it_and_python_continues_meanwhile() -> None:
    ticks: list[int] = []

    def count() -> None:
        for tick in range(30):
            ticks.append(tick)
            time.sleep(0.01)
        _engine.stop()

    listeners: set[int] = set()
    with ReferenceServer(service_us=1000) as server:
        other = threading.Thread(target=count)
        other.start()
        result = call(server, lambda _: listeners.add(threading.get_ident()))
        other.join()
    assert result["outcome"] == "stopped"
    assert len(ticks) == 30
    assert listeners == {threading.get_ident()}


def test_a_stop_that_comes_first_is_not_forgotten_and_counts_once() -> None:
    _engine.stop()
    with ReferenceServer() as server:
        assert call(server, nothing)["outcome"] == "stopped"
    with ReferenceServer() as server:
        spec = server.specification("oltp_point_select", clients=1, duration_s=0.1)
        assert json.loads(_engine.run(json.dumps(complete(spec)), nothing))["outcome"] == "completed"


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"clients": 0}, "`load.clients`"),
        ({"rate_per_s": 5.0}, "unknown field `rate_per_s`"),
        ({"interval_ns": 0}, "`load.interval_ns`"),
        ({"colour": 1}, "unknown field `colour`"),
    ],
)
def test_what_cannot_be_carried_out_is_a_problem(change: dict[str, Any], part: str) -> None:
    target = {"protocol": "postgres", "host": "127.0.0.1", "port": free_port(), "user": "u", "database": "d"}
    spec = specification(target, {"script": "oltp_point_select"}, **change)
    problem = failure(lambda: _engine.run(spec, nothing))
    assert problem["code"] == "spec"
    assert part in problem["finding"]


def test_a_host_that_nobody_knows_is_a_problem() -> None:
    target = {"protocol": "postgres", "host": "nowhere.invalid", "user": "u", "database": "d"}
    problem = failure(lambda: _engine.run(specification(target, {"script": "oltp_point_select"}), nothing))
    assert problem["code"] == "connection"
    assert "nowhere.invalid" in problem["finding"]
    assert problem["advice"]


def test_the_version_is_reported() -> None:
    assert _engine.version().count(".") == 2

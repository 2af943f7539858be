"""Transactions and scripts of one's own on a real Redis and a real Valkey."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from redis_server import RedisServer

from .loads import MS, assert_counted, failure, prepare, run

SMALL: dict[str, Any] = {"keys": 50, "value_size": 40, "mix": {}}
#: A load of 40 operations.
COUNTED: dict[str, Any] = {"requests_per_client": 10, "warmup_ns": 0, "duration_ns": 60_000 * MS}
PAY = ["MULTI", "INCRBY paid:${key} 5", "LPUSH log ${value}", "EXEC"]
COUNT = "redis.call('INCR', 'calls'); return redis.call('INCRBY', KEYS[1], ARGV[1])"


@pytest.fixture(params=["redis_server", "valkey_server"])
def server(request: pytest.FixtureRequest) -> RedisServer:
    """Each of the common servers, empty and without scripts."""
    server: RedisServer = request.getfixturevalue(request.param)
    server.ask("FLUSHALL")
    server.ask("SCRIPT", "FLUSH")
    return server


def load(server: RedisServer, commands: dict[str, Any], **more: Any) -> dict[str, Any]:
    options = {**SMALL, "commands": commands, "pipeline": more.pop("pipeline", 1)}
    result = run(server.endpoint(), options, workload="kv", **{**COUNTED, **more})
    assert result["outcome"] == "completed", result
    assert_counted(result)
    return result


def script(text: str, keys: list[str] | None = None, arguments: list[str] | None = None) -> dict[str, Any]:
    return {"script": {"name": "count", "text": text, "keys": keys or [], "arguments": arguments or []}}


def errors(result: dict[str, Any]) -> dict[str, int]:
    """Failed transactions by code."""
    return {
        error["code"]: error["count"] for error in result["errors"] if error["operation"] == "transaction"
    }


def done(result: dict[str, Any], name: str) -> int:
    return int(result["lifetime"]["operations"][name])


@pytest.mark.parametrize("pipeline", [1, 7])
def test_transaction_is_one_operation(server: RedisServer, pipeline: int) -> None:
    before = server.calls()
    result = load(server, {"pay": {"commands": PAY}}, pipeline=pipeline)
    assert errors(result) == {}
    assert done(result, "pay") == done(result, "transaction") == 40
    after = server.calls()
    for name in ("multi", "exec", "incrby", "lpush"):
        assert after[name] - before.get(name, 0) == 40, name
    assert server.ask("LLEN", "log") == 40
    keys = server.ask("KEYS", "paid:*")
    assert sum(int(server.ask("GET", key)) for key in keys) == 5 * 40


def test_error_within_exec_has_its_class(server: RedisServer) -> None:
    server.ask("SET", "text", "x")
    wrong = ["MULTI", "INCR counted", "LPUSH text 1", "EXEC"]
    result = load(server, {"wrong": {"commands": wrong}})
    assert errors(result) == {"WRONGTYPE": 40}
    assert server.ask("GET", "counted") in (b"40", "40"), "Redis rolls nothing back"


def test_command_that_is_not_queued_has_its_own_class(server: RedisServer) -> None:
    result = load(server, {"wrong": {"commands": ["MULTI", "INCR counted", "GET", "EXEC"]}})
    assert errors(result) == {"ERR": 40}, "not EXECABORT, which follows from it"
    assert server.ask("EXISTS", "counted") == 0


@pytest.mark.parametrize("pipeline", [1, 7])
def test_script_is_loaded_once_and_called_by_its_digest(server: RedisServer, pipeline: int) -> None:
    before = server.calls()
    result = load(server, {"count": script(COUNT, ["sum:${key}"], ["5"])}, pipeline=pipeline)
    assert errors(result) == {}
    assert done(result, "count") == 40
    after = server.calls()
    assert after["evalsha"] - before.get("evalsha", 0) == 40
    assert after.get("eval", 0) == before.get("eval", 0)
    assert int(server.ask("GET", "calls")) == 40
    keys = server.ask("KEYS", "sum:*")
    assert sum(int(server.ask("GET", key)) for key in keys) == 5 * 40


@pytest.mark.parametrize("pipeline", [1, 8])
def test_script_that_the_server_lost_is_loaded_again(server: RedisServer, pipeline: int) -> None:
    stop, flushes = threading.Event(), []

    def flush() -> None:
        while not stop.wait(0.02):
            flushes.append(server.ask("SCRIPT", "FLUSH"))

    thread = threading.Thread(target=flush)
    thread.start()
    try:
        commands = {"count": script(COUNT, ["k"], ["1"])}
        result = load(server, commands, pipeline=pipeline, requests_per_client=3000)
    finally:
        stop.set()
        thread.join()
    assert errors(result).keys() <= {"NOSCRIPT"}
    failed = errors(result).get("NOSCRIPT", 0)
    # One call where it was flushed between the loading and the call; of batches, all calls on their way.
    assert failed < (20 if pipeline == 1 else 2 * 4 * pipeline * len(flushes))
    assert int(server.ask("GET", "calls")) == done(result, "count") == 12_000 - failed


def test_error_of_a_script_is_counted_with_its_class(server: RedisServer) -> None:
    result = load(server, {"fail": script("return redis.error_reply('LIMIT reached')")})
    assert errors(result) == {"LIMIT": 40}


def test_script_with_a_mistake_ends_the_trial_with_its_line(server: RedisServer) -> None:
    wrong = {"limit": {"script": {"name": "limit (limit.lua)", "text": "local a = 1\nreturn a +"}}}
    options = {**SMALL, "commands": wrong}
    result = run(server.endpoint(), options, workload="kv", **COUNTED)
    assert result["outcome"] == "connect-failed"
    assert result["reason"].startswith(
        "the server refused a script: limit (limit.lua): Error compiling script"
    )
    assert "user_script:2:" in result["reason"]
    assert "correct the script" in result["advice"]


def test_restarted_server_gets_the_script_again() -> None:
    with RedisServer() as server:
        events: list[float] = []

        def restart(event: dict[str, Any]) -> None:
            if event["type"] == "interval" and not events:
                events.append(time.monotonic())
                server.kill()
                server.start()

        commands = {"count": script(COUNT, ["k"], ["1"])}
        more = {"warmup_ns": 0, "duration_ns": 1500 * MS}
        result = run(
            server.endpoint(), {**SMALL, "commands": commands}, workload="kv", on_event=restart, **more
        )
        assert result["outcome"] == "completed", result
        assert events
        assert "NOSCRIPT" not in errors(result)
        assert int(server.ask("GET", "calls")) > 0


def test_transaction_that_is_not_closed_is_refused(server: RedisServer) -> None:
    options = {**SMALL, "commands": {"pay": {"commands": ["MULTI", "PING"]}}}
    problem = failure(lambda: prepare(server.endpoint(), options, workload="kv"), "resp")
    assert "MULTI without EXEC" in problem["finding"]

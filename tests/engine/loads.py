"""Loads and preparations through the engine itself, without plan or worker."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from loadcell import _engine
from loadcell.model.engine_messages import engine_failure, load_outcome
from servers import PostgresServer
from specifications import complete

Event = dict[str, Any]
Result = dict[str, Any]

MS = 1_000_000
SECOND = 1_000_000_000


def specification(
    target: dict[str, Any], options: dict[str, Any], *, workload: str = "sysbench", seed: int = 7, **load: Any
) -> str:
    """The engine's specification: short and small unless told otherwise."""
    defaults = {
        "clients": 4,
        "threads": 1,
        "warmup_ns": 50 * MS,
        "duration_ns": 300 * MS,
        "interval_ns": 100 * MS,
    }
    spec = {
        "seed": seed,
        "target": target,
        "workload": {workload: options},
        "load": {**defaults, **load},
    }
    return json.dumps(complete(spec))


def prepare(
    target: dict[str, Any],
    options: dict[str, Any],
    *,
    workload: str = "sysbench",
    seed: int = 7,
    on_event: Callable[[Event], None] = lambda event: None,
) -> Result:
    """Load the data; the engine's account of it."""
    text = _engine.prepare(
        specification(target, options, workload=workload, seed=seed), lambda line: on_event(json.loads(line))
    )
    account: Result = json.loads(text)
    return account


def run(
    target: dict[str, Any],
    options: dict[str, Any],
    *,
    workload: str = "sysbench",
    on_event: Callable[[Event], None] = lambda event: None,
    seed: int = 7,
    **load: Any,
) -> Result:
    """Make a load; its result."""
    text = _engine.run(
        specification(target, options, workload=workload, seed=seed, **load),
        lambda line: on_event(json.loads(line)),
    )
    result: Result = json.loads(text)
    return explained(result, target)


def explained(result: Result, target: dict[str, Any]) -> Result:
    """The result with reason and advice by the catalogue."""
    if result["outcome"] == "completed":
        return {**result, "reason": None, "advice": None}
    message = load_outcome(result["outcome"], result["reason_args"], target["protocol"])
    return {**result, "reason": message.text, "advice": message.advice}


def failure(call: Callable[[], Any], protocol: str = "") -> dict[str, str]:
    """The error that the engine raises: its code, and text and advice by the catalogue, of a load over
    `protocol`.
    """
    try:
        answer = call()
    except _engine.EngineError as error:
        document = json.loads(str(error))
        message = engine_failure(document, protocol)
        return {"code": document["code"], "finding": message.text, "advice": message.advice}
    raise AssertionError(f"this should have failed, but gave {answer}")


def operation(result: Result, name: str) -> dict[str, Any]:
    """One operation of a result, by name."""
    return next(entry for entry in result["operations"] if entry["name"] == name)


def assert_counted(result: Result) -> None:
    """The counting identity of every operation, and the counts of its timings."""
    for entry in result["operations"]:
        assert entry["attempted"] == entry["succeeded"] + entry["failed"] + entry["in_flight"], entry
        assert (entry["response"] or {"count": 0})["count"] == entry["succeeded"], entry
        assert (entry["service"] or {"count": 0})["count"] == entry["succeeded"], entry


def until_gone(server: PostgresServer, database: str) -> None:
    """Wait until nobody is connected to the database: then the server has counted all that was done in it."""
    deadline = time.monotonic() + 10
    question = f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{database}'"
    while server.sql(question) != [(0,)]:
        assert time.monotonic() < deadline, "connections were left open"
        time.sleep(0.01)

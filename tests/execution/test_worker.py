"""The worker's last line when a load fails: one shape, whoever makes the load."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from loadcell.model.load_result import Failed, read_event
from specifications import complete

#: Nothing listens on this port.
REFUSED = {"protocol": "postgres", "host": "127.0.0.1", "port": 1, "user": "u", "sslmode": "disable"}
DUCKDB = {
    "target": {"database": "/nowhere/d.duckdb", "config": {}},
    "workload": {"duckdb": {"rows": 1, "distinct": 1}},
}


def last_line(**order: Any) -> Failed:
    text = json.dumps({"parent": os.getpid(), **order}) + "\n"
    done = subprocess.run(
        [sys.executable, "-m", "loadcell.execution.worker"], input=text, capture_output=True, text=True
    )
    assert done.returncode == 1, done.stderr
    event = read_event(done.stdout.splitlines()[-1])
    assert isinstance(event, Failed)
    return event


@pytest.mark.parametrize(
    ("order", "code", "text"),
    [
        ({"mode": "run", "spec": {"target": REFUSED}}, "load.spec", "missing field"),
        (
            {"mode": "prepare", "spec": DUCKDB, "made_by": "loadcell.systems.duckdb.load"},
            "duckdb.failed",
            "/nowhere/d.duckdb",
        ),
        (
            {"mode": "run", "spec": {}, "made_by": "loadcell.workloads.tool_runner"},
            "worker.broken",
            "KeyError",
        ),
        ({"mode": "run", "spec": {}, "pin": ["9999", ""]}, "worker.affinity", "Invalid argument"),
    ],
    ids=["engine", "module", "exception", "worker"],
)
def test_a_failure_is_a_message_of_the_catalogue(order: dict[str, Any], code: str, text: str) -> None:
    reason = last_line(**order).error.message
    assert reason.code == code
    assert text in reason.text


def test_the_engines_error_has_the_remedy_of_the_loads_protocol() -> None:
    load = {"clients": 1, "threads": 1, "warmup_ns": 0, "duration_ns": 1}
    spec = complete({"target": REFUSED, "seed": 1, "load": load, "workload": {"sysbench": {}}})
    reason = last_line(mode="prepare", spec=spec).error.message
    assert reason.code == "load.connection"
    assert reason.advice == "check that the server runs, and its host and port"

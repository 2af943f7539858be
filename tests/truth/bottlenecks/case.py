"""Contract of a bottleneck, one run against it, and the groups of processes that it needs."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadcell.analysis.limits.candidate import Evidence
from loadcell.analysis.trials import of_run
from loadcell.store.read import read_run
from redis_server import RedisServer
from servers import PostgresServer

#: Measured seconds of one trial: 20 samples of threads need four.
MEASURED_S = 6
_RUN_LIMIT_S = 180
#: Where servers keep their data.
DATA = "/var/tmp"
#: The password of a Redis, in the environment of a run.
SECRET = {"BENCH": "secret"}


@dataclass(frozen=True)
class Bottleneck:
    """A bottleneck: `build` yields a plan of one trial whose limit has the name `limit`.

    `size` is that of the case in words, for the table of results.
    """

    name: str
    limit: str
    build: Callable[[random.Random], AbstractContextManager[Case]]


@dataclass(frozen=True)
class Case:
    """A plan, and its size in words; `environment` is added to that of the run."""

    plan: Mapping[str, Any]
    size: str
    environment: Mapping[str, str] | None = None


def load(clients: int, **other: Any) -> dict[str, Any]:
    """The section `load` of a plan."""
    return {"clients": clients, "warmup": "1s", "duration": f"{MEASURED_S}s", **other}


def redis_target(server: RedisServer) -> dict[str, Any]:
    """A running Redis as a target."""
    return {
        "redis": {"server": "external", "host": server.host, "port": server.port, "password": "${env:BENCH}"}
    }


def postgres_target(server: PostgresServer) -> dict[str, Any]:
    """A running PostgreSQL as a target."""
    return {
        "postgres": {
            "server": "external",
            "dsn": f"postgresql://postgres@{server.host}:{server.port}/postgres",
        }
    }


@dataclass(frozen=True)
class Outcome:
    """Result of one run: the named limit, None if it is not known, the judgement as JSON, and what it rests
    on.
    """

    limit: str | None
    document: Mapping[str, Any]
    evidence: Evidence


def outcome(case: Case) -> Outcome:
    """Run the plan of a case. Raises AssertionError if the trial was not measured."""
    with tempfile.TemporaryDirectory(prefix="loadcell-test-", dir="/var/tmp") as home:
        plan = Path(home) / "plan.yaml"
        plan.write_text(json.dumps({"repeats": 1, **case.plan}))  # JSON is YAML
        loadcell = [sys.executable, "-m", "loadcell"]
        environment = {**os.environ, **(case.environment or {})}
        done = subprocess.run(
            [*loadcell, "run", str(plan), "--out", f"{home}/run"],
            capture_output=True, text=True, timeout=_RUN_LIMIT_S, env=environment, check=False,
        )  # fmt: skip
        records = [json.loads(path.read_text()) for path in Path(home).glob("run/trials/*/trial.json")]
        assert [record["status"] in ("ok", "invalid") for record in records] == [True], (
            done.stdout[-3000:] + done.stderr[-3000:]
        )
        report = subprocess.run(
            [*loadcell, "report", f"{home}/run", "--json"],
            capture_output=True, text=True, timeout=_RUN_LIMIT_S, env=environment, check=True,
        )  # fmt: skip
        [limit] = json.loads(report.stdout)["bottlenecks"].values()
        stored = read_run(Path(home) / "run")
        [evidence] = map(Evidence.of, of_run(stored.run, stored.trials))
        assert evidence is not None
        return Outcome(limit["limit"], limit, evidence)


@contextmanager
def control_group(controller: str, settings: Mapping[str, str]) -> Iterator[Path]:
    """A control group (v1) with these settings; needs root. Its processes have to end before it does."""
    group = Path(f"/sys/fs/cgroup/{controller}/loadcell-test-{os.getpid()}")
    group.mkdir()
    try:
        for name, value in settings.items():
            (group / name).write_text(value)
        yield group
    finally:
        group.rmdir()


def data_device() -> str:
    """Number of the disk with the servers' data."""
    device = Path(DATA).stat().st_dev
    return f"{os.major(device)}:{os.minor(device)}"


def put(group: Path, pid: int) -> None:
    """Move a process and its descendants into a group."""
    pids = [pid]
    while pids:
        process = pids.pop()
        (group / "cgroup.procs").write_text(str(process))
        children = Path(f"/proc/{process}/task/{process}/children")
        pids += [int(child) for child in children.read_text().split()]

"""Whole runs on servers that break at random.

A real server stands behind a proxy that falls silent, closes, drops, flips or slows down the answers from a
random byte on. Whatever it does, a run has to end within its limits, to give a reason, and to have no fault.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

from execution.live import Live
from execution.test_unexpected_servers import HTTP, LIMITS, LOAD, MYSQL, POSTGRES, REDIS
from hostile import Hostile, response, says
from loadcell.store.layout import StoreError
from mariadb import MariadbServer
from proxy import Change, Proxy
from redis_server import RedisServer
from servers import PostgresServer

CASES = 200

SERVERS: dict[str, Callable[[], Any]] = {
    "http": lambda: Hostile(says(response())),
    "redis": RedisServer,
    "mysql": MariadbServer,
    "postgres": PostgresServer,
}
PLANS = {"http": HTTP, "redis": REDIS, "mysql": MYSQL, "postgres": POSTGRES}
#: Longest time that a phase, or the end of a run, may take: its limit of two seconds and five more.
LIMIT_S = 2.0 + 5.0
#: A load is set up, runs for half a second and is drained for at most five.
LOAD_S = 0.5 + 5.0 + LIMIT_S
#: Answers of a whole run have about as many bytes at least, so that every part of it is met.
BYTES = {"http": 3_000, "redis": 20_000, "mysql": 60_000, "postgres": 60_000}
BEHAVIOURS = ("silence", "close", "drop", "flip", "zeros", "slow")


def breaking(behaviour: str, at_byte: int, randoms: Random) -> Change:
    """A change of answers from a byte on, counted over all connections."""
    passed = 0
    lock = threading.Lock()

    def change(data: bytes) -> bytes | None:
        nonlocal passed
        with lock:
            start, passed = max(0, at_byte - passed), passed + len(data)
        if start >= len(data):
            return data
        if behaviour == "silence":
            return None
        if behaviour == "close":
            raise ConnectionResetError
        if behaviour == "drop":
            return data[:start] + data[start + 1 + randoms.randrange(8) :]
        if behaviour == "flip":
            position = randoms.randrange(start, len(data))
            flipped = data[position] ^ 1 << randoms.randrange(8)
            return data[:position] + bytes([flipped]) + data[position + 1 :]
        if behaviour == "zeros":
            return data[:start] + bytes(len(data) - start)
        time.sleep(0.05)
        return data

    return change


def fault(home: Path, plan: str, port: int) -> tuple[str, str]:
    """Status of the trial of a run, and what is wrong with the run."""
    with Live(home, plan.format(port=port) + LOAD + LIMITS, env={"SECRET": "secret"}) as live:
        try:
            live.end()
            stored = live.stored()
        except (TimeoutError, StoreError, OSError) as error:
            return "", f"{type(error).__name__}: {error}"
        except Exception as error:  # subprocess.TimeoutExpired: it never ended
            return "", f"no end: {type(error).__name__}"
    if "Traceback" in live.err or "fault in loadcell" in live.err:
        return "", live.err[-500:]
    if len(stored.trials) != 1:
        return "", f"{len(stored.trials)} trials"
    [trial] = stored.trials
    if "fault in loadcell" in (trial.reason or ""):
        return trial.status, trial.reason or ""
    for phase in trial.phases:
        if (phase.duration_s or 0.0) > (LOAD_S if phase.name in ("warmup", "measure", "drain") else LIMIT_S):
            return trial.status, f"{phase.name} took {phase.duration_s:.1f} s"
    after_s = datetime.fromisoformat(stored.run.ended_utc or "") - datetime.fromisoformat(
        trial.ended_utc or ""
    )
    if after_s.total_seconds() > LIMIT_S:
        return trial.status, f"the run ended {after_s.total_seconds():.1f} s after its trial"
    succeeded = trial.totals.transactions.succeeded if trial.totals else 0
    if trial.status == "ok" and not succeeded:
        return trial.status, "ok without a success"
    return trial.status, ""


def case(random: Random, home: Path) -> None:
    """Run on a server whose answers change from a random byte on."""
    kind, behaviour = random.choice(list(PLANS)), random.choice(BEHAVIOURS)
    at_byte = random.randrange(BYTES[kind])
    change = breaking(behaviour, at_byte, random)
    with SERVERS[kind]() as server, Proxy(("127.0.0.1", server.port), answered=change) as proxy:
        status, wrong = fault(home, PLANS[kind], proxy.port)
    assert not wrong, f"{kind}, {behaviour} from byte {at_byte} on, status {status}: {wrong}"

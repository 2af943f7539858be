"""Campaign of whole runs on servers that break at random: `python -m campaigns.hostile_servers 200 FILE`.

It runs in `tests`; FILE keeps the finished cases. A real server stands behind a proxy that falls silent,
closes, drops, flips or slows down the answers from a random byte on. Whatever it does, a run has to end
within its limits, to give a reason, and to have no fault.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from execution.live import Live
from execution.test_unexpected_servers import HTTP, LIMITS, LOAD, MYSQL, POSTGRES, REDIS
from hostile import Hostile, response, says
from loadcell.store.layout import StoreError
from mariadb import MariadbServer
from proxy import Change, Proxy
from redis_server import RedisServer
from servers import PostgresServer

PLANS = {"http": HTTP, "redis": REDIS, "mysql": MYSQL, "postgres": POSTGRES}
#: Longest time that a phase, or the end of a run, may take: its limit of two seconds and five more.
LIMIT_S = 2.0 + 5.0
#: A load is set up, runs for half a second and is drained for at most five.
LOAD_S = 0.5 + 5.0 + LIMIT_S
#: Answers of a whole run have about as many bytes at least, so that every part of it is met.
BYTES = {"http": 3_000, "redis": 20_000, "mysql": 60_000, "postgres": 60_000}
BEHAVIOURS = ("silence", "close", "drop", "flip", "zeros", "slow")


@dataclass(frozen=True)
class Outcome:
    """One case: what was done from which byte on, and what was wrong with the run; empty if nothing."""

    case: int
    kind: str
    behaviour: str
    at_byte: int
    status: str
    wrong: str = ""


def breaking(behaviour: str, at_byte: int, randoms: random.Random) -> Change:
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


def run_case(case: int, seed: int, ports: dict[str, int]) -> Outcome:
    """Run a case; the same case and seed do the same."""
    randoms = random.Random(f"{seed}:{case}")
    kind = randoms.choice(list(ports))
    behaviour, at_byte = randoms.choice(BEHAVIOURS), randoms.randrange(BYTES[kind])
    change = breaking(behaviour, at_byte, randoms)
    with (
        tempfile.TemporaryDirectory(prefix="loadcell-campaign-") as home,
        Proxy(("127.0.0.1", ports[kind]), answered=change) as proxy,
    ):
        status, wrong = fault(Path(home), PLANS[kind], proxy.port)
    return Outcome(case, kind, behaviour, at_byte, str(status), wrong)


def campaign(
    cases: int, seed: int, state: Path, tell: Callable[[Outcome], None] = lambda outcome: None
) -> list[Outcome]:
    """Run `cases` cases but those that `state` (a JSON line each) has already. Returns what failed."""
    lines = state.read_text(encoding="utf-8").splitlines() if state.exists() else []
    outcomes = {outcome.case: outcome for outcome in (Outcome(**json.loads(line)) for line in lines)}
    with ExitStack() as stack:
        ports = {
            "http": stack.enter_context(Hostile(says(response()))).port,
            "redis": stack.enter_context(RedisServer()).port,
            "mysql": stack.enter_context(MariadbServer()).port,
            "postgres": stack.enter_context(PostgresServer()).port,
        }
        for case in range(cases):
            if case not in outcomes:
                outcomes[case] = run_case(case, seed, ports)
                with state.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(outcomes[case])) + "\n")
                tell(outcomes[case])
    return [outcome for outcome in outcomes.values() if outcome.wrong]


if __name__ == "__main__":
    failures = campaign(int(sys.argv[1]), seed=1, state=Path(sys.argv[2]), tell=print)
    sys.exit(1 if failures else 0)

"""Kills at random instants: of the runner, the worker, the server, or runner and server together.

A case is one small run: it is killed and resumed several times, and then left to its end. No finished trial
may change, and nothing may remain of the run outside its directory. In `tests`, a campaign is
`python -m campaigns.kills CASES SEED STATE`.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import psutil

from execution.live import Live
from loadcell.execution import workdir

#: Three short trials each; the last number is how long an undisturbed run takes, in seconds.
SYSTEMS = {
    "redis": (
        """
target: {redis: {}}
workload: {kv: {keys: 1000}}
load: {clients: 2, rate: 200/s, warmup: 0s, duration: 300ms, interval: 100ms}
repeats: 3
""",
        3.0,
    ),
    "postgres": (
        """
target: {postgres: {server: embedded, settings: {fsync: off}}}
workload: {sysbench: {script: oltp_read_write, tables: 1, table_size: 500}}
load: {clients: 2, rate: 50/s, max_backlog: 1min, warmup: 0s, duration: 300ms, interval: 100ms}
repeats: 3
""",
        6.0,
    ),
}
#: Who is killed, and by which signal.
VICTIMS = {
    "runner": signal.SIGKILL,
    "runner and server": signal.SIGKILL,
    "server": signal.SIGKILL,
    "worker": signal.SIGKILL,
    "runner, in order": signal.SIGTERM,
    "runner, hung up": signal.SIGHUP,
}
_WORKER, _SERVERS = "loadcell.execution.worker", ("postgres", "redis-server", "valkey-server")
#: How long an attempt may take, and what was killed may need to end.
_PATIENCE_S, _END_S = 120.0, 20.0
_LOOK_S = 0.05
_TESTS = Path(__file__).parents[1]


@dataclass
class Outcome:
    """Actions of a case (`kills`: victim and instant), and its problems."""

    case: int
    system: str
    kills: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


@dataclass
class Traces:
    """Everything seen of a run outside its directory: processes, and shared memory by its owner."""

    processes: dict[tuple[int, float], psutil.Process] = field(default_factory=dict)
    segments: set[str] = field(default_factory=set)
    files: set[str] = field(default_factory=set)

    def look(self, root: int) -> list[psutil.Process]:
        """Take in the present descendants of the runner, and give them."""
        try:
            present = psutil.Process(root).children(recursive=True)
        except psutil.Error:
            return []
        for process in present:
            try:
                self.processes[process.pid, process.create_time()] = process
                if process.name() == "postgres" and process.ppid() == root:
                    maps = process.memory_maps(grouped=False)
                    names = {Path(entry.path.split(" ")[0]).name for entry in maps}
                    self.files |= {name for name in names if name.startswith("PostgreSQL.")}
            except psutil.Error:
                continue
        pids = {str(pid) for pid, _ in self.processes}
        self.segments |= {number for number, creator in segments() if creator in pids}
        return present

    def living(self) -> list[str]:
        """Processes that still are; zombies excluded."""
        lines = []
        for process in self.processes.values():
            try:
                if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                    lines.append(f"process {process.pid} {process.name()}")
            except psutil.Error:
                continue
        return lines

    def memory(self) -> list[str]:
        """Shared memory that still exists."""
        present = {number for number, _ in segments()}
        files = [f"/dev/shm/{name}" for name in self.files if Path("/dev/shm", name).exists()]
        return files + [f"segment {number}" for number in self.segments & present]


def segments() -> Iterator[tuple[str, str]]:
    """System V segments: number and process id of the creator."""
    for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]:
        fields = line.split()
        yield fields[1], fields[4]


def finished(run: Path) -> dict[str, bytes]:
    """Records of the trials that succeeded."""
    files = {path.parent.name: path.read_bytes() for path in run.glob("trials/[0-9]*/trial.json")}
    return {name: text for name, text in files.items() if json.loads(text)["status"] == "ok"}


def attempt(home: Path, plan: str, traces: Traces, victim: str | None, at_s: float) -> Live:
    """Begin or resume the run, kill somebody at that instant, and wait for its end."""
    resumed = (home / "run" / "run.json").exists()
    options = ("--resume", "run", "--retry-failed") if resumed else ("--out", "run")
    began = time.monotonic()
    with Live(home, plan, *options, "--no-report", "-q") as live:
        killed = victim is None
        while live.process.poll() is None and time.monotonic() - began < _PATIENCE_S:
            present = traces.look(live.process.pid)
            if not killed and time.monotonic() - began >= at_s:
                kill(victim or "", live, present)
                killed = True
            time.sleep(_LOOK_S)
        live.process.kill()
        live.end()
    return live


def kill(victim: str, live: Live, present: list[psutil.Process]) -> None:
    """Kill one of them; whoever is not there yet, or no more, is not killed."""
    number = VICTIMS[victim]
    servers, workers = [], []
    for process in present:
        try:
            (servers if process.name() in _SERVERS else workers).append(process)
        except psutil.Error:
            continue
    if "server" in victim:
        for process in servers:
            process.suspend()  # none of them notices the end of another
    if "runner" in victim:
        live.send(number)
    if "server" in victim:
        for process in reversed(servers):
            process.kill()
    if victim == "worker":
        for process in workers:
            if _WORKER in " ".join(process.cmdline()):
                process.kill()


def case(number: int, seed: int, kills: int = 3, system: str | None = None) -> Outcome:
    """One run with that many kills."""
    chance = random.Random(f"{seed}:{number}")
    system = system or chance.choice([*SYSTEMS])
    plan, typical_s = SYSTEMS[system]
    outcome, traces = Outcome(number, system), Traces()
    home = Path(tempfile.mkdtemp(prefix="loadcell-kills-"))
    run = home / "run"
    try:
        records: dict[str, bytes] = {}
        for _ in range(kills):
            victim, at_s = chance.choice([*VICTIMS]), chance.uniform(0.1, typical_s)
            outcome.kills.append(f"{victim} at {at_s:.2f} s")
            live = attempt(home, plan, traces, victim, at_s)
            outcome.problems += complaints(live, records, finished(run))
            records = finished(run)
        live = attempt(home, plan, traces, None, 0.0)
        outcome.problems += complaints(live, records, finished(run))
        if live.process.returncode != 0 or len(finished(run)) != 3:
            outcome.problems.append(f"resumed to status {live.process.returncode}: {live.err.strip()[-500:]}")
        outcome.problems += remains(traces)
    except (psutil.Error, OSError, ValueError) as error:
        outcome.problems.append(repr(error))
    finally:
        shutil.rmtree(home, ignore_errors=True)
    return outcome


def complaints(live: Live, before: dict[str, bytes], after: dict[str, bytes]) -> list[str]:
    """Problems after an attempt."""
    changed = [f"trial {name} was lost or changed" for name in before if after.get(name) != before[name]]
    words = ("Traceback", "fault in loadcell")
    return changed + [f"{word}: {live.err.strip()[-500:]}" for word in words if word in live.err]


def remains(traces: Traces) -> list[str]:
    """Remains of a run outside its directory; processes get a moment to end."""
    deadline = time.monotonic() + _END_S
    while (lines := traces.living()) and time.monotonic() < deadline:
        time.sleep(_LOOK_S)
    pids = {pid for pid, _ in traces.processes}
    places = [str(path) for path in workdir.HOME.glob("loadcell-*/run*") if _owner(path) in pids]
    return lines + traces.memory() + places


def _owner(path: Path) -> int | None:
    try:
        return int(json.loads((path / "owner.json").read_text())["pid"])
    except (OSError, ValueError, KeyError):
        return None


def case_apart(number: int, seed: int, kills: int = 3, system: str | None = None) -> Outcome:
    """A case with its own /var/tmp and System V memory, so that no other run sweeps its remains.

    Without the right to a namespace it runs on the machine as it is.
    """
    command = [
        sys.executable,
        "-m",
        "campaigns.kills",
        "case",
        str(number),
        str(seed),
        str(kills),
        system or "",
    ]
    apart = ["unshare", "--mount", "--ipc"]
    with tempfile.TemporaryDirectory(prefix="loadcell-kills-", dir=workdir.HOME) as directory:
        Path(directory).chmod(0o755)
        if os.geteuid() == 0 and subprocess.run([*apart, "true"], check=False).returncode == 0:
            mount = f'mount --bind {directory} {workdir.HOME} && exec "$@"'
            command = [*apart, "sh", "-c", mount, "sh", *command]
        ran = subprocess.run(command, cwd=_TESTS, stdout=subprocess.PIPE, text=True, check=True)
    return Outcome(**json.loads(ran.stdout))


def campaign(cases: int, seed: int, state: Path) -> list[Outcome]:
    """Run the cases that the state file does not have yet; gives those with problems.

    The state file has a line of JSON for each case.
    """
    lines = state.read_text().splitlines() if state.exists() else []
    outcomes = [Outcome(**json.loads(line)) for line in lines]
    done = {outcome.case for outcome in outcomes}
    with state.open("a", encoding="utf-8") as file:
        for number in range(cases):
            if number in done:
                continue
            outcomes.append(case_apart(number, seed))
            file.write(json.dumps(asdict(outcomes[-1])) + "\n")
            file.flush()
    return [outcome for outcome in outcomes if outcome.problems]


def main(words: list[str]) -> None:
    """Run a campaign, or (`case`) one case."""
    if words[0] == "case":
        number, seed, kills = map(int, words[1:4])
        print(json.dumps(asdict(case(number, seed, kills, words[4] or None))))
        return
    for bad in campaign(int(words[0]), int(words[1]), Path(words[2])):
        print(bad)


if __name__ == "__main__":
    main(sys.argv[1:])

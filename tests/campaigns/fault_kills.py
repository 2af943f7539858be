"""Kills of runs with faults: of the runner, its guardian, the worker, the server, and all of them, before,
during and after a fault.

No finished trial may change, no attempt may hang, and after the next start of loadcell no fault may be left:
nothing in the journal, no stopped process, no file of a fault by commands, no control group, no mount, no
network interface. A case runs on a dedicated machine, as in `kills`.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import tempfile
import time
from pathlib import Path
from random import Random

import psutil

from campaigns import kills
from campaigns.kills import apart, attempt, complaints, finished, remains
from execution.live import Live
from loadcell.linux import mounts

#: Two kills each.
CASES = 500

_LOAD = "load: {clients: 2, rate: 50/s, max_backlog: 1min, warmup: 0s, duration: 1s, interval: 100ms}"
#: Leaves a file that only its undo removes.
_BREAK = (
    "{command: {subject: SUBJECT, run: touch broken, undo: rm -f broken, probe: test ! -e broken}, "
    "at: 100ms, for: 700ms, overlap: true}"
)
#: Two trials each; the number is about how long the undisturbed run takes, in seconds.
SYSTEMS = {
    "redis": (
        f"target: {{redis: {{}}}}\nworkload: {{kv: {{keys: 100}}}}\n{_LOAD}\nrepeats: 2\n"
        "faults:\n  - {hang: redis, at: 200ms, for: 300ms, overlap: true}\n"
        "  - {cpu-quota: {subject: redis, cores: 0.5}, at: 600ms, for: 300ms, overlap: true}\n"
        f"  - {_BREAK.replace('SUBJECT', 'redis')}\n",
        5.0,
    ),
    "postgres": (
        f"target: {{postgres: {{server: embedded, settings: {{fsync: off}}}}}}\n"
        f"workload: {{sysbench: {{script: oltp_point_select, tables: 1, table_size: 200}}}}\n{_LOAD}\n"
        "repeats: 2\nfaults:\n  - {hang: postgres, at: 200ms, for: 200ms, overlap: true}\n"
        "  - {long-transaction: postgres, at: 500ms, for: 300ms, overlap: true}\n"
        f"  - {_BREAK.replace('SUBJECT', 'postgres')}\n",
        7.0,
    ),
    "nginx": (
        kills.SYSTEMS["nginx"][0]
        .replace("duration: 300ms", "duration: 1s")
        .replace("repeats: 3", "repeats: 2")
        + "faults:\n  - {delay: {subject: network, time: 20ms}, at: 200ms, for: 300ms, overlap: true}\n"
        "  - {kill: command, at: 600ms, for: 200ms, overlap: true}\n"
        f"  - {_BREAK.replace('SUBJECT', 'command')}\n",
        5.0,
    ),
    "gluster": (
        "target:\n  redis:\n    settings: {save: '', appendonly: 'yes', appendfsync: always}\n"
        "    storage: {gluster: {hosts: 3, replica: 3, ping-timeout: 10s}}\n"
        f"workload: {{kv: {{keys: 50, mix: {{get: 50, set: 50}}}}}}\n{_LOAD}\nrepeats: 2\n"
        "faults:\n  - {hang: storage.brick-2, at: 200ms, for: 300ms, overlap: true}\n"
        "  - {kill: storage.brick-3, at: 400ms, for: 300ms, overlap: true}\n"
        f"  - {_BREAK.replace('SUBJECT', 'redis')}\n",
        25.0,
    ),
    "failover": (
        "target: {postgres: {server: embedded, standbys: {count: 1}, settings: {fsync: off}}}\n"
        "workload: {sysbench: {script: oltp_update_index, tables: 1, table_size: 200}}\n"
        f"{_LOAD.replace('duration: 1s', 'duration: 2s')}\nrepeats: 2\nfaults:\n"
        "  - {kill: postgres, at: 200ms, overlap: true}\n"
        "  - {promote: postgres.standby-1, at: 500ms, overlap: true}\n"
        f"  - {_BREAK.replace('SUBJECT', 'postgres')}\n",
        12.0,
    ),
}  # fmt: skip
#: How often a system is chosen: a case on GlusterFS takes six times as long.
WEIGHTS = {"redis": 28, "postgres": 28, "nginx": 26, "gluster": 7, "failover": 7}
TRIALS = 2
#: Who is killed, all by SIGKILL.
VICTIMS = (
    ("runner",), ("guardian",), ("worker",), ("server",), ("runner", "guardian"), ("guardian", "worker"),
    ("runner", "guardian", "worker", "server"),
)  # fmt: skip
#: Parts of command lines.
_WORDS = {"guardian": "loadcell.faults.guardian", "worker": "loadcell.execution.worker"}
#: A fault may find no time in a trial of a second on a busy machine: such a trial is repeated.
_LAST_ATTEMPTS = 4
_GROUPS = Path("/sys/fs/cgroup")


def case(random: Random, home: Path) -> None:
    """Run a case with two kills apart."""
    problems = apart(home, str(random.getrandbits(64)), 2, campaign=__name__)
    assert not problems, problems


def problems_of(seed: str, number: int, system: str, victim: str) -> list[str]:
    """Run a case on this machine; its problems, after what was done."""
    chance = Random(seed)
    system = system or chance.choices([*WEIGHTS], [*WEIGHTS.values()])[0]
    plan, typical_s = SYSTEMS[system]
    home = Path(tempfile.mkdtemp(prefix="case-"))
    os.environ["XDG_STATE_HOME"] = str(home / "state")
    run, done, problems = home / "run", [f"{system}:"], []
    records: dict[str, bytes] = {}
    interfaces = {name for _, name in socket.if_nameindex()}
    of_others = {*mounts.mount_points(), *groups()}  # of other runs on this machine
    for _ in range(number):
        victims = victim or " and ".join(chance.choice(VICTIMS))
        at_s, in_trials = chance.uniform(0.1, typical_s / 2), chance.random() < 0.75
        done.append(f"{victims} at {at_s:.2f} s{' of the trials' if in_trials else ''};")
        live, late = attempt(home, plan, victims, at_s, in_trials=in_trials, killer=kill)
        problems += complaints(live, late, records, finished(run))
        records = finished(run)
    for _ in range(_LAST_ATTEMPTS):
        live, late = attempt(home, plan, None, 0.0)
        problems += complaints(live, late, records, finished(run))
        records = finished(run)
        if live.process.returncode == 0:
            break
    if live.process.returncode != 0 or len(records) != TRIALS:
        problems.append(f"resumed to status {live.process.returncode}: {live.err.strip()[-500:]}")
    problems += [f"in the journal: {path}" for path in (home / "state").rglob("*.json")]
    if (home / "broken").exists():
        problems.append("a fault by commands is left")
    if os.geteuid() == 0:
        problems += remains(home)
        problems += [f"control group {path}" for path in remaining_groups() if path not in of_others]
        remaining = set(mounts.mount_points()) - of_others
        problems += [f"mount {path}" for path in remaining if "/loadcell" in str(path)]
        problems += [f"interface {name}" for _, name in socket.if_nameindex() if name not in interfaces]
    return [*done, *problems] if problems else []


def kill(victims: str, live: Live) -> None:
    """Kill processes of the run; whoever is not there yet, or no more, is not killed."""
    wanted = victims.split(" and ")
    dying = [psutil.Process(live.process.pid)] if "runner" in wanted else []
    with contextlib.suppress(psutil.Error):
        for process in psutil.Process(live.process.pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                line = " ".join(process.cmdline())
                is_server = "server" in wanted and process.name() in kills.SERVERS
                if is_server or any(word in line for who, word in _WORDS.items() if who in wanted):
                    dying.append(process)
    for process in dying:
        with contextlib.suppress(psutil.Error):
            process.suspend()  # none of them notices the end of another
    for process in dying:
        with contextlib.suppress(psutil.Error):
            process.kill()


def remaining_groups() -> list[Path]:
    """Control groups that stay without a process; one of another run may have none for a moment."""
    remaining, deadline = set(groups()), time.monotonic() + kills.END_S
    while remaining and time.monotonic() < deadline:
        time.sleep(1)
        remaining &= set(groups())
    return sorted(remaining)


def groups() -> list[Path]:
    """Control groups that loadcell made and that have no process."""
    paths = [*_GROUPS.glob("*/loadcell-*"), *_GROUPS.glob("*/*/loadcell-*"), *_GROUPS.glob("loadcell-*")]
    return [path for path in paths if not _members(path)]


def _members(group: Path) -> str:
    try:
        return (group / "cgroup.procs").read_text()
    except OSError:
        return "gone"


if __name__ == "__main__":
    seed_, kills_, system_, victim_ = sys.argv[1:]
    print("\n".join(problems_of(seed_, int(kills_), system_, victim_)), end="")

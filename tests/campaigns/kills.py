"""Kills at random instants: of the runner, the worker, the server, or runner and server together.

A case is one small run: it is killed and resumed several times, and then left to its end. No finished trial
may change, no attempt may hang, and nothing may remain outside the run's directory. Namespaces give a case
dedicated processes, network, System V memory, /dev/shm, /tmp and /var/tmp: all that is there at the end, the
run has left, and cases may run side by side. That takes root; for another user a case only loses nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random

import psutil

from execution.live import Live

CASES = 1000

_LOAD = "load: {clients: 2, rate: 50/s, max_backlog: 1min, warmup: 0s, duration: 300ms, interval: 100ms}"
#: Three short trials each; the number is about how long the undisturbed run takes, in seconds.
SYSTEMS = {
    "redis": (f"target: {{redis: {{}}}}\nworkload: {{kv: {{keys: 1000}}}}\n{_LOAD}\nrepeats: 3\n", 3.0),
    "postgres": (
        f"""
target: {{postgres: {{server: embedded, settings: {{fsync: off}}}}}}
workload: {{sysbench: {{script: oltp_read_write, tables: 1, table_size: 500}}}}
{_LOAD}
repeats: 3
""",
        6.0,
    ),
    "nginx": (
        f"""
target:
  command:
    command: [nginx, -e, stderr, -p, "{{work}}", -c, "{{work}}/nginx.conf"]
    url: "http://127.0.0.1:{{port}}"
    files:
      nginx.conf: |
        daemon off;
        worker_processes 2;
        pid {{work}}/nginx.pid;
        events {{}}
        http {{
          access_log off;
          client_body_temp_path {{work}}/body; proxy_temp_path {{work}}/proxy;
          fastcgi_temp_path {{work}}/fastcgi; uwsgi_temp_path {{work}}/uwsgi; scgi_temp_path {{work}}/scgi;
          server {{ listen 127.0.0.1:{{port}}; location / {{ return 200 "ok"; }} }}
        }}
workload: {{http: {{path: /}}}}
{_LOAD}
repeats: 3
""",
        3.0,
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
_WORKER = "loadcell.execution.worker"
SERVERS = ("postgres", "redis-server", "valkey-server", "nginx")
#: How long an attempt may take, and what was killed may need to end.
_PATIENCE_S, END_S = 180.0, 30.0
_POLL_S = 0.05
#: Most resumptions at the end of a case: on a busy machine, a trial of 300 ms may be invalid.
_RESUMPTIONS = 5
_TESTS = Path(__file__).parents[1]
#: Run the words after it on a dedicated machine; the shell is the first process there, and reaps the others.
_APART = (
    "ip link set lo up && mount -t tmpfs tmpfs /dev/shm && mkdir -m 1777 {home}/tmp {home}/var"
    ' && mount --bind {home}/var /var/tmp {visible}&& mount --rbind {home}/tmp /tmp && "$@"; exit $?'
)
_CHECKOUT = Path(__file__).resolve().parents[2]
#: The checkout stays visible where it lies below /tmp itself.
_VISIBLE = (
    f"&& mkdir -p {{home}}{_CHECKOUT} && mount --rbind {_CHECKOUT} {{home}}{_CHECKOUT} "
    if _CHECKOUT.is_relative_to("/tmp")
    else ""
)


def case(random: Random, home: Path) -> None:
    """Run a case with three kills apart."""
    problems = apart(home, str(random.getrandbits(64)))
    assert not problems, problems


def apart(
    home: Path, seed: str, kills: int = 3, system: str = "", victim: str = "", campaign: str = __name__
) -> str:
    """The problems of a case that runs on a dedicated machine; `victim` is who dies each time, `campaign` the
    module.
    """
    home.chmod(0o755)
    command = [sys.executable, "-m", campaign, seed, str(kills), system, victim]
    environment = {**os.environ, "TMPDIR": str(home)}
    if os.geteuid() == 0:
        namespaces = [
            "unshare",
            "--mount",
            "--net",
            "--ipc",
            "--pid",
            "--fork",
            "--kill-child",
            "--mount-proc",
        ]
        command = [
            *namespaces,
            "sh",
            "-c",
            _APART.format(home=home, visible=_VISIBLE.format(home=home)),
            "sh",
            *command,
        ]
        environment["TMPDIR"] = "/tmp"
    ran = subprocess.run(command, cwd=_TESTS, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return ran.stdout


def problems_of(seed: str, kills: int, system: str, victims: list[str]) -> list[str]:
    """Run a case on this machine; its problems, after what was done."""
    chance = Random(seed)
    system = system or chance.choice([*SYSTEMS])
    plan, typical_s = SYSTEMS[system]
    home = Path(tempfile.mkdtemp(prefix="case-"))
    run, done, problems = home / "run", [f"{system}:"], []
    records: dict[str, bytes] = {}
    for _ in range(kills):
        victim, at_s = chance.choice(victims), chance.uniform(0.1, typical_s)
        # Half of the instants lie in the trials, however long all before them takes.
        in_trials = chance.random() < 0.5
        if in_trials:
            at_s /= 2
        done.append(f"{victim} at {at_s:.2f} s{' of the trials' if in_trials else ''};")
        live, late = attempt(home, plan, victim, at_s, in_trials=in_trials)
        problems += complaints(live, late, records, finished(run))
        records = finished(run)
        if chance.random() < 0.5 and os.geteuid() == 0:  # else it is resumed at once
            problems += remains(home)
    for _ in range(_RESUMPTIONS):
        live, late = attempt(home, plan, None, 0.0)
        problems += complaints(live, late, records, finished(run))
        records = finished(run)
        if "invalid" not in statuses(run):
            break
    if live.process.returncode != 0 or len(finished(run)) != 3:
        problems.append(f"resumed to status {live.process.returncode}: {live.err.strip()[-500:]}")
    if os.geteuid() == 0:
        problems += remains(home)
    return [*done, *problems] if problems else []


def records_of(run: Path) -> dict[str, bytes]:
    """Records of the trials that have ended."""
    return {path.parent.name: path.read_bytes() for path in run.glob("trials/[0-9]*/trial.json")}


def finished(run: Path) -> dict[str, bytes]:
    """Records of the trials that succeeded."""
    return {name: text for name, text in records_of(run).items() if json.loads(text)["status"] == "ok"}


def statuses(run: Path) -> set[str]:
    """Statuses of the trials that have ended."""
    return {str(json.loads(text)["status"]) for text in records_of(run).values()}


def attempt(
    home: Path,
    plan: str,
    victim: str | None,
    at_s: float,
    *,
    in_trials: bool = False,
    killer: Callable[[str, Live], None] | None = None,
) -> tuple[Live, bool]:
    """Begin or resume the run, kill somebody at that instant, and wait for its end; whether it had none."""
    run = home / "run"
    resumed = (run / "run.json").exists()
    options = ("--resume", "run", "--retry-failed") if resumed else ("--out", "run")
    before = trials(run)
    began = time.monotonic()
    since = None if in_trials else began
    with Live(home, plan, *options, "--no-report", "-q") as live:
        while live.process.poll() is None and time.monotonic() - began < _PATIENCE_S:
            if since is None and trials(run) - before:
                since = time.monotonic()
            if victim is not None and since is not None and time.monotonic() - since >= at_s:
                (killer or kill)(victim, live)
                victim = None
            time.sleep(_POLL_S)
        late = live.process.poll() is None
        live.process.kill()
        live.end()
    return live, late


def trials(run: Path) -> set[str]:
    """Names of the trials that have begun."""
    return {path.name.strip(".").removesuffix(".part") for path in run.glob("trials/*")} | {
        path.name.strip(".").removesuffix(".part") for path in run.glob("trials/.*")
    }


def kill(victim: str, live: Live) -> None:
    """Kill one of them; whoever is not there yet, or no more, is not killed."""
    servers, workers = [], []
    with contextlib.suppress(psutil.Error):
        for process in psutil.Process(live.process.pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                if process.name() in SERVERS:
                    servers.append(process)
                elif _WORKER in " ".join(process.cmdline()):
                    workers.append(process)
    if "server" in victim:
        for process in servers:
            with contextlib.suppress(psutil.Error):
                process.suspend()  # none of them notices the end of another
    if "runner" in victim:
        live.send(VICTIMS[victim])
    dying = {"worker": workers, "server": servers, "runner and server": servers}.get(victim, [])
    for process in reversed(dying):
        with contextlib.suppress(psutil.Error):
            process.kill()


def complaints(live: Live, late: bool, before: dict[str, bytes], after: dict[str, bytes]) -> list[str]:
    """Problems after an attempt."""
    changed = [f"trial {name} was lost or changed" for name in before if after.get(name) != before[name]]
    hung = [f"no end after {_PATIENCE_S:.0f} s: {live.err.strip()[-500:]}"] if late else []
    words = ("Traceback", "fault in loadcell")
    return changed + hung + [f"{word}: {live.err.strip()[-500:]}" for word in words if word in live.err]


def remains(home: Path) -> list[str]:
    """Remains outside the case's directory; processes get a moment to end."""
    deadline = time.monotonic() + END_S
    while (lines := [*processes(), *places(home)]) and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    return lines


def processes() -> Iterable[str]:
    """Processes of this machine other than the case's own; zombies excluded."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.pid not in (1, os.getpid()) and process.status() != psutil.STATUS_ZOMBIE:
                yield f"process {process.pid} {' '.join(process.cmdline())[:200]}"


def places(home: Path) -> Iterable[str]:
    """Files and System V segments of this machine other than the case's own."""
    for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]:
        yield f"segment {line.split()[1]}"
    for path in (*Path("/dev/shm").iterdir(), *Path("/tmp").iterdir(), *Path("/var/tmp").glob("*/*")):
        if path not in (home, Path("/var/tmp/loadcell-cache"), *_CHECKOUT.parents):
            yield f"{path}: {', '.join(sorted(below(path))[:10])}"


def below(directory: Path) -> list[str]:
    """Names in a directory, which may be on its way out."""
    return [name for _, folders, files in os.walk(directory) for name in (*folders, *files)]


if __name__ == "__main__":
    seed_, kills_, system_, victim_ = sys.argv[1:]
    lines_ = problems_of(seed_, int(kills_), system_, [victim_] if victim_ else [*VICTIMS])
    print("\n".join(lines_), end="")

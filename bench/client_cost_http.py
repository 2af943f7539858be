"""Client CPU per HTTP request: loadcell, wrk, ab and bare loops by epoll and by io_uring, on one nginx.

CPU time of the whole client process (user + system), from its start to its end, over the requests it made:
for loadcell that includes starting Python. Connections are kept alive everywhere. The server has one core and
every client, each in its turn, the other; or, with `--one-core`, both have the same.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.paired import (
    EXAMPLES,
    Cost,
    in_turn,
    keep,
    note,
    on_processors,
    ratios,
    run_process,
    run_worker,
    spread,
)

CLIENTS = 32
#: A response as small as the facts' table has them: what is compared is clients, not copying.
BODY = "0123456789"

CONFIGURATION = """
daemon off;
worker_processes 1;
pid {work}/nginx.pid;
error_log stderr;
events {{ worker_connections 1024; }}
http {{
  access_log off;
  keepalive_requests 1000000000;
  client_body_temp_path {work}/body;
  proxy_temp_path {work}/proxy;
  fastcgi_temp_path {work}/fastcgi;
  uwsgi_temp_path {work}/uwsgi;
  scgi_temp_path {work}/scgi;
  server {{
    listen 127.0.0.1:{port} {listen};
    location / {{ return 200 "{body}"; }}
    location /status {{ stub_status; }}
  }}
}}
"""


def free_port() -> int:
    """A port that nobody listens on."""
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def nginx(core: int, listen: str = "", body: str = BODY) -> Iterator[int]:
    """A server on one core; its port. `listen` has more words for the line of that name."""
    work, port = Path(tempfile.mkdtemp(prefix="loadcell-bench-")), free_port()
    quoted = body.replace("\\", "\\\\").replace('"', '\\"')
    (work / "nginx.conf").write_text(CONFIGURATION.format(work=work, port=port, listen=listen, body=quoted))
    command = ["nginx", "-e", "stderr", "-p", str(work), "-c", str(work / "nginx.conf")]
    process = subprocess.Popen(["taskset", "-c", str(core), *command])
    try:
        time.sleep(0.5)
        yield port
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(work, ignore_errors=True)


def _here(core: int, command: list[str], send: str = "") -> tuple[float, str]:
    return run_process(["taskset", "-c", str(core), *command], send=send)


def specification(port: int, workload: dict[str, Any], **load: Any) -> dict[str, Any]:
    """Specification of a load by one engine thread; `workload` has its options."""
    return {
        "version": 1,
        "seed": 1,
        "target": {"protocol": "http", "host": "127.0.0.1", "port": port, "sslmode": "disable"},
        "workload": {"http": workload},
        "load": {"clients": CLIENTS, "threads": 1, "warmup_ns": 0, **load},
    }


def worker_cost(core: int, spec: dict[str, Any], per_transaction: int = 1) -> Cost:
    """The worker process of a trial, with all it did: warm-up and drain, too."""
    # The worker looks who its parent is, so the core is set for this process instead of by taskset.
    with on_processors(core):
        cpu_s, result = run_worker(spec)
    assert not result["errors"], result["errors"]
    requests = result["lifetime"]["transactions"] * per_transaction
    return Cost(cpu_s, requests, result["window"]["duration_ns"] / 1e9)


def loadcell(port: int, core: int, seconds: int, version: str = "1.1") -> Cost:
    """Single requests, with a time limit."""
    requests = {"version": version, "requests": [{"path": "/"}]}
    load = {"duration_ns": seconds * 10**9, "timeout_ns": 5 * 10**9}
    return worker_cost(core, specification(port, requests, **load))


def wrk(port: int, core: int, seconds: int) -> Cost:
    """wrk with one thread."""
    command = ["wrk", "-t", "1", "-c", str(CLIENTS), "-d", f"{seconds}s", f"http://127.0.0.1:{port}/"]
    cpu_s, output = _here(core, command)
    done = re.search(r"(\d+) requests in ([\d.]+)(m?s)", output)
    assert done is not None, output
    return Cost(cpu_s, int(done[1]), float(done[2]))


def ab(port: int, core: int, seconds: int) -> Cost:
    """ab with keep-alive."""
    command = ["ab", "-q", "-k", "-c", str(CLIENTS), "-t", str(seconds), "-n", "100000000"]
    cpu_s, output = _here(core, [*command, f"http://127.0.0.1:{port}/"])
    done = re.search(r"Complete requests:\s+(\d+)", output)
    took = re.search(r"Time taken for tests:\s+([\d.]+)", output)
    assert done is not None, output
    assert took is not None, output
    return Cost(cpu_s, int(done[1]), float(took[1]))


def bare(port: int, core: int, seconds: int, loop: str = "bare_http") -> Cost:
    """bench/bare_http.rs (epoll) or bench/bare_uring.rs; its own measure, from the first request on."""
    command = [str(EXAMPLES / loop), "127.0.0.1", str(port), "/", str(CLIENTS), str(seconds)]
    _, output = _here(core, command)
    result = json.loads(output)
    return Cost(result["cpu_s"], result["queries"], result["wall_s"])


def version_of(*command: str) -> str:
    """First line that a program prints, on either stream."""
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return (done.stdout + done.stderr).splitlines()[0]


def main() -> None:
    """Measure, print a table, keep it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--one-core", action="store_true", help="server and client on one core")
    args = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    theirs, ours = cores[-1 if args.one_core else 0], cores[-1]
    with nginx(theirs) as port:
        costs = in_turn(
            args.rounds,
            {
                "loadcell": lambda: loadcell(port, ours, args.seconds),
                "wrk": lambda: wrk(port, ours, args.seconds),
                "ab": lambda: ab(port, ours, args.seconds),
                "bare": lambda: bare(port, ours, args.seconds),
                "uring": lambda: bare(port, ours, args.seconds, "bare_uring"),
            },
            unit="request",
        )
    cpu = {name: [cost.per_query_us for cost in runs] for name, runs in costs.items()}
    rate = {name: [cost.per_second for cost in runs] for name, runs in costs.items()}
    peers = ("wrk", "ab", "bare", "uring")
    result: dict[str, Any] = {
        "versions": {
            "wrk": version_of("wrk", "--version"),
            "ab": version_of("ab", "-V"),
            "nginx": version_of("nginx", "-v"),
        },
        "rounds": args.rounds,
        "seconds": args.seconds,
        "clients": CLIENTS,
        "cpu_us_per_request": {name: spread(values) for name, values in cpu.items()},
        "requests_per_s": {name: spread(values) for name, values in rate.items()},
        "cpu_ratio": {peer: ratios(cpu["loadcell"], cpu[peer]) for peer in peers},
        "rate_ratio": {peer: ratios(rate["loadcell"], rate[peer]) for peer in peers},
    }
    words = f"--rounds {args.rounds} --seconds {args.seconds}{' --one-core' if args.one_core else ''}"
    name = f"client_cost_http{'_one_core' if args.one_core else ''}"
    keep(name, f"python -m bench.client_cost_http {words}", result)
    for peer in peers:
        for measure, ratio in (("CPU", result["cpu_ratio"][peer]), ("rate", result["rate_ratio"][peer])):
            note(
                f"{measure}, loadcell / {peer}: {ratio['median']:.2f} ({ratio['min']:.2f} to "
                f"{ratio['max']:.2f})"
            )


if __name__ == "__main__":
    main()

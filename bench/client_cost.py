"""What a query costs the client: loadcell beside sysbench and beside a bare epoll loop, on one server.

CPU time of the whole client process (user + system), from its start to its end, over the queries it made: for
loadcell that includes starting Python. Prepared statements everywhere; id distribution uniform everywhere.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from typing import Any

from bench.paired import EXAMPLES, Cost, first_line, in_turn, keep, note, ratios, spread, whole_process

sys.path.insert(0, "tests")
from servers import PostgresServer, debian_postgres

TABLES, TABLE_SIZE, CLIENTS = 4, 100_000, 16


def sysbench(server: PostgresServer, script: str, seconds: int) -> Cost:
    """sysbench 1.0.20 by its own defaults, but for `--rand-type=uniform` and a histogram switched off."""
    command = ["sysbench", script, "--db-driver=pgsql", f"--pgsql-host={server.host}"]
    command += [f"--pgsql-port={server.port}", f"--pgsql-user={server.user}", "--pgsql-db=bench"]
    command += [f"--tables={TABLES}", f"--table-size={TABLE_SIZE}", "--rand-type=uniform"]
    command += [f"--threads={CLIENTS}", f"--time={seconds}", "run"]
    cpu_s, output = whole_process(command)
    total = re.search(r"total:\s+(\d+)", output)
    time = re.search(r"total time:\s+([\d.]+)s", output)
    assert total is not None, output
    assert time is not None, output
    return Cost(cpu_s, int(total[1]), float(time[1]))


def loadcell(server: PostgresServer, script: str, seconds: int) -> Cost:
    """The worker process of a trial, with one engine thread; all it did counts, warm-up and drain too."""
    spec: dict[str, Any] = {
        "version": 1,
        "seed": 1,
        "target": server.endpoint("bench"),
        "workload": {"sysbench": {"script": script, "tables": TABLES, "table_size": TABLE_SIZE}},
        "load": {"clients": CLIENTS, "threads": 1, "warmup_ns": 0, "duration_ns": seconds * 10**9},
    }
    request = json.dumps({"mode": "run", "parent": os.getpid(), "spec": spec})
    cpu_s, output = whole_process([sys.executable, "-m", "loadcell.run.worker"], send=request)
    result = json.loads(output.splitlines()[-1])["result"]
    assert result["outcome"] == "completed", result
    return Cost(cpu_s, result["lifetime"]["queries"], result["window"]["duration_ns"] / 1e9)


def bare(server: PostgresServer, script: str, seconds: int) -> Cost:
    """bench/bare_loop.rs; its own measure, from the first request on."""
    command = [str(EXAMPLES / "bare_loop"), server.host, str(server.port), server.user, "bench", script]
    _, output = whole_process([*command, str(TABLES), str(TABLE_SIZE), str(CLIENTS), str(seconds)])
    result = json.loads(output)
    return Cost(result["cpu_s"], result["queries"], result["wall_s"])


def main() -> None:
    """Measure, print a table, keep it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=int, default=8)
    args = parser.parse_args()
    result: dict[str, Any] = {
        "versions": {
            "sysbench": first_line("sysbench", "--version"),
            "postgres": first_line(str(debian_postgres() / "postgres"), "--version"),
        },
        "rounds": args.rounds,
        "seconds": args.seconds,
        "clients": CLIENTS,
        "scripts": {},
    }
    with PostgresServer() as server:
        server.sql("CREATE DATABASE bench")
        prepare = ["sysbench", "oltp_read_only", "--db-driver=pgsql", f"--pgsql-host={server.host}"]
        prepare += [f"--pgsql-port={server.port}", f"--pgsql-user={server.user}", "--pgsql-db=bench"]
        whole_process(
            [*prepare, f"--tables={TABLES}", f"--table-size={TABLE_SIZE}", "--threads=2", "prepare"]
        )
        server.sql("VACUUM ANALYZE", database="bench")
        for script in ("oltp_point_select", "oltp_read_only"):
            note(script)
            costs = in_turn(
                args.rounds,
                {
                    "loadcell": lambda s=script: loadcell(server, s, args.seconds),  # type: ignore[misc]
                    "sysbench": lambda s=script: sysbench(server, s, args.seconds),  # type: ignore[misc]
                    "bare": lambda s=script: bare(server, s, args.seconds),  # type: ignore[misc]
                },
            )
            cpu = {name: [cost.per_query_us for cost in runs] for name, runs in costs.items()}
            rate = {name: [cost.per_second for cost in runs] for name, runs in costs.items()}
            result["scripts"][script] = {
                "cpu_us_per_query": {name: spread(values) for name, values in cpu.items()},
                "queries_per_s": {name: spread(values) for name, values in rate.items()},
                "cpu_ratio": {peer: ratios(cpu["loadcell"], cpu[peer]) for peer in ("sysbench", "bare")},
                "rate_ratio": {peer: ratios(rate["loadcell"], rate[peer]) for peer in ("sysbench", "bare")},
            }
    keep(
        "client_cost", f"python -m bench.client_cost --rounds {args.rounds} --seconds {args.seconds}", result
    )
    for script, figures in result["scripts"].items():
        for peer, ratio in figures["cpu_ratio"].items():
            print(
                f"{script}: CPU a query, loadcell / {peer}: {ratio['median']:.2f} ({ratio['min']:.2f} to {ratio['max']:.2f})"
            )


if __name__ == "__main__":
    main()

"""Client CPU per query on MariaDB: loadcell and sysbench with its own driver, on one server.

CPU time of the whole client process, as in client_cost; sysbench prepares and loads as it does by default.
"""

from __future__ import annotations

import argparse
import re
import sys
from typing import Any

from bench.client_cost import CLIENTS, SYSBENCH, TABLE_SIZE, TABLES
from bench.paired import Cost, first_line, in_turn, keep, note, ratios, run_process, run_worker, spread

sys.path.insert(0, "tests")
from mariadb import MariadbServer, debian_mariadb


def _sysbench(server: MariadbServer, script: str, *more: str) -> str:
    command = ["sysbench", script, "--db-driver=mysql", f"--mysql-host={server.host}"]
    command += [
        f"--mysql-port={server.port}",
        f"--mysql-user={server.user}",
        f"--mysql-password={server.password}",
    ]
    command += ["--mysql-db=bench", "--mysql-ssl=off", f"--tables={TABLES}", f"--table-size={TABLE_SIZE}"]
    cpu_s, output = run_process([*command, *more])
    return f"{cpu_s}\n{output}"


def sysbench(server: MariadbServer, script: str, seconds: int) -> Cost:
    """sysbench 1.0.20 by its own defaults, but for `--rand-type=uniform`."""
    cpu_s, _, output = _sysbench(
        server, script, "--rand-type=uniform", f"--threads={CLIENTS}", f"--time={seconds}", "run"
    ).partition("\n")
    total = re.search(r"total:\s+(\d+)", output)
    time = re.search(r"total time:\s+([\d.]+)s", output)
    assert total is not None, output
    assert time is not None, output
    return Cost(float(cpu_s), int(total[1]), float(time[1]))


def loadcell(server: MariadbServer, script: str, seconds: int) -> Cost:
    """The worker process of a trial, with one engine thread; all it did counts, warm-up and drain too."""
    spec: dict[str, Any] = {
        "version": 1,
        "seed": 1,
        "target": server.endpoint("bench"),
        "workload": {"sysbench": {"script": script, "tables": TABLES, "table_size": TABLE_SIZE}},
        "load": {"clients": CLIENTS, "threads": 1, "warmup_ns": 0, "duration_ns": seconds * 10**9},
    }
    cpu_s, result = run_worker(spec)
    return Cost(cpu_s, result["lifetime"]["queries"], result["window"]["duration_ns"] / 1e9)


def main() -> None:
    """Measure, print a table, keep it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=int, default=8)
    args = parser.parse_args()
    result: dict[str, Any] = {
        "versions": {
            "sysbench": first_line("sysbench", "--version"),
            "mariadb": first_line(str(debian_mariadb()), "--version"),
        },
        "rounds": args.rounds,
        "seconds": args.seconds,
        "clients": CLIENTS,
        "scripts": {},
    }
    with MariadbServer({"innodb_buffer_pool_size": "256M"}) as server:
        server.sql("CREATE DATABASE bench")
        _sysbench(server, "oltp_read_only", "--threads=2", "prepare")
        for script in SYSBENCH:
            note(script)
            costs = in_turn(
                args.rounds,
                {
                    "loadcell": lambda s=script: loadcell(server, s, args.seconds),  # type: ignore[misc]
                    "sysbench": lambda s=script: sysbench(server, s, args.seconds),  # type: ignore[misc]
                },
            )
            cpu = {name: [cost.per_query_us for cost in runs] for name, runs in costs.items()}
            rate = {name: [cost.per_second for cost in runs] for name, runs in costs.items()}
            result["scripts"][script] = {
                "cpu_us_per_query": {name: spread(values) for name, values in cpu.items()},
                "queries_per_s": {name: spread(values) for name, values in rate.items()},
                "cpu_ratio": {"sysbench": ratios(cpu["loadcell"], cpu["sysbench"])},
                "rate_ratio": {"sysbench": ratios(rate["loadcell"], rate["sysbench"])},
            }
    command = f"python -m bench.client_cost_mysql --rounds {args.rounds} --seconds {args.seconds}"
    keep("client_cost_mysql", command, result)
    for script, figures in result["scripts"].items():
        ratio = figures["cpu_ratio"]["sysbench"]
        print(
            f"{script}: CPU, loadcell / sysbench: {ratio['median']:.2f} ({ratio['min']:.2f} to "
            f"{ratio['max']:.2f})"
        )


if __name__ == "__main__":
    main()

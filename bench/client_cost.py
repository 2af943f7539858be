"""Client CPU per query: loadcell, sysbench, pgbench and a bare epoll loop, on one server.

CPU time of the whole client process (user + system), from its start to its end, over the queries it made: for
loadcell that includes starting Python. Prepared statements everywhere; id distribution uniform everywhere.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from typing import Any

from bench.paired import (
    EXAMPLES,
    Cost,
    first_line,
    in_turn,
    keep,
    note,
    ratios,
    run_process,
    run_worker,
    spread,
)
from loadcell.parts import installed

sys.path.insert(0, "tests")
from servers import PostgresServer, debian_postgres

TABLES, TABLE_SIZE, CLIENTS = 4, 100_000, 16
SYSBENCH = ("oltp_point_select", "oltp_read_only")
#: pgbench's scripts by their protocols: of each, the cost of a transaction
PGBENCH = {"select-only": "prepared", "tpcb-like": "simple"}
SCALE = 20
#: Scripts of pgbench's that the workload `sql` makes of the same statements.
STATEMENTS = {"select-only": "SELECT abalance FROM pgbench_accounts WHERE aid = :aid"}


def sysbench(server: PostgresServer, script: str, seconds: int) -> Cost:
    """sysbench 1.0.20 by its own defaults, but for `--rand-type=uniform` and a histogram switched off."""
    command = ["sysbench", script, "--db-driver=pgsql", f"--pgsql-host={server.host}"]
    command += [f"--pgsql-port={server.port}", f"--pgsql-user={server.user}", "--pgsql-db=bench"]
    command += [f"--tables={TABLES}", f"--table-size={TABLE_SIZE}", "--rand-type=uniform"]
    command += [f"--threads={CLIENTS}", f"--time={seconds}", "run"]
    cpu_s, output = run_process(command)
    total = re.search(r"total:\s+(\d+)", output)
    time = re.search(r"total time:\s+([\d.]+)s", output)
    assert total is not None, output
    assert time is not None, output
    return Cost(cpu_s, int(total[1]), float(time[1]))


def loadcell(server: PostgresServer, script: str, seconds: int) -> Cost:
    """The worker process of a trial, with one engine thread; all it did counts, warm-up and drain too."""
    workload = {"sysbench": {"script": script, "tables": TABLES, "table_size": TABLE_SIZE}}
    return _worker(server, workload, seconds, "queries")


def _worker(server: PostgresServer, workload: dict[str, Any], seconds: int, unit: str) -> Cost:
    spec: dict[str, Any] = {
        "version": 1,
        "seed": 1,
        "target": server.endpoint("bench"),
        "workload": workload,
        "load": {"clients": CLIENTS, "threads": 1, "warmup_ns": 0, "duration_ns": seconds * 10**9},
    }
    cpu_s, result = run_worker(spec)
    return Cost(cpu_s, result["lifetime"][unit], result["window"]["duration_ns"] / 1e9)


def loadcell_pgbench(server: PostgresServer, script: str, seconds: int) -> Cost:
    """As `loadcell`, but a script of pgbench's, by the transaction."""
    options = {"scripts": [{"name": script}], "scale": SCALE, "protocol": PGBENCH[script]}
    return _worker(server, {"pgbench": options}, seconds, "transactions")


def loadcell_sql(server: PostgresServer, script: str, seconds: int) -> Cost:
    """As `loadcell`, but the same transactions as statements of the workload `sql`."""
    plan = {"statements": [STATEMENTS[script]], "parameters": {"aid": f"1..{SCALE * 100_000}"}}
    part = installed().workloads["sql"]
    workload = part(part.Options.model_validate(plan))
    return _worker(server, workload.engine(), seconds, "transactions")


def pgbench(server: PostgresServer, script: str, seconds: int) -> Cost:
    """pgbench with one thread, without its vacuum before the load and with its latencies by statement (-r),
    as loadcell has.
    """
    command = [str(debian_postgres() / "pgbench"), "-n", "-r", "-b", script, "-M", PGBENCH[script]]
    command += ["-c", str(CLIENTS), "-j", "1", "-T", str(seconds), "-h", server.host, "-p", str(server.port)]
    cpu_s, output = run_process([*command, "-U", server.user, "bench"])
    done = re.search(r"transactions actually processed: (\d+)", output)
    assert done is not None, output
    return Cost(cpu_s, int(done[1]), float(seconds))


def bare(server: PostgresServer, script: str, seconds: int) -> Cost:
    """bench/bare_loop.rs; its own measure, from the first request on."""
    command = [str(EXAMPLES / "bare_loop"), server.host, str(server.port), server.user, "bench", script]
    _, output = run_process([*command, str(TABLES), str(TABLE_SIZE), str(CLIENTS), str(seconds)])
    result = json.loads(output)
    return Cost(result["cpu_s"], result["queries"], result["wall_s"])


def main() -> None:
    """Measure, print a table, keep it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=int, default=8)
    parser.add_argument("--only", choices=["sysbench", "pgbench"], help="Measure beside this peer alone.")
    args = parser.parse_args()
    result: dict[str, Any] = {
        "versions": {
            "sysbench": first_line("sysbench", "--version"),
            "pgbench": first_line(str(debian_postgres() / "pgbench"), "--version"),
            "postgres": first_line(str(debian_postgres() / "postgres"), "--version"),
        },
        "rounds": args.rounds,
        "seconds": args.seconds,
        "clients": CLIENTS,
        "scripts": {},
    }
    with PostgresServer() as server:
        server.sql("CREATE DATABASE bench")
        if args.only != "pgbench":
            prepare = ["sysbench", "oltp_read_only", "--db-driver=pgsql", f"--pgsql-host={server.host}"]
            prepare += [f"--pgsql-port={server.port}", f"--pgsql-user={server.user}", "--pgsql-db=bench"]
            run_process(
                [*prepare, f"--tables={TABLES}", f"--table-size={TABLE_SIZE}", "--threads=2", "prepare"]
            )
            server.sql("VACUUM ANALYZE", database="bench")
        for script in SYSBENCH if args.only != "pgbench" else ():
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
        run_process([
            str(debian_postgres() / "pgbench"), "-i", "-q", "-s", str(SCALE), "-h", server.host,
            "-p", str(server.port), "-U", server.user, "bench",
        ])  # fmt: skip
        for script in PGBENCH if args.only != "sysbench" else ():
            note(f"pgbench {script}")
            costs = in_turn(
                args.rounds,
                {
                    "loadcell": lambda s=script: loadcell_pgbench(server, s, args.seconds),  # type: ignore[misc]
                    "pgbench": lambda s=script: pgbench(server, s, args.seconds),  # type: ignore[misc]
                    **(
                        {"sql": lambda s=script: loadcell_sql(server, s, args.seconds)}  # type: ignore[misc]
                        if script in STATEMENTS
                        else {}
                    ),
                },
            )
            cpu = {name: [cost.per_query_us for cost in runs] for name, runs in costs.items()}
            rate = {name: [cost.per_second for cost in runs] for name, runs in costs.items()}
            result["scripts"][f"pgbench {script}"] = {
                "protocol": PGBENCH[script],
                "cpu_us_per_transaction": {name: spread(values) for name, values in cpu.items()},
                "transactions_per_s": {name: spread(values) for name, values in rate.items()},
                "cpu_ratio": {"pgbench": ratios(cpu["loadcell"], cpu["pgbench"])},
                "rate_ratio": {"pgbench": ratios(rate["loadcell"], rate["pgbench"])},
            }
            if "sql" in costs:
                result["scripts"][f"sql {script}"] = {
                    "cpu_ratio": {"pgbench": ratios(cpu["sql"], cpu["pgbench"])},
                    "rate_ratio": {"pgbench": ratios(rate["sql"], rate["pgbench"])},
                }
    name = f"client_cost_{args.only}" if args.only else "client_cost"
    keep(name, f"python -m bench.client_cost --rounds {args.rounds} --seconds {args.seconds}", result)
    for script, figures in result["scripts"].items():
        for peer, ratio in figures["cpu_ratio"].items():
            print(
                f"{script}: CPU, loadcell / {peer}: {ratio['median']:.2f} ({ratio['min']:.2f} to "
                f"{ratio['max']:.2f})"
            )


if __name__ == "__main__":
    main()

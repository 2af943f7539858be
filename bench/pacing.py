"""Pacing error at 10,000/s, as loadcell records it, on a server that does nothing and on PostgreSQL.

Next to it pgbench's `schedule lag` at the same rate on the same PostgreSQL: the mean time from a
transaction's scheduled to its actual start, which for loadcell includes the wait for a free connection. In
turn, one thread each.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from bench.paired import first_line, keep, note, run_process, run_worker, spread

sys.path.insert(0, "tests")
from servers import PostgresServer, debian_postgres
from truth.loads import paced
from truth.reference_server import ReferenceServer

CONNECTIONS, TABLES, TABLE_SIZE = 32, 4, 100_000

Values = dict[str, float]


def loadcell(target: dict[str, Any], rate: float, arrivals: str, seconds: int) -> Values:
    """One load by a worker process; times in microseconds, CPU as a share of one core."""
    sysbench = {"script": "oltp_point_select", "tables": TABLES, "table_size": TABLE_SIZE}
    load = {
        "clients": CONNECTIONS,
        "threads": 1,
        "warmup_ns": 10**9,
        "duration_ns": seconds * 10**9,
    }
    spec = {"version": 1, "seed": 1, "target": target, "workload": {"sysbench": sysbench}, "load": load}
    _, result = run_worker(paced(spec, (rate, seconds), arrivals=arrivals))
    schedule, (thread,) = result["schedule"], result["client"]["threads"]
    pacing, waited = schedule["pacing_error"], schedule["backlog_wait"] or {"count": 0, "mean_ns": 0}
    lag_ns = pacing["count"] * pacing["mean_ns"] + waited["count"] * waited["mean_ns"]
    return {
        "achieved_per_s": schedule["achieved_per_s"],
        "pacing_p50_us": pacing["p50_ns"] / 1e3,
        "pacing_p90_us": pacing["p90_ns"] / 1e3,
        "pacing_p99_us": pacing["p99_ns"] / 1e3,
        "waited_share": waited["count"] / (pacing["count"] + waited["count"]),
        "lag_mean_us": lag_ns / (pacing["count"] + waited["count"]) / 1e3,
        "busy": thread["busy"],
        "spun": thread["spun_ns"] / thread["wall_ns"],
    }


def pgbench(server: PostgresServer, rate: float, seconds: int) -> Values:
    """pgbench -S -M prepared with --rate (its arrivals are Poisson); it knows no quantiles."""
    command = [str(debian_postgres() / "pgbench"), "-S", "-n", "-M", "prepared", "-R", f"{rate:.0f}"]
    command += ["-c", str(CONNECTIONS), "-j", "1", "-T", str(seconds)]
    _, output = run_process([*command, "-h", server.host, "-p", str(server.port), "-U", server.user, "bench"])
    lag = re.search(r"schedule lag: avg ([\d.]+)", output)
    tps = re.search(r"tps = ([\d.]+)", output)
    assert lag is not None, output
    assert tps is not None, output
    return {"achieved_per_s": float(tps[1]), "lag_mean_us": float(lag[1]) * 1e3}


def main() -> None:
    """Measure, print a table, keep it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--rate", type=float, default=10_000)
    args = parser.parse_args()
    measurements: dict[str, list[Values]] = {}

    def measure_once(name: str, measure: Callable[[], Values]) -> None:
        values = measure()
        measurements.setdefault(name, []).append(values)
        note(f"  {name:32} " + "  ".join(f"{key} {value:.4g}" for key, value in values.items()))

    with PostgresServer() as server:
        server.sql("CREATE DATABASE bench")
        where = ["-h", server.host, "-p", str(server.port), "-U", server.user]
        fill = [str(debian_postgres() / "pgbench"), "-i", "-q", "-s", "4", *where, "bench"]
        subprocess.run(fill, check=True, capture_output=True)
        prepare = ["sysbench", "oltp_read_only", "--db-driver=pgsql", f"--pgsql-host={server.host}"]
        prepare += [f"--pgsql-port={server.port}", f"--pgsql-user={server.user}", "--pgsql-db=bench"]
        run_process([*prepare, f"--tables={TABLES}", f"--table-size={TABLE_SIZE}", "--threads=2", "prepare"])
        server.sql("VACUUM ANALYZE", database="bench")
        for number in range(args.rounds):
            note(f"round {number + 1}/{args.rounds}")
            for arrivals in ("constant", "poisson"):
                with ReferenceServer() as reference:
                    target = reference.specification("oltp_point_select", clients=1, duration_s=1)["target"]
                    measure_once(
                        f"known server, {arrivals}",
                        lambda t=target, a=arrivals: loadcell(t, args.rate, a, args.seconds),  # type: ignore[misc]
                    )
                measure_once(
                    f"postgres, {arrivals}",
                    lambda a=arrivals: loadcell(server.endpoint("bench"), args.rate, a, args.seconds),  # type: ignore[misc]
                )
            measure_once("pgbench on postgres, poisson", lambda: pgbench(server, args.rate, args.seconds))
    result = {
        "versions": {"postgres": first_line(str(debian_postgres() / "postgres"), "--version")},
        "rounds": args.rounds,
        "seconds": args.seconds,
        "rate_per_s": args.rate,
        "connections": CONNECTIONS,
        "figures": {
            name: {key: spread([values[key] for values in rounds]) for key in rounds[0]}
            for name, rounds in measurements.items()
        },
    }
    keep(
        "pacing",
        f"python -m bench.pacing --rounds {args.rounds} --seconds {args.seconds} --rate {args.rate:g}",
        result,
    )
    for name, rounds in measurements.items():
        for key in ("pacing_p50_us", "pacing_p99_us", "lag_mean_us"):
            if key in rounds[0]:
                values = spread([values[key] for values in rounds])
                print(f"{name}: {key} {values['median']:.2f} ({values['min']:.2f} to {values['max']:.2f})")


if __name__ == "__main__":
    main()

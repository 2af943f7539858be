"""TPC-C beside its peers, on one server: how quickly the data are loaded, and how many New-Orders a minute
there are.

Loading: loadcell's parallel COPY, with indexes, keys and VACUUM, against prepared INSERTs in batches of 100
rows, each batch one pipeline and one transaction, a connection a warehouse, as BenchmarkSQL's loader does it;
then the same indexes and keys, one after the other. New-Orders: loadcell's `tpcc` with New-Order alone
against a script for pgbench that sends the same statements in the same pipelines, prepared, 10 warehouses and
10 terminals. In turn; CPU and time are those of the whole client, with connecting and preparing.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from typing import Any

from bench import tpcc_peers
from bench.paired import Cost, first_line, in_turn, keep, ratios, run_process, run_worker, spread

sys.path.insert(0, "tests")
from servers import PostgresServer, debian_postgres

#: Loaded in each round of the first part: a connection each.
LOADED = 4
WAREHOUSES, TERMINALS = 10, 10


def worker(
    server: PostgresServer, database: str, mode: str, tpcc: Mapping[str, Any], **load: int
) -> tuple[float, Any]:
    """CPU seconds and result of one worker process of loadcell's."""
    spec: dict[str, Any] = {
        "version": 1,
        "seed": 1,
        "target": server.endpoint(database),
        "workload": {"tpcc": dict(tpcc)},
        "load": {"clients": 1, "threads": 1, "warmup_ns": 0, "duration_ns": 10**9, **load},
    }
    return run_worker(spec, mode)


def program(server: PostgresServer, name: str, database: str, *arguments: str) -> tuple[float, str]:
    """CPU seconds and output of one of PostgreSQL's own programs."""
    at = ["-h", server.host, "-p", str(server.port), "-U", server.user]
    return run_process([str(debian_postgres() / name), *at, *arguments, database])


def by_copy(server: PostgresServer, warehouses: int = LOADED, database: str = "loading") -> Cost:
    """loadcell's way, with as many workers as the peer has connections."""
    recreate(server, database)
    began = time.monotonic()
    cpu_s, _ = worker(server, database, "prepare", {"warehouses": warehouses, "load_workers": LOADED})
    return Cost(cpu_s, warehouses, time.monotonic() - began)


def by_inserts(server: PostgresServer, schema: Mapping[str, str]) -> Cost:
    """BenchmarkSQL's way: rows by batches of INSERT, then indexes and keys, then VACUUM."""
    database = "loading"
    recreate(server, database)
    began = time.monotonic()
    script(server, database, schema["tables"])
    cpu_s = 0.0
    texts = [word for name, text in tpcc_peers.TEXTS.items() for word in ("-D", f"{name}={text}")]
    count = ["-n", "-c", str(LOADED), "-j", str(LOADED), "-M", "prepared", "-D", "n=-1", *texts]
    script(
        server,
        database,
        "INSERT INTO bmsql_warehouse (w_id, w_ytd) "
        f"SELECT w, 300000 FROM generate_series(1, {LOADED}) w; "
        "INSERT INTO bmsql_district (d_w_id, d_id, d_next_o_id) "
        f"SELECT w, d, 3001 FROM generate_series(1, {LOADED}) w, generate_series(1, 10) d",
    )
    for name, (text, batches) in tpcc_peers.load_scripts(LOADED).items():
        with tempfile.NamedTemporaryFile("w", suffix=f"-{name}.sql") as file:
            file.write(text)
            file.flush()
            used_s, _ = program(server, "pgbench", database, *count, "-f", file.name, "-t", str(batches))
        cpu_s += used_s
    script(server, database, schema["keys"])
    script(server, database, "VACUUM ANALYZE")
    return Cost(cpu_s, LOADED, time.monotonic() - began)


def new_orders(server: PostgresServer, seconds: int) -> Cost:
    """loadcell's New-Order alone."""
    weights = dict.fromkeys(
        (f"{name}_weight" for name in ("payment", "order_status", "delivery", "stock_level")), 0
    )
    options = {"warehouses": WAREHOUSES, "new_order_weight": 100, **weights}
    began = time.monotonic()
    cpu_s, result = worker(server, "tpcc", "run", options, clients=TERMINALS, duration_ns=seconds * 10**9)
    wall_s = time.monotonic() - began
    assert result["outcome"] == "completed", result
    [operation] = [operation for operation in result["operations"] if operation["name"] == "new_order"]
    assert operation["failed"] == 0, result["errors"]
    return Cost(cpu_s, result["lifetime"]["transactions"], wall_s)


def pgbench_new_orders(server: PostgresServer, seconds: int) -> Cost:
    """pgbench with the same statements, one thread as loadcell has."""
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
        file.write(tpcc_peers.new_order(WAREHOUSES))
        file.flush()
        count = ["-n", "-c", str(TERMINALS), "-j", "1", "-M", "prepared", "--max-tries=10"]
        began = time.monotonic()
        cpu_s, output = program(server, "pgbench", "tpcc", *count, "-T", str(seconds), "-f", file.name)
        wall_s = time.monotonic() - began
    done = re.search(r"transactions actually processed: (\d+)", output)
    failed = re.search(r"number of failed transactions: (\d+)", output)
    assert done is not None, output
    assert failed is not None, output
    assert failed[1] == "0", output
    return Cost(cpu_s, int(done[1]), wall_s)


def recreate(server: PostgresServer, database: str) -> None:
    """Create an empty database, with no writes pending of the one before it."""
    server.sql(f"DROP DATABASE IF EXISTS {database}")
    server.sql(f"CREATE DATABASE {database}")
    server.sql("CHECKPOINT")


def script(server: PostgresServer, database: str, text: str) -> None:
    """Run SQL by psql."""
    at = ["-h", server.host, "-p", str(server.port), "-U", server.user, "-d", database]
    command = [
        str(debian_postgres() / "psql"),
        *at,
        "-q",
        "-v",
        "ON_ERROR_STOP=1",
        "-o",
        "/dev/null",
        "-f",
        "-",
    ]
    subprocess.run(command, input=text, text=True, check=True)


def schema_of(server: PostgresServer, database: str) -> dict[str, str]:
    """Tables, and indexes with keys, as loadcell made them, for the peer to make the same."""
    dump = ["--schema-only", "--no-owner"]
    return {
        "tables": program(server, "pg_dump", database, *dump, "--section=pre-data")[1],
        "keys": program(server, "pg_dump", database, *dump, "--section=post-data")[1],
    }


def compared(costs: Mapping[str, list[Cost]], peer: str) -> dict[str, Any]:
    """CPU per unit, units per minute, and the ratios of both, of loadcell and one peer."""
    cpu = {name: [cost.per_query_us for cost in runs] for name, runs in costs.items()}
    rate = {name: [cost.per_second * 60 for cost in runs] for name, runs in costs.items()}
    return {
        "cpu_us": {name: spread(values) for name, values in cpu.items()},
        "per_minute": {name: spread(values) for name, values in rate.items()},
        "cpu_ratio": ratios(cpu["loadcell"], cpu[peer]),
        "rate_ratio": ratios(rate["loadcell"], rate[peer]),
    }


def loading(server: PostgresServer, rounds: int) -> dict[str, Any]:
    """Rows, indexes and keys of a few warehouses."""
    by_copy(server, warehouses=1, database="tpcc")
    schema = schema_of(server, "tpcc")
    ways = {"loadcell": lambda: by_copy(server), "inserts": lambda: by_inserts(server, schema)}
    costs = in_turn(rounds, ways, unit="warehouse")
    return {"warehouses": LOADED, "connections": LOADED, **compared(costs, "inserts")}


def ordering(server: PostgresServer, rounds: int, seconds: int) -> dict[str, Any]:
    """New-Orders."""
    by_copy(server, warehouses=WAREHOUSES, database="tpcc")
    clients = {
        "loadcell": lambda: new_orders(server, seconds),
        "pgbench": lambda: pgbench_new_orders(server, seconds),
    }
    costs = in_turn(rounds, clients, unit="New-Order")
    size = {"warehouses": WAREHOUSES, "terminals": TERMINALS, "seconds": seconds}
    return {**size, **compared(costs, "pgbench")}


def main() -> None:
    """Measure, print a table, keep it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--only", choices=["load", "new-order"], help="Measure this part alone.")
    args = parser.parse_args()
    versions = {
        name: first_line(str(debian_postgres() / name), "--version") for name in ("pgbench", "postgres")
    }
    units = {"load": "warehouses a minute", "new-order": "tpmC"}
    for part in [args.only] if args.only else units:
        with PostgresServer(settings={"max_wal_size": "4GB"}) as server:
            if part == "load":
                result = loading(server, args.rounds)
            else:
                result = ordering(server, args.rounds, args.seconds)
        keep(
            f"tpcc_{part.replace('-', '_')}",
            f"python -m bench.tpcc --only {part} --rounds {args.rounds} --seconds {args.seconds}",
            {"versions": versions, "rounds": args.rounds, **result},
        )
        for key, title in (("rate_ratio", units[part]), ("cpu_ratio", "the client's CPU for each")):
            ratio = result[key]
            values = f"{ratio['median']:.2f} ({ratio['min']:.2f} to {ratio['max']:.2f})"
            print(f"{part}: {title}, loadcell / peer: {values}")


if __name__ == "__main__":
    main()

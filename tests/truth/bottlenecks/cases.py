"""The bottlenecks, each on a real server with sizes drawn at random."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from mariadb import MariadbServer
from redis_server import RedisServer
from servers import PostgresServer
from truth.bottlenecks.case import (
    SECRET,
    Bottleneck,
    Case,
    control_group,
    data_device,
    load,
    postgres_target,
    put,
    redis_target,
)
from truth.bottlenecks.counter_cases import OTHERS
from truth.bottlenecks.network import shaped_network

#: Rows of some 250 bytes each.
_ROWS = 400_000
#: A server of HTTP that hands each connection to one of n workers.
_WORKERS = Path(__file__).with_name("worker_pool.py")


@contextmanager
def cpu_quota(chance: random.Random) -> Iterator[Case]:
    """Redis in a control group with 0.2 to 0.6 of a core."""
    quota, clients = chance.uniform(0.2, 0.6), chance.randint(8, 64)
    limits = {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": str(round(quota * 1e5))}
    with control_group("cpu", limits) as group, RedisServer() as server:
        put(group, server.pid)
        work = {"kv": {"reads": f"{chance.randint(0, 100)}%", "keys": 10000}}
        plan = {"target": redis_target(server), "workload": work, "load": load(clients)}
        yield Case(plan, f"{quota:.2f} cores, {clients} clients", SECRET)


@contextmanager
def one_thread(chance: random.Random) -> Iterator[Case]:
    """Redis, which executes commands on one thread, with commands that write many keys."""
    clients, multi = chance.randint(4, 32), chance.randint(50, 200)
    with RedisServer() as server:
        work = {"kv": {"mix": {"mset": 100}, "multi": multi, "keys": 10000, "value_size": "10B"}}
        plan = {"target": redis_target(server), "workload": work, "load": load(clients)}
        yield Case(plan, f"{clients} clients, {multi} keys", SECRET)


@contextmanager
def slow_device(chance: random.Random) -> Iterator[Case]:
    """MariaDB with a small buffer pool and direct I/O, on a device with a limit of reads a second."""
    reads, clients = chance.randint(100, 600), chance.randint(4, 16)
    settings = {"innodb_buffer_pool_size": "6M", "innodb_flush_method": "O_DIRECT"}
    with control_group("blkio", {}) as group, MariadbServer(settings) as server:
        server.sql("CREATE DATABASE shop")
        server.sql(
            f"CREATE TABLE items (PRIMARY KEY (id)) SELECT seq AS id, REPEAT('x', 200) AS text "
            f"FROM seq_1_to_{_ROWS}",
            database="shop",
        )
        put(group, server.pid)
        (group / "blkio.throttle.read_iops_device").write_text(f"{data_device()} {reads}")
        target = {"server": "external", "url": server.url("shop"), "password": "${env:BENCH}"}
        work = _lookup("SELECT text FROM items WHERE id = :id")
        plan = {"target": {"mysql": target}, "workload": work, "load": load(clients)}
        yield Case(plan, f"{reads} reads/s, {clients} clients", SECRET)


def _lookup(statement: str) -> dict[str, Any]:
    """Lookups of random rows."""
    return {
        "sql": {"statements": [statement], "parameters": {"id": f"uniform(1..{_ROWS})"}, "explain": False}
    }


@contextmanager
def shaped_link(chance: random.Random) -> Iterator[Case]:
    """Redis behind a network with a token bucket filter."""
    megabits, kilobytes, clients = chance.randint(5, 60), chance.randint(1, 20), chance.randint(4, 32)
    with shaped_network(megabits) as network:
        server = network.redis()
        work = {"kv": {"reads": "0%", "keys": 1000, "value_size": f"{kilobytes}kB"}}
        target = {"server": "external", "host": network.address, "port": server, "password": "${env:BENCH}"}
        plan = {"target": {"redis": target}, "workload": work, "load": load(clients)}
        yield Case(plan, f"{megabits} Mbit/s, values of {kilobytes} kB, {clients} clients", SECRET)


@contextmanager
def hot_row(chance: random.Random) -> Iterator[Case]:
    """PostgreSQL: all transactions change the same row, and hold its lock for 1 to 5 ms."""
    hold_ms, clients = chance.uniform(1, 5), chance.randint(6, 32)
    with PostgresServer() as server:
        with_row(server)
        transaction = ["UPDATE hot SET n = n + 1 WHERE id = 1", f"SELECT pg_sleep({hold_ms / 1e3:.4f})"]
        work = {"sql": {"statements": [{"name": "change", "transaction": transaction}], "explain": False}}
        plan = {
            "target": postgres_target(server), "workload": work, "load": load(clients),
            "monitors": [{"postgres": {"wait_rate": "10/s"}}],
        }  # fmt: skip
        yield Case(plan, f"{hold_ms:.1f} ms, {clients} clients")


def with_row(server: PostgresServer, rows: int = 1) -> None:
    """A table of one row, or of some."""
    server.sql("CREATE TABLE hot (id int PRIMARY KEY, n bigint NOT NULL)")
    server.sql(f"INSERT INTO hot SELECT id, 0 FROM generate_series(1, {rows}) id")


@contextmanager
def small_pool(chance: random.Random) -> Iterator[Case]:
    """A server with k workers, each for one connection at a time, that wait 1 to 8 ms for something else."""
    workers, wait_ms = chance.randint(1, 6), chance.uniform(1, 8)
    clients = workers + chance.randint(4, 24)
    command = [sys.executable, str(_WORKERS), "{port}", str(workers), f"{wait_ms:.2f}"]
    target = {"command": {"command": command, "url": "http://127.0.0.1:{port}"}}
    work = {"http": {"requests": {"get": {"path": "/"}}, "keep_alive": False}}
    yield Case(
        {"target": target, "workload": work, "load": load(clients)},
        f"{workers} workers, {wait_ms:.1f} ms, {clients} clients",
    )


@contextmanager
def memory_limit(chance: random.Random) -> Iterator[Case]:
    """PostgreSQL in a control group whose memory holds a part of the data."""
    megabytes, clients = chance.randint(50, 80), chance.randint(4, 16)
    with control_group("memory", {}) as group, PostgresServer(settings={"shared_buffers": "16MB"}) as server:
        server.sql(
            f"CREATE TABLE items AS SELECT id, repeat('x', 200) AS text FROM generate_series(1, {_ROWS}) id"
        )
        server.sql("ALTER TABLE items ADD PRIMARY KEY (id)")
        server.sql("CHECKPOINT")
        os.sync()
        Path("/proc/sys/vm/drop_caches").write_text("1")  # pages belong to the group that read them
        put(group, server.pid)
        (group / "memory.limit_in_bytes").write_text(str(megabytes << 20))
        plan = {
            "target": postgres_target(server), "workload": _lookup("SELECT text FROM items WHERE id = :id"),
            "load": load(clients),
        }  # fmt: skip
        yield Case(plan, f"{megabytes} MiB, {clients} clients")


@contextmanager
def one_client_thread(chance: random.Random) -> Iterator[Case]:
    """nginx, and one thread of the client that reads and checks long JSON documents."""
    numbers, clients = chance.randint(5_000, 15_000), chance.randint(8, 64)
    body = '{"n": [' + ",".join(str(number) for number in range(numbers)) + '], "end": 1}'
    settings = (
        "daemon off; user root; worker_processes 2; pid {work}/nginx.pid; events {} http { access_log off;"
        " client_body_temp_path {work}/a; proxy_temp_path {work}/b; fastcgi_temp_path {work}/c;"
        " uwsgi_temp_path {work}/d; scgi_temp_path {work}/e; keepalive_requests 100000000;"
        " server { listen 127.0.0.1:{port} backlog=1024 reuseport; root {work}; sendfile on; } }"
    )
    target = {
        "command": ["nginx", "-e", "stderr", "-p", "{work}", "-c", "{work}/nginx.conf"],
        "url": "http://127.0.0.1:{port}", "files": {"nginx.conf": settings, "list.json": body},
    }  # fmt: skip
    check = {"json": {"$.end": 1}, "pattern": "1999.*end"}
    work = {"http": {"steps": {"list": {"path": "/list.json", "check": check}}}}
    yield Case(
        {"target": {"command": target}, "workload": work, "load": load(clients, threads=1)},
        f"{len(body)} bytes, {clients} clients",
    )


@contextmanager
def flush_each_commit(chance: random.Random) -> Iterator[Case]:
    """Redis that flushes its log before each answer, or PostgreSQL with a flush for each commit, on a device
    with a limit of writes a second: a flush takes a millisecond or more.
    """
    clients, writes, is_redis = chance.randint(2, 12), chance.randint(300, 1500), chance.random() < 0.5
    with ExitStack() as stack:
        group = stack.enter_context(control_group("blkio", {}))
        plan: dict[str, Any]
        if is_redis:
            redis = stack.enter_context(RedisServer({"appendonly": "yes", "appendfsync": "always"}))
            work: dict[str, Any] = {"kv": {"reads": "0%", "keys": 10000}}
            plan, pid = {"target": redis_target(redis), "workload": work}, redis.pid
        else:
            durable = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}
            postgres = stack.enter_context(PostgresServer(settings=durable))
            with_row(postgres, rows=1000)
            work = {"sql": {"statements": ["UPDATE hot SET n = n + 1 WHERE id = :id"], "explain": False}}
            work["sql"]["parameters"] = {"id": "uniform(1..1000)"}
            plan, pid = {"target": postgres_target(postgres), "workload": work}, postgres.pid
        put(group, pid)
        (group / "blkio.throttle.write_iops_device").write_text(f"{data_device()} {writes}")
        size = f"{'Redis' if is_redis else 'PostgreSQL'}, {writes} writes/s, {clients} clients"
        yield Case({**plan, "load": load(clients)}, size, SECRET)


@contextmanager
def small_load(chance: random.Random) -> Iterator[Case]:
    """An idle Redis: an open loop at a low rate, or one client."""
    with RedisServer() as server:
        work = {"kv": {"keys": 10000}}
        rate = chance.randint(100, 3000)
        is_open = chance.random() < 0.5
        paced = load(8, rate=f"{rate}/s") if is_open else load(1)
        plan = {"target": redis_target(server), "workload": work, "load": paced}
        yield Case(plan, f"{rate} requests/s" if is_open else "1 client", SECRET)


ALL = (
    Bottleneck("CPU quota", "quota", cpu_quota),
    Bottleneck("one-threaded server", "thread", one_thread),
    Bottleneck("slow device", "disk", slow_device),
    Bottleneck("shaped link", "network", shaped_link),
    Bottleneck("lock that everybody takes", "locks", hot_row),
    Bottleneck("pool of k workers", "pool", small_pool),
    Bottleneck("memory limit", "memory", memory_limit),
    Bottleneck("one client thread", "client", one_client_thread),
    Bottleneck("flush for each commit", "flush", flush_each_commit),
    Bottleneck("small load", "load", small_load),
    *OTHERS,
)

"""Limits that lie outside the server, and signs of limits that no request waits for."""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from redis_server import RedisServer
from servers import PostgresServer, die_with_parent
from truth.bottlenecks.case import (
    DATA,
    SECRET,
    Bottleneck,
    Case,
    control_group,
    data_device,
    load,
    postgres_target,
    redis_target,
)
from truth.bottlenecks.network import shaped_network

#: A server of HTTP beside threads that flush.
_FLUSHING = Path(__file__).with_name("background_flush.py")
#: Datagrams to an address, as many as its link takes.
_FLOOD = """
import socket, sys
flood = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
flood.connect((sys.argv[1], 9))
while True:
    try:
        flood.send(bytes(1400))
    except ConnectionRefusedError:
        pass
"""


@contextmanager
def running(code: str, *arguments: str, count: int = 1) -> Iterator[None]:
    """Programs in Python beside the load, each in a separate autogroup (sched(7))."""
    command = [sys.executable, "-c", code, *arguments]
    programs = [
        subprocess.Popen(command, preexec_fn=die_with_parent, start_new_session=True) for _ in range(count)
    ]
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


@contextmanager
def busy_cores(chance: random.Random) -> Iterator[Case]:
    """PostgreSQL whose sessions count on all cores."""
    clients, numbers = chance.randint(4, 16), chance.randint(2_000, 20_000)
    with PostgresServer() as server:
        work = {"sql": {"statements": [f"SELECT count(*) FROM generate_series(1, {numbers})"]}}
        work["sql"]["explain"] = False
        plan = {"target": postgres_target(server), "workload": work, "load": load(clients)}
        yield Case(plan, f"{clients} clients, {numbers} numbers")


@contextmanager
def other_programs(chance: random.Random) -> Iterator[Case]:
    """The same with two clients, beside programs that use all cores."""
    programs, numbers = chance.randint(4, 8), chance.randint(2_000, 20_000)
    with PostgresServer() as server, running("while True: pass", count=programs):
        work = {"sql": {"statements": [f"SELECT count(*) FROM generate_series(1, {numbers})"]}}
        work["sql"]["explain"] = False
        plan = {"target": postgres_target(server), "workload": work, "load": load(2)}
        yield Case(plan, f"{programs} programs, {numbers} numbers")


@contextmanager
def background_flush(chance: random.Random) -> Iterator[Case]:
    """A server whose requests wait for nothing of this machine, beside threads that always flush, on a device
    with a limit of writes a second.
    """
    flushing, clients, wait_ms = chance.randint(1, 3), chance.randint(8, 24), chance.uniform(2, 10)
    writes = chance.randint(100, 600)
    limits = {"blkio.throttle.write_iops_device": f"{data_device()} {writes}"}
    with control_group("blkio", limits) as group, tempfile.TemporaryDirectory(dir=DATA) as directory:
        server = [sys.executable, str(_FLUSHING), "{port}", directory, str(flushing), f"{wait_ms:.2f}"]
        enter = f'echo $$ > {group}/cgroup.procs && exec "$@"'
        target = {
            "command": {"command": ["sh", "-c", enter, "sh", *server], "url": "http://127.0.0.1:{port}"}
        }
        work = {"http": {"requests": {"get": {"path": "/"}}}}
        plan = {"target": target, "workload": work, "load": load(clients)}
        size = f"{flushing} threads, {writes} writes/s, {wait_ms:.1f} ms, {clients} clients"
        yield Case(plan, size)


@contextmanager
def other_traffic(chance: random.Random) -> Iterator[Case]:
    """Redis on the loopback under a small load, beside traffic that fills the queue of another interface."""
    megabits, rate = chance.randint(5, 60), chance.randint(100, 3000)
    with shaped_network(megabits) as network, running(_FLOOD, network.address), RedisServer() as server:
        work = {"kv": {"keys": 10000}}
        plan = {"target": redis_target(server), "workload": work, "load": load(8, rate=f"{rate}/s")}
        yield Case(plan, f"{megabits} Mbit/s, {rate} requests/s", SECRET)


OTHERS = (
    Bottleneck("all cores", "cpu", busy_cores),
    Bottleneck("other programs", "others", other_programs),
    Bottleneck("flushes in the background", "not known", background_flush),
    Bottleneck("traffic elsewhere", "load", other_traffic),
)

"""The proxy of faults against known answers: delay, bandwidth, and its number of connections."""

from __future__ import annotations

import contextlib
import json
import resource
import socket
import statistics
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from loadcell import _engine
from truth.loads import bound, undisturbed


@contextlib.contextmanager
def proxy(port: int, connections: int = 8) -> Iterator[_engine.Proxy]:
    """A proxy in front of a port of this machine."""
    target = {
        "protocol": "resp",
        "host": "127.0.0.1",
        "port": port,
        "sslmode": "disable",
        "connect_timeout_ns": 1,
    }
    made = _engine.Proxy(
        json.dumps({"target": target, "threads": 1, "connections": connections, "processors": [], "seed": 1})
    )
    try:
        yield made
    finally:
        made.stop()


@contextlib.contextmanager
def effect(proxy: _engine.Proxy, **effects: Any) -> Iterator[None]:
    """An effect, as long as the context lasts."""
    number = proxy.begin(json.dumps(effects))
    try:
        yield
    finally:
        proxy.end(number)


@pytest.fixture
def echo() -> Iterator[int]:
    """Port of a server that sends back what it receives."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=4096)

    def serve(stream: socket.socket) -> None:
        with stream, contextlib.suppress(OSError):
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while data := stream.recv(65536):
                stream.sendall(data)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    yield int(listener.getsockname()[1])
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


def connected(port: int) -> socket.socket:
    stream = socket.create_connection(("127.0.0.1", port), timeout=10)
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return stream


def round_trip_ms(stream: socket.socket, count: int = 101) -> float:
    """Median of round trips of 100 bytes."""
    times = []
    for _ in range(count):
        began = time.perf_counter_ns()
        stream.sendall(b"x" * 100)
        received = 0
        while received < 100:
            received += len(stream.recv(100))
        times.append((time.perf_counter_ns() - began) / 1e6)
    return statistics.median(times)


@pytest.mark.parametrize(("direction", "expected_ms"), [("to-client", 5), ("to-server", 5), ("both", 10)])
def test_a_delay_of_5_ms_is_5_ms(echo: int, direction: str, expected_ms: float) -> None:
    with proxy(echo) as between, connected(between.port) as stream:

        def check() -> None:
            without = round_trip_ms(stream)
            with effect(between, delay={"time_ns": 5_000_000, "jitter_ns": 0, "direction": direction}):
                delayed = round_trip_ms(stream)
            # each direction has its own sleep, which a busy machine ends late
            limit = bound(0.2, 2.0) * (2 if direction == "both" else 1)
            assert delayed - without == pytest.approx(expected_ms, abs=limit)

        undisturbed(check)


def test_8_mbit_per_second_are_1_mb_per_second() -> None:
    size = 3_000_000
    with socket.create_server(("127.0.0.1", 0)) as listener, proxy(listener.getsockname()[1]) as between:

        def check() -> None:
            with (
                effect(between, bandwidth={"bytes_per_s": 1_000_000, "direction": "to-server"}),
                connected(between.port) as sender,
            ):
                receiver, _ = listener.accept()
                writing = threading.Thread(target=sender.sendall, args=(bytes(size),), daemon=True)
                with receiver:
                    writing.start()
                    received = len(receiver.recv(65536))
                    began, counted = time.perf_counter(), 0
                    while received + counted < size:
                        counted += len(receiver.recv(65536))
                    rate = counted / (time.perf_counter() - began)
                writing.join()
            assert rate == pytest.approx(1_000_000, rel=bound(0.03, 0.1))

        undisturbed(check)


def test_10_000_connections_work_at_once() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # both ends of them are in this process; the proxy's threads have their own descriptors
    count = min(10_000, (hard - 400) // 2)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        with (
            socket.create_server(("127.0.0.1", 0), backlog=4096) as listener,
            proxy(listener.getsockname()[1], count) as between,
            contextlib.ExitStack() as streams,
        ):
            pairs = []
            for number in range(count):
                client = streams.enter_context(connected(between.port))
                server = streams.enter_context(listener.accept()[0])
                client.sendall(number.to_bytes(4))
                pairs.append((client, server))
            by_number = {server.recv(4): server for _, server in pairs}
            for number, (client, _) in enumerate(pairs):
                by_number[number.to_bytes(4)].sendall(number.to_bytes(4))
                assert client.recv(4) == number.to_bytes(4)
        assert len(by_number) == count
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

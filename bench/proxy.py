"""CPU time and latency of the proxy of faults, without effects, beside a bare splice loop.

    python -m bench.proxy --rounds 11

One connection between two processes of this machine: messages of 100 bytes back and forth, and a stream. Each
contender is a process with one thread (`bare_splice.rs`, `proxy_alone.rs`), in turn; latencies are what each
adds to a direct connection.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import socket
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator

from bench.paired import EXAMPLES, keep, note, ratios, spread

MESSAGE = 100
PIECE = 1 << 20
#: Messages and pieces before a measurement.
WARM_UP = 500


@contextlib.contextmanager
def server() -> Iterator[int]:
    """Port of a process that sends messages back, or swallows a stream: by the first byte."""
    listener = socket.create_server(("127.0.0.1", 0))
    child = os.fork()
    if child == 0:
        with contextlib.suppress(OSError):
            while True:
                serve(listener.accept()[0])
        os._exit(0)
    port = listener.getsockname()[1]
    listener.close()
    try:
        yield port
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)


def serve(stream: socket.socket) -> None:
    """Answer one connection to its end."""
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    echoes = stream.recv(1) == b"e"
    buffer = memoryview(bytearray(PIECE))
    with contextlib.suppress(OSError):
        while count := stream.recv_into(buffer):
            if echoes:
                stream.sendall(buffer[:count])
        stream.sendall(b".")
    stream.close()


@contextlib.contextmanager
def carried(program: str, port: int) -> Iterator[tuple[int, Callable[[], int]]]:
    """Port of a contender in front of `port`, and a function that ends it and gives its CPU nanoseconds."""
    process = subprocess.Popen(
        (str(EXAMPLES / program), str(port)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None

    def end() -> int:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        return int(process.stdout.readline())

    try:
        yield int(process.stdout.readline()), end
    finally:
        process.kill()
        process.wait()


def ping_pong(port: int, seconds: float) -> tuple[int, float]:
    """Number of round trips, and their median in microseconds."""
    with socket.create_connection(("127.0.0.1", port)) as stream:
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        stream.sendall(b"e")
        message, times = b"x" * MESSAGE, []
        until = time.perf_counter() + seconds
        while (began := time.perf_counter()) < until:
            stream.sendall(message)
            received = 0
            while received < MESSAGE:
                received += len(stream.recv(MESSAGE))
            times.append(time.perf_counter() - began)
    return len(times), statistics.median(times[WARM_UP:]) * 1e6


def bulk(port: int, seconds: float) -> int:
    """Bytes of a stream that arrived."""
    with socket.create_connection(("127.0.0.1", port)) as stream:
        stream.sendall(b"s")
        piece, sent = bytes(PIECE), 0
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            stream.sendall(piece)
            sent += PIECE
        stream.shutdown(socket.SHUT_WR)
        stream.recv(1)
    return sent


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--seconds", type=float, default=1.0)
    args = parser.parse_args()
    names = ["proxy_alone", "bare_splice"]
    cpu: dict[str, list[float]] = {name: [] for name in names}
    latency: dict[str, list[float]] = {name: [] for name in names}
    stream_cpu: dict[str, list[float]] = {name: [] for name in names}
    speed: dict[str, list[float]] = {name: [] for name in names}
    with server() as port:
        for number in range(args.rounds):
            _, direct = ping_pong(port, args.seconds)
            for name in names if number % 2 == 0 else reversed(names):
                with carried(name, port) as (between, end):
                    count, typical = ping_pong(between, args.seconds)
                    cpu[name].append(end() / count / 1e3)
                    latency[name].append(typical - direct)
                with carried(name, port) as (between, end):
                    sent = bulk(between, args.seconds)
                    stream_cpu[name].append(end() / (sent / 1e6) / 1e3)
                    speed[name].append(sent / args.seconds / 1e6)
                note(
                    f"  {name:12} {cpu[name][-1]:6.2f} us CPU/round trip, {latency[name][-1]:6.1f} us added; "
                    f"{stream_cpu[name][-1]:6.1f} us CPU/MB, {speed[name][-1]:7.0f} MB/s"
                )
    ours, theirs = names
    result = {
        title: {
            "proxy": spread(values[ours]),
            "splice loop": spread(values[theirs]),
            "ratio": ratios(values[ours], values[theirs]),
        }
        for title, values in (
            ("cpu_us_per_round_trip", cpu),
            ("added_latency_us", latency),
            ("cpu_us_per_mb", stream_cpu),
            ("mb_per_s", speed),
        )
    }
    keep("proxy", f"python -m bench.proxy --rounds {args.rounds} --seconds {args.seconds:g}", result)
    for title, values in result.items():
        ratio = values["ratio"]
        print(
            f"{title}: {values['proxy']['median']:.2f} beside {values['splice loop']['median']:.2f}, "
            f"ratio {ratio['median']:.2f} ({ratio['min']:.2f} to {ratio['max']:.2f})"
        )


if __name__ == "__main__":
    main()

"""Services of streams for tests: they read records by lines, and answer well, badly or not at all."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

#: Takes the numbers of the records that were read at once, and gives the numbers to answer.
Answer = Callable[[list[int]], list[int]]


def unchanged(numbers: list[int]) -> list[int]:
    return numbers


@dataclass
class Altered:
    """Changes the answers to `count` records: one in every `every`, from the first on."""

    change: Callable[[int, list[int]], list[int]]
    count: int
    every: int = 100
    seen: int = field(default=0, init=False)
    altered: int = field(default=0, init=False)

    def __call__(self, numbers: list[int]) -> list[int]:
        answers: list[int] = []
        for number in numbers:
            self.seen += 1
            if self.seen % self.every == 0 and self.altered < self.count:
                self.altered += 1
                answers = self.change(number, answers)
            else:
                answers.append(number)
        return answers


def dropping(count: int) -> Altered:
    return Altered(lambda _, answers: answers, count)


def repeating(count: int) -> Altered:
    return Altered(lambda number, answers: [*answers, number, number], count)


def inventing(count: int) -> Altered:
    """Answers records that were never sent, next to all others."""
    return Altered(lambda number, answers: [*answers, number, number + 10**9], count)


class Swapping:
    """Answers `count` pairs of neighbours in the other order."""

    def __init__(self, count: int) -> None:
        self.remaining = count
        self.held: int | None = None

    def __call__(self, numbers: list[int]) -> list[int]:
        answers: list[int] = []
        for number in numbers:
            if self.held is not None:
                answers += [number, self.held]
                self.held, self.remaining = None, self.remaining - 1
            elif self.remaining and number % 10 == 0:
                self.held = number
            else:
                answers.append(number)
        return answers


@dataclass
class StreamServer:
    """A server that runs; `records` are the lines that it read, if it keeps them."""

    address: str
    records: list[bytes] = field(default_factory=list)
    connections: list[socket.socket] = field(default_factory=list)
    #: Lengths of its stalls, which a busy machine prolongs.
    stalls_s: list[float] = field(default_factory=list)


def _lines(connection: socket.socket) -> Iterator[list[bytes]]:
    partial = b""
    while data := connection.recv(1 << 16):
        *lines, partial = (partial + data).split(b"\n")
        if lines:
            yield lines


def answering(answer: Answer = unchanged) -> Callable[[StreamServer, socket.socket], None]:
    """Answers each record by its number."""

    def serve(server: StreamServer, connection: socket.socket) -> None:
        for lines in _lines(connection):
            server.records += lines
            numbers = answer([int(line.split(b",", 1)[0]) for line in lines])
            connection.sendall(b"".join(b"%d\n" % number for number in numbers))

    return serve


def counting(surplus: int = 0) -> Callable[[StreamServer, socket.socket], None]:
    """Answers with the number of records so far, and `surplus` more."""

    def serve(_: StreamServer, connection: socket.socket) -> None:
        count = 0
        for lines in _lines(connection):
            count += len(lines)
            connection.sendall(b"%d\n" % (count + surplus))

    return serve


def sink(server: StreamServer, connection: socket.socket) -> None:
    """Reads, and answers nothing."""
    for lines in _lines(connection):
        server.records += lines


def silent(server: StreamServer, connection: socket.socket) -> None:
    """Reads, answers nothing, and stays."""
    sink(server, connection)
    threading.Event().wait()


def deaf(_: StreamServer, connection: socket.socket) -> None:
    """Reads nothing."""
    del connection
    threading.Event().wait()


def closing(after: int) -> Callable[[StreamServer, socket.socket], None]:
    """Closes the connection after this number of records."""

    def serve(_: StreamServer, connection: socket.socket) -> None:
        count = 0
        for lines in _lines(connection):
            count += len(lines)
            connection.sendall(b"".join(line.split(b",", 1)[0] + b"\n" for line in lines))
            if count >= after:
                return

    return serve


def saying(text: bytes) -> Callable[[StreamServer, socket.socket], None]:
    """Answers with this text."""

    def serve(_: StreamServer, connection: socket.socket) -> None:
        for _lines_read in _lines(connection):
            connection.sendall(text)

    return serve


def stalling(after_s: float, for_s: float) -> Callable[[StreamServer, socket.socket], None]:
    """Answers each record, but reads nothing for a while, once."""

    def serve(server: StreamServer, connection: socket.socket) -> None:
        began_s, stalled = time.monotonic(), False
        for lines in _lines(connection):
            if not stalled and time.monotonic() - began_s > after_s:
                stalled, stall_s = True, time.monotonic()
                time.sleep(for_s)
                server.stalls_s.append(time.monotonic() - stall_s)
            connection.sendall(b"".join(line.split(b",", 1)[0] + b"\n" for line in lines))

    return serve


@contextmanager
def stream_server(
    serve: Callable[[StreamServer, socket.socket], None], path: Path | None = None
) -> Iterator[StreamServer]:
    """A server at a port of 127.0.0.1, or at the path of a Unix socket."""
    listener = socket.socket(socket.AF_INET if path is None else socket.AF_UNIX)
    if path is None:
        listener.bind(("127.0.0.1", 0))
    else:
        listener.bind(str(path))
    listener.listen()
    address = str(path) if path is not None else f"127.0.0.1:{listener.getsockname()[1]}"
    server = StreamServer(address)

    def serve_connection(connection: socket.socket) -> None:
        try:
            serve(server, connection)
        except (OSError, ValueError):
            pass
        finally:
            connection.close()

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            server.connections.append(connection)
            threading.Thread(target=serve_connection, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield server
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for connection in server.connections:
            connection.close()

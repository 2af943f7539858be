"""An HTTP server whose answers are raw bytes, or worse, as the test says: also what no server should send."""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable
from typing import Any

#: What to do with request number so-and-so on a connection whose head this is; whether the connection goes
#: on.
Answer = Callable[[socket.socket, int, bytes], bool]


def response(body: bytes = b"ok", status: str = "200 OK", *headers: str) -> bytes:
    """A proper one."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def says(text: bytes, *, continues: bool = True) -> Answer:
    """Says the same to everything."""

    def answer(stream: socket.socket, number: int, head: bytes) -> bool:
        stream.sendall(text)
        return continues

    return answer


def resets(stream: socket.socket, number: int, head: bytes) -> bool:
    """Breaks the connection off."""
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return False


def dribbles(pause_s: float) -> Answer:
    """A proper response, byte by byte."""

    def answer(stream: socket.socket, number: int, head: bytes) -> bool:
        for byte in response():
            stream.sendall(bytes([byte]))
            time.sleep(pause_s)
        return True

    return answer


def never(stream: socket.socket, number: int, head: bytes) -> bool:
    """Accepts and does not answer."""
    return True


class Hostile:
    """Listens on a free port of 127.0.0.1. `requests` and `connections` are what it saw."""

    def __init__(self, answer: Answer, tls: ssl.SSLContext | None = None) -> None:
        self.requests = self.connections = 0
        self._answer = answer
        self._tls = tls
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Hostile:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def target(self, **more: Any) -> dict[str, Any]:
        """The engine's `target` section."""
        return {"protocol": "http", "host": "127.0.0.1", "port": self.port, "sslmode": "disable", **more}

    def _accept(self) -> None:
        while True:
            try:
                stream, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(stream,), daemon=True).start()

    def _serve(self, stream: socket.socket) -> None:
        with self._lock:
            self.connections += 1
        with contextlib.closing(stream), contextlib.suppress(OSError):
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._tls is None:
                self._converse(stream)
                return
            with self._tls.wrap_socket(stream, server_side=True) as secured:
                self._converse(secured)

    def _converse(self, stream: socket.socket) -> None:
        seen = b""
        while True:
            while b"\r\n\r\n" not in seen:
                got = stream.recv(65536)
                if not got:
                    return
                seen += got
            head, _, body = seen.partition(b"\r\n\r\n")
            length = next(
                (
                    int(line.split(b":")[1])
                    for line in head.split(b"\r\n")
                    if line.lower().startswith(b"content-length:")
                ),
                0,
            )
            while len(body) < length:
                body += stream.recv(65536)
            seen = body[length:]
            with self._lock:
                self.requests += 1
                number = self.requests
            if not self._answer(stream, number, head):
                return

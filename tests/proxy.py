"""A TCP proxy that lets a real server misbehave: it falls silent, replaces answers or breaks them."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable

#: What is passed on instead of a piece of bytes; None: the proxy is silent from here on, on all connections.
Change = Callable[[bytes], bytes | None]


def unchanged(data: bytes) -> bytes:
    """Pass everything on."""
    return data


def silent_after(*words: bytes) -> Change:
    """Fall silent once the client has sent one of these words."""
    return lambda data: None if any(word in data for word in words) else data


class Proxy:
    """Listens on a free port of 127.0.0.1 in front of `upstream`, a host and a port."""

    def __init__(
        self, upstream: tuple[str, int], asked: Change = unchanged, answered: Change = unchanged
    ) -> None:
        self.silent = threading.Event()
        self._upstream = upstream
        self._changes = asked, answered
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Proxy:
        return self

    def __exit__(self, *_: object) -> None:
        for stream in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                stream.shutdown(socket.SHUT_RDWR)
            stream.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self._open.append(client)
            if self.silent.is_set():
                continue
            server = socket.create_connection(self._upstream)
            self._open.append(server)
            for source, sink, change in zip((client, server), (server, client), self._changes, strict=True):
                threading.Thread(target=self._pass_on, args=(source, sink, change), daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket, change: Change) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                changed = None if self.silent.is_set() else change(data)
                if changed is None:
                    self.silent.set()
                else:
                    sink.sendall(changed)
            if not self.silent.is_set():
                sink.shutdown(socket.SHUT_WR)


class Replaced:
    """The next answer after a word of the client is another one."""

    def __init__(self, word: bytes, answer: bytes) -> None:
        self._word = word
        self._answer = answer
        self._pending = False

    def asked(self, data: bytes) -> bytes:
        """Pass on what the client sends."""
        self._pending |= self._word in data
        return data

    def answered(self, data: bytes) -> bytes:
        """Pass on what the server sends, or the other answer."""
        if not self._pending:
            return data
        self._pending = False
        return self._answer

"""A server of HTTP with a thread for each connection, beside threads that flush what no request waits for.

Arguments: port, directory, flushing threads, milliseconds that a request waits for something else.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from pathlib import Path

_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n"


def _serve(connection: socket.socket, wait_s: float) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with connection:
        request = b""
        while part := connection.recv(4096):
            request += part
            while b"\r\n\r\n" in request:
                request = request.partition(b"\r\n\r\n")[2]
                time.sleep(wait_s)
                connection.sendall(_ANSWER)


def _flush(path: Path) -> None:
    file = os.open(path, os.O_CREAT | os.O_WRONLY)
    while True:
        os.pwrite(file, b"x" * 4096, 0)
        os.fdatasync(file)


def main(port: int, home: Path, flushing: int, wait_ms: float) -> None:
    """Serve until killed."""
    listener = socket.create_server(("127.0.0.1", port), backlog=1024)
    for number in range(flushing):
        threading.Thread(target=_flush, args=(home / f"flushed-{number}",), daemon=True).start()
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=_serve, args=(connection, wait_ms / 1e3), daemon=True).start()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))

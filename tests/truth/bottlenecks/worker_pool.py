"""A server of HTTP with n workers, each for one connection at a time, as in Apache's prefork module.

Arguments: port, workers, milliseconds that a request waits for something else.
"""

from __future__ import annotations

import socket
import sys
import threading
import time


def _work(listener: socket.socket, wait_s: float) -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nok\n"
    while True:
        connection, _ = listener.accept()
        with connection:
            request = b""
            while b"\r\n\r\n" not in request and (part := connection.recv(4096)):
                request += part
            if request:
                time.sleep(wait_s)
                connection.sendall(answer)


def main(port: int, workers: int, wait_ms: float) -> None:
    """Serve until killed."""
    listener = socket.create_server(("127.0.0.1", port), backlog=1024)
    threads = [threading.Thread(target=_work, args=(listener, wait_ms / 1e3)) for _ in range(workers)]
    for thread in threads:
        thread.start()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))

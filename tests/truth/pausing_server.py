"""HTTP server that stops for 50 ms at the beginning of each second, and writes its pauses as a GC log.

Requests of `/slow` take 100 ms while it works on others. Arguments: port, path of the log.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

PAUSE_S, SLOW_S = 0.05, 0.1
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Connection(asyncio.Protocol):
    """A request is one piece, and the next comes after its response."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if data.startswith(b"GET /slow"):
            asyncio.get_running_loop().call_later(SLOW_S, self._answer)
        else:
            self._answer()

    def _answer(self) -> None:
        assert isinstance(self._transport, asyncio.Transport)
        self._transport.write(ANSWER)


async def serve(port: int, log: Path) -> None:
    """Serve until the process is ended."""
    loop = asyncio.get_running_loop()
    await loop.create_server(Connection, "127.0.0.1", port)
    with log.open("w", buffering=1) as lines:
        number = 0
        while True:
            await asyncio.sleep(1 - time.monotonic() % 1)
            began_ns = time.monotonic_ns()
            time.sleep(PAUSE_S)  # nothing is served meanwhile
            ended_ns = time.monotonic_ns()
            text = f"GC({number}) Pause Full (System.gc()) 8M->4M(16M) {(ended_ns - began_ns) / 1e6:.3f}ms"
            lines.write(f"[{ended_ns}ns][info][gc] {text}\n")
            number += 1


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), Path(sys.argv[2])))

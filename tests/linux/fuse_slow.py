"""A FUSE file system whose reads and flushes past the page cache take as long as it was told, one at a time;
it keeps an account of them.
"""

from __future__ import annotations

import json
import sys
import time

from linux.fuse_files import Files
from linux.fuse_server import mount, serve

READ, FSYNC = 15, 20


class SlowFiles(Files):
    """Files whose READ and FSYNC take so long, in milliseconds."""

    def __init__(self, read_ms: float, flush_ms: float) -> None:
        super().__init__(direct=True)
        self._takes_s = {READ: read_ms / 1e3, FSYNC: flush_ms / 1e3}
        #: what each really took, in seconds
        self.took_s: dict[int, list[float]] = {READ: [], FSYNC: []}

    def answer(self, operation: int, node: int, body: bytes) -> bytes:
        """One request's answer."""
        if operation not in self._takes_s:
            return super().answer(operation, node, body)
        begun = time.monotonic()
        arguments = b"" if operation == FSYNC else super().answer(operation, node, body)
        time.sleep(max(0.0, self._takes_s[operation] - (time.monotonic() - begun)))
        self.took_s[operation].append(time.monotonic() - begun)
        return arguments


if __name__ == "__main__":
    files = SlowFiles(float(sys.argv[2]), float(sys.argv[3]))
    serve(mount(sys.argv[1]), files.answer)
    print(json.dumps({"reads": files.took_s[READ], "flushes": files.took_s[FSYNC]}), flush=True)

"""The JVM service of the benches: services/berkeleydb as loadcell builds it, with fixed settings."""

from __future__ import annotations

import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from bench.client_cost_http import free_port
from loadcell.systems.jvm.options import JvmOptions

HEAP = "512m"
KEYS, VALUE_BYTES = 10_000, 1_000
_READY_WITHIN_S = 60


@dataclass(frozen=True)
class RunningService:
    """A service that answers."""

    pid: int
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def berkeleydb(prefix: Sequence[str] = ()) -> Iterator[RunningService]:
    """A service with KEYS values in its cache, collected by G1; without a GC log."""
    build = JvmOptions(service="berkeleydb").build
    assert build is not None
    build.fetch()
    with tempfile.TemporaryDirectory(prefix="loadcell-bench-") as data:
        port = free_port()
        properties = {"port": port, "data": data, "fill": KEYS, "fillValueSize": VALUE_BYTES}
        words = [f"-D{name}={value}" for name, value in properties.items()]
        command = [
            *prefix,
            "java",
            f"-Xms{HEAP}",
            f"-Xmx{HEAP}",
            "-XX:+UseG1GC",
            *words,
            "-jar",
            str(build.jar),
        ]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            running = RunningService(process.pid, port)
            _await(process, running.url)
            yield running
        finally:
            process.terminate()
            process.wait()


def _await(process: subprocess.Popen[bytes], url: str) -> None:
    until = time.monotonic() + _READY_WITHIN_S
    while process.poll() is None and time.monotonic() < until:
        try:
            with urllib.request.urlopen(f"{url}/random_get", timeout=1):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise SystemExit(f"{url} does not answer")

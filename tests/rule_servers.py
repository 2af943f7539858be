"""Processes of services/rules."""

from __future__ import annotations

import re
import socket
import subprocess
import threading
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import IO


@dataclass(frozen=True)
class Process:
    """A running service or coordinator."""

    process: subprocess.Popen[str]
    port: int
    output: list[str]
    reader: threading.Thread

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)

    def get(self, path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10) as reply:
            return str(reply.read().decode())

    def fired(self) -> dict[str, int]:
        counters = re.findall(r'rules_fired_total\{rule="(\w+)"\} (\d+)', self.get("/metrics"))
        return {rule: int(count) for rule, count in counters}

    def kill(self) -> None:
        """End the process, and with it the servers of a coordinator."""
        self.process.kill()
        self.process.wait()
        self.reader.join()


def started_server(jar: Path, options: str = "", **properties: object) -> Process:
    """A service with these properties and options of its JVM at a free port, once it listens."""
    words = [f"-D{name}={value}" for name, value in {**properties, "port": 0}.items()]
    process = subprocess.Popen(
        ["java", "-Xmx256m", *options.split(), *words, "-jar", str(jar)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    output: list[str] = []
    port = None
    while port is None:
        output.append(process.stdout.readline())
        assert output[-1], output
        port = re.match(r"listening on port (\d+)", output[-1])
    reader = threading.Thread(target=_read, args=(process.stdout, output))
    reader.start()
    return Process(process, int(port[1]), output, reader)


def _read(stream: IO[str], output: list[str]) -> None:
    with stream:
        output.extend(stream)

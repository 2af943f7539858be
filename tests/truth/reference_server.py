"""Server with a known behaviour (reference_server.rs), as a context manager."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

#: Optimised for bounds of a few percent; built in seconds where bounds are loose.
_PROFILE = "release" if os.environ.get("LOADCELL_TRUTH") == "full" else "debug"
BINARY = (
    Path(__file__).resolve().parents[2] / "engine" / "target" / _PROFILE / "examples" / "reference_server"
)


class ReferenceServer:
    """Server on a free loopback port; after exit `account` holds its own record of requests and stalls."""

    def __init__(
        self,
        *,
        service_us: int = 0,
        exponential: bool = False,
        servers: int | None = None,
        stall_at_ms: int | None = None,
        stall_ms: int = 0,
        rows: int = 1,
        http: bool = False,
        busy_every: int | None = None,
    ) -> None:
        self._command = [str(BINARY), "--service-us", str(service_us), "--rows", str(rows)]
        if exponential:
            self._command += ["--exponential", "1"]
        if servers is not None:
            self._command += ["--servers", str(servers)]
        if stall_at_ms is not None:
            self._command += ["--stall-at-ms", str(stall_at_ms), "--stall-ms", str(stall_ms)]
        if http:
            self._command += ["--http", "1"]
        if busy_every is not None:
            self._command += ["--busy-every", str(busy_every)]
        self.account: dict[str, Any] = {}

    def __enter__(self) -> ReferenceServer:
        assert BINARY.exists(), "build it first: cd engine && cargo build --examples"
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self.pid = self._process.pid
        self.port = int(self._process.stdout.readline().split()[1])
        return self

    def __exit__(self, *_: object) -> None:
        output = self._process.communicate(timeout=30)[0]
        if output:
            self.account = json.loads(output)

    def specification(
        self, script: str, *, clients: int, duration_s: float, warmup_s: float = 0.0
    ) -> dict[str, Any]:
        """An engine specification for a closed loop on this server."""
        target = {
            "protocol": "postgres",
            "host": "127.0.0.1",
            "port": self.port,
            "user": "any",
            "database": "any",
        }
        return {
            "version": 1,
            "seed": 7,
            "target": {**target, "sslmode": "disable"},
            "workload": {"sysbench": {"script": script, "tables": 2, "table_size": 1000}},
            "load": {
                "clients": clients,
                "threads": 1,
                "warmup_ns": int(warmup_s * 1e9),
                "duration_ns": int(duration_s * 1e9),
            },
        }

    def http_specification(
        self,
        *,
        clients: int,
        duration_s: float,
        warmup_s: float = 0.0,
        timeout_s: float = 5.0,
        **options: Any,
    ) -> dict[str, Any]:
        """The same with requests of HTTP (`--http`); `options` are those of the workload."""
        target = {"protocol": "http", "host": "127.0.0.1", "port": self.port, "sslmode": "disable"}
        return {
            "version": 1,
            "seed": 7,
            "target": target,
            "workload": {"http": {"requests": [{"path": "/"}], **options}},
            "load": {
                "clients": clients,
                "threads": 1,
                "warmup_ns": int(warmup_s * 1e9),
                "duration_ns": int(duration_s * 1e9),
                "timeout_ns": int(timeout_s * 1e9),
            },
        }

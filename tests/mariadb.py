"""A real MariaDB for tests: made quickly on a free port, killed with the test process, gone without
a trace.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pymysql

from servers import copy, die_with_parent, free_port, retained_copy

_START_LIMIT_S = 60.0

#: What makes a throw-away server quick: durability is no subject of a test.
_QUICK = {
    "innodb_buffer_pool_size": "64M",
    "innodb_log_file_size": "64M",
    "innodb_flush_log_at_trx_commit": "0",
    "innodb_doublewrite": "0",
    "max_connections": "200",
}

#: The data directory that `mariadb-install-db` made first: the next server's are copies.
_MADE: list[Path] = []


def debian_mariadb() -> Path:
    """Debian's `mariadbd`."""
    at = Path("/usr/sbin/mariadbd")
    assert at.exists(), "these tests need Debian's mariadb-server package (apt-get install mariadb-server)"
    return at


class MariadbServer:
    """A separate MariaDB: created at construction, then `start`, `stop`, `kill`, finally `remove`.

    Usable as a context manager (starts at entry, removes at exit). Run by root, the server runs as user
    `mysql`. The user `test` has all rights and the password `password`; `init` are statements of the server's
    first moment.
    """

    def __init__(
        self, settings: Mapping[str, str] | None = None, *, password: str = "secret", init: str = ""
    ) -> None:
        self.host = "127.0.0.1"
        self.user = "test"
        self.password = password
        self.port = free_port()
        # Not pytest's own temp dir: that one is closed to other users.
        self.root = Path(tempfile.mkdtemp(prefix="loadcell-test-", dir="/var/tmp"))
        self.data = self.root / "data"
        self.socket = self.root / "s"
        #: A server that starts removes the temporary tables in its directory, whoever made them.
        self.temporary = self.root / "tmp"
        self.temporary.mkdir()
        self.log = self.root / "server.log"
        self.settings = {**_QUICK, **(settings or {})}
        self._process: subprocess.Popen[bytes] | None = None
        self._as: dict[str, Any] = {}
        first = self.root / "init.sql"
        first.write_text(
            f"{self._user(password)};\nGRANT ALL ON *.* TO test@'%' WITH GRANT OPTION;\n{init}\n"
        )
        if os.geteuid() == 0:
            owner = pwd.getpwnam("mysql")
            self._as = {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}
            for path in (self.root, self.temporary, first):
                os.chown(path, owner.pw_uid, owner.pw_gid)
        try:
            self._install()
        except BaseException:
            self.remove()
            raise

    @property
    def program(self) -> Path:
        """The server."""
        return debian_mariadb()

    def _user(self, password: str) -> str:
        """The statement that makes the user `test`."""
        return f"CREATE OR REPLACE USER test@'%' IDENTIFIED BY '{password}'"

    def _install(self) -> None:
        if _MADE:
            copy(_MADE[0], self.data)
            return
        self.data.mkdir()
        if self._as:
            os.chown(self.data, self._as["user"], self._as["group"])
        options = ["--no-defaults", f"--datadir={self.data}", f"--tmpdir={self.temporary}", "--skip-test-db"]
        install = ["mariadb-install-db", *options]
        subprocess.run(install, check=True, cwd="/", capture_output=True, **self._as)
        _MADE.append(retained_copy(self.data))

    def write_file(self, name: str, content: bytes) -> Path:
        """Write a file (a certificate, a key) that the server can read."""
        path = self.root / name
        path.write_bytes(content)
        path.chmod(0o600)
        if self._as:
            os.chown(path, self._as["user"], self._as["group"])
        return path

    def start(self) -> MariadbServer:
        """Start the server and wait until it takes connections.

        Not from a thread that ends before the server is to: the server dies with the thread that started it.
        """
        assert self._process is None, "already started"
        words = {
            "datadir": self.data,
            "tmpdir": self.temporary,
            "socket": self.socket,
            "port": self.port,
            "bind-address": self.host,
            "pid-file": self.root / "pid",
            "init-file": self.root / "init.sql",
            "skip-name-resolve": "1",
            **self.settings,
        }
        command = [
            str(self.program),
            "--no-defaults",
            *(f"--{name}={value}" for name, value in words.items()),
        ]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command, cwd="/", stdout=log, stderr=log, preexec_fn=die_with_parent, **self._as
            )
        deadline = time.monotonic() + _START_LIMIT_S
        while True:
            try:
                self.connect().close()
                return self
            except pymysql.Error:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise AssertionError(
                        f"{self.program} did not start:\n{self.log.read_text()[-2000:]}"
                    ) from None
            time.sleep(0.02)

    def stop(self) -> None:
        """An orderly shutdown: connections are cut, data is kept."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL, as a machine loses a server."""
        self._end(signal.SIGKILL)

    def restart(self) -> MariadbServer:
        """Start again after `stop` or `kill` (a running server is stopped first); same port, same data."""
        self.stop()
        return self.start()

    def remove(self) -> None:
        """Kill the server and remove all it had."""
        self._end(signal.SIGKILL)
        shutil.rmtree(self.root, ignore_errors=True)

    def _end(self, number: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(number)
            process.wait(timeout=_START_LIMIT_S)

    @property
    def pid(self) -> int:
        assert self._process is not None, "not started"
        return self._process.pid

    def url(self, database: str = "") -> str:
        """The server's address as a plan writes it; the password goes apart."""
        return f"mysql://{self.user}@{self.host}:{self.port}/{database}"

    def connect(self, database: str | None = None, **other: Any) -> pymysql.Connection[Any]:
        """A connection that commits each statement."""
        words: dict[str, Any] = {"user": self.user, "password": self.password, **other}
        return pymysql.connect(
            host=self.host, port=self.port, database=database, autocommit=True, connect_timeout=5, **words
        )

    def sql(self, statement: str, *, database: str | None = None) -> list[tuple[Any, ...]]:
        """Run one statement on a new connection; its rows (none: empty)."""
        with self.connect(database) as connection, connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())

    def encrypted(self) -> int:
        """Number of connections with TLS since its start, that of this question included."""
        [(_, count)] = self.sql("SHOW GLOBAL STATUS LIKE 'Ssl_accepts'")
        return int(count)

    def endpoint(self, database: str, **other: Any) -> dict[str, Any]:
        """The `target` section of the engine's specification for this server."""
        return {
            "protocol": "mysql",
            "host": self.host,
            "port": self.port,
            "socket": None,
            "user": self.user,
            "password": self.password,
            "database": database,
            "sslmode": "disable",
            "sslrootcert": None,
            "application_name": "loadcell",
            "connect_timeout_ns": 10_000_000_000,
            **other,
        }

    def __enter__(self) -> MariadbServer:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.remove()

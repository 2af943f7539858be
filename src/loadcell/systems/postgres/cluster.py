"""A data directory of loadcell's own: made by initdb, marked, configured anew at each start, and removed."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from loadcell.systems.base import TargetError
from loadcell.systems.messages import HOME_LOST_CONTENTS
from loadcell.systems.postgres import settings as settings_
from loadcell.systems.postgres.binaries import Binaries
from loadcell.systems.postgres.messages import (
    POSTGRES_DATA_IN_USE_BY,
    POSTGRES_HOME_OF_OTHER_VERSION,
    STRANGER_POSTGRES,
)
from loadcell.systems.postgres.startup_errors import of_initdb
from loadcell.systems.shared import account as accounts
from loadcell.systems.shared.account import Account
from loadcell.systems.shared.owned_directory import Home

#: The superuser, known only by being the operating system's user that loadcell runs as.
ADMIN = "loadcell_admin"
#: The load's role: no superuser, with a password of its own at every start.
ROLE = "loadcell"


class Cluster(Home):
    """PostgreSQL's data directory `pgdata`, of one major version; all that loadcell writes lies outside it."""

    kind, sign, stranger = "postgres", "PG_VERSION", STRANGER_POSTGRES()

    def __init__(
        self,
        parent: Path,
        binaries: Binaries,
        account: Account,
        log: Callable[[str], None],
        *,
        lasting: bool = False,
    ) -> None:
        super().__init__(parent, f"postgres-{binaries.major}", binaries.version, account)
        self.binaries = binaries
        self.log = log
        self.lasting = lasting
        self.pgdata = self.home / "pgdata"
        self.config = self.home / "postgresql.conf"

    def _install(self, made_parent: bool) -> None:
        self._begin("initdb", made_parent)
        self._empty(self.pgdata)
        # Collation C: the same order, at the same cost, on every machine.
        command: list[str | Path] = [
            self.binaries.initdb,
            "-D",
            self.pgdata,
            "-U",
            ADMIN,
            "--auth-local=peer",
            "--auth-host=reject",
        ]
        if not self.lasting:  # of no use after a crash of the machine: nothing to wait for
            command.append("--no-sync")
        done = self.account.run([*command, "--encoding=UTF8", "--no-locale"], directory=self.pgdata)
        if done.returncode != 0:
            for line in done.stdout.splitlines():
                self.log(f"initdb: {line}")
            shutil.rmtree(self.home, ignore_errors=True)
            raise of_initdb(done.stdout)
        self._write_mark("ready", made_parent)
        self.log(f"made data directory {self.pgdata} (PostgreSQL {self.binaries.version})")

    def _check_fit(self) -> None:
        """An existing directory must be of this major version, of this user, and not in use."""
        self._check_owner(self.pgdata)
        try:
            found = (self.pgdata / "PG_VERSION").read_text().strip()
        except FileNotFoundError:
            raise TargetError(HOME_LOST_CONTENTS(path=self.pgdata, home=self.home)) from None
        if found != str(self.binaries.major):
            raise TargetError(
                POSTGRES_HOME_OF_OTHER_VERSION(
                    path=self.pgdata,
                    found=found,
                    version=self.binaries.version,
                    home=self.home,
                )
            )
        holder = self.holder()
        if holder is not None:
            raise TargetError(POSTGRES_DATA_IN_USE_BY(path=self.pgdata, pid=str(holder)))

    def holder(self) -> int | None:
        """Process id of the server that runs on this directory, if one does."""
        try:
            pid = int((self.pgdata / "postmaster.pid").read_text().split("\n", 1)[0])
            at = Path(f"/proc/{pid}/cwd").resolve(strict=True)
        except (OSError, ValueError):
            return None
        return pid if at == self.pgdata.resolve() else None

    def configure(self, port: int, sockets: Path, settings: Mapping[str, Any]) -> None:
        """Write the configuration of the next start: who may connect and where, and the plan's settings."""
        me = accounts.current()
        own = {
            "hba_file": self.home / "pg_hba.conf",
            "ident_file": self.home / "pg_ident.conf",
            "listen_addresses": "127.0.0.1",
            "port": port,
            "unix_socket_directories": f'"{sockets}"',
            "unix_socket_permissions": "0700",
            "password_encryption": "scram-sha-256",
            "log_timezone": "UTC",
            "timezone": "UTC",
        }
        lines = [f"include '{_quoted(self.pgdata / 'postgresql.conf')}'\n"]
        lines += [
            settings_.line(name, value if isinstance(value, int) else str(value))
            for name, value in own.items()
        ]
        lines += [settings_.line(name, value) for name, value in settings.items()]
        hba = (
            f"local all {ADMIN} peer map=loadcell\n"
            f"local all {ROLE} scram-sha-256\n"
            f"host all {ROLE} 127.0.0.1/32 scram-sha-256\n"
        )
        try:
            self._write(self.config, "".join(lines))
            self._write(self.home / "pg_hba.conf", hba)
            self._write(self.home / "pg_ident.conf", f'loadcell "{me}" {ADMIN}\n')
        except OSError as error:
            raise self._trouble(error) from error

    def remove(self) -> None:
        """Remove what loadcell made, unless a server still runs on it."""
        if self.holder() is None:
            super().remove()


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")

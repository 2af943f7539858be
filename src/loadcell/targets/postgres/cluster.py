"""A data directory of loadcell's own: made by initdb, marked, configured anew at each start, and removed."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import pwd
import shutil
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from loadcell.targets.base import TargetError
from loadcell.targets.postgres import settings as settings_
from loadcell.targets.postgres.binaries import Binaries
from loadcell.targets.postgres.complaints import no_room, of_initdb
from loadcell.targets.shared import account as accounts
from loadcell.targets.shared.account import Account

#: The superuser, known only by being the operating system's user that loadcell runs as.
ADMIN = "loadcell_admin"
#: The load's role: no superuser, with a password of its own at every start.
ROLE = "loadcell"

_MARKER = "loadcell.json"


class Cluster:
    """`home` is what loadcell made: its marker, the configuration, and PostgreSQL's data directory `pgdata`.

    Only `pgdata` belongs to the server's user; all that loadcell writes lies outside it.
    """

    def __init__(
        self,
        parent: Path,
        binaries: Binaries,
        account: Account,
        log: Callable[[str], None],
        *,
        lasting: bool = False,
    ) -> None:
        self.parent = parent
        self.binaries = binaries
        self.account = account
        self.log = log
        self.lasting = lasting
        self.home = parent / f"postgres-{binaries.major}"
        self.pgdata = self.home / "pgdata"
        self.config = self.home / "postgresql.conf"
        self._marker = self.home / _MARKER

    @property
    def made(self) -> bool:
        """Whether it is there, complete and ours."""
        mark = self._mark()
        return mark is not None and mark.get("state") == "ready"

    def make(self) -> None:
        """Make the directory unless it is there already. Refuses one that loadcell did not make."""
        try:
            self._check_place()
            mark = self._mark()
            if mark is None or mark.get("state") != "ready":
                self._initdb(made_parent=mark.get("made_parent", False) if mark else not self.parent.exists())
            self._check_fit()
        except OSError as error:
            raise _file_trouble(error, self.home) from error

    def _check_place(self) -> None:
        if self.parent.exists() and not self.parent.is_dir():
            raise TargetError(
                f"{self.parent} is not a directory", advice="name a directory in `target.postgres.data`"
            )
        if (self.parent / "PG_VERSION").exists():
            raise TargetError(
                f"{self.parent} is the data directory of a PostgreSQL that loadcell did not make",
                advice="name an empty directory on the same storage in `target.postgres.data`; for a server that stands "
                "already use `server: external`",
            )
        if self.home.exists() and self._mark() is None and any(self.home.iterdir()):
            raise TargetError(
                f"{self.home} was not made by loadcell",
                advice="name another directory in `target.postgres.data`, or move this one away",
            )

    def _mark(self) -> dict[str, Any] | None:
        try:
            mark = json.loads(self._marker.read_text())
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return None
        return mark if isinstance(mark, dict) and mark.get("made_by") == "loadcell" else None

    def _write_mark(self, state: str, made_parent: bool) -> None:
        mark = {
            "made_by": "loadcell",
            "state": state,
            "version": self.binaries.version,
            "made_utc": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "made_parent": made_parent,
        }
        part = self._marker.with_suffix(".part")
        part.write_text(json.dumps(mark) + "\n")
        part.replace(self._marker)

    def _initdb(self, made_parent: bool) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        for made in [self.home, self.parent] if made_parent else [self.home]:
            made.chmod(0o755)  # the server's user must come through, whatever our umask says
        self._write_mark("initdb", made_parent)  # killed from here on, the next start begins anew
        shutil.rmtree(self.pgdata, ignore_errors=True)
        self.pgdata.mkdir(mode=0o700)
        self.account.own(self.pgdata)
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
        owner = self.pgdata.stat().st_uid
        if owner != self.account.uid:
            raise TargetError(
                f"{self.pgdata} belongs to user {_name(owner)}, and the server would run as {self.account.name}",
                advice="run loadcell as it was run when it made the directory, or name another in `target.postgres.data`",
            )
        try:
            found = (self.pgdata / "PG_VERSION").read_text().strip()
        except FileNotFoundError:
            raise TargetError(
                f"{self.pgdata} has lost its contents",
                advice=f"remove {self.home}, and loadcell makes it anew",
            ) from None
        if found != str(self.binaries.major):
            raise TargetError(
                f"{self.pgdata} is of PostgreSQL {found}, the server of {self.binaries.version}",
                advice=f"remove {self.home}, or name another directory in `target.postgres.data`",
            )
        holder = self.holder()
        if holder is not None:
            raise TargetError(
                f"the data directory {self.pgdata} is in use by the server with process id {holder}",
                advice="wait for the run that uses it, or name another directory in `target.postgres.data`",
            )

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
            raise _file_trouble(error, self.home) from error

    def _write(self, path: Path, text: str) -> None:
        part = path.with_suffix(".part")
        part.unlink(missing_ok=True)
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)
        self.account.own(part)
        part.replace(path)

    def remove(self) -> None:
        """Remove what loadcell made, unless a server still runs on it."""
        mark = self._mark()
        if mark is None or self.holder() is not None:
            return
        shutil.rmtree(self.home, ignore_errors=True)
        if mark.get("made_parent"):
            with contextlib.suppress(OSError):  # not empty: somebody else uses it
                self.parent.rmdir()


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _file_trouble(error: OSError, where: Path) -> TargetError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return no_room(str(where))
    return TargetError(
        f"cannot use {error.filename or where}: {error.strerror}",
        advice="name a directory in `target.postgres.data` that loadcell may write to",
    )

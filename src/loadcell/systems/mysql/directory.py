"""A data directory of loadcell's own: made by mariadb-install-db, marked, configured anew at each start, and removed.

`home` holds loadcell's marker, the configuration, the server's data directory `data`, its temporary files `tmp`, and
`pristine`: copies of `data`, taken while the server was down, to which it can be put back.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from loadcell.model.message import NO_OUTPUT
from loadcell.systems.base import TargetError
from loadcell.systems.messages import HOME_LOST_CONTENTS, HOME_NOT_COPIED, STRANGER_SERVER
from loadcell.systems.mysql.binaries import Binaries
from loadcell.systems.mysql.settings import OF_THE_DIRECTORY, line
from loadcell.systems.mysql.startup_errors import of_install
from loadcell.systems.shared.account import Account, environment
from loadcell.systems.shared.owned_directory import Home, no_room

#: Makes and drops databases, by the socket only.
ADMIN = "loadcell_admin"
#: The load's user: rights on loadcell's databases only, with a password of its own at every start.
USER = "loadcell"

_INSTALL_LIMIT_S = 300.0


class DataDirectory(Home):
    """One of these settings that a data directory keeps for life; those of the others are read at each start."""

    kind, sign, stranger = "mysql", "ibdata1", STRANGER_SERVER()

    def __init__(
        self,
        parent: Path,
        binaries: Binaries,
        account: Account,
        settings: Mapping[str, Any],
        log: Callable[[str], None],
    ) -> None:
        self._kept = {name: settings[name] for name in OF_THE_DIRECTORY if name in settings}
        apart = "".join(f"-{value}" for value in self._kept.values())
        super().__init__(parent, f"mysql-{binaries.series}{apart}", binaries.version, account)
        self.binaries = binaries
        self.log = log
        self.data = self.home / "data"
        self.temporary = self.home / "tmp"
        self.config = self.home / "my.cnf"
        self._pristine = self.home / "pristine"

    def _install(self, made_parent: bool) -> None:
        self._begin("installing", made_parent)
        shutil.rmtree(self._pristine, ignore_errors=True)
        for directory in (self.data, self.temporary):
            self._empty(directory)
        command: list[str | Path] = [
            self.binaries.install,
            "--no-defaults",
            f"--datadir={self.data}",
            f"--tmpdir={self.temporary}",
            "--skip-test-db",
            "--skip-name-resolve",
            "--auth-root-authentication-method=socket",
            *(f"--{name}={value}" for name, value in self._kept.items()),
        ]
        done = self.account.run(command, directory=self.data, limit_s=_INSTALL_LIMIT_S)
        if done.returncode != 0:
            for said in done.stdout.splitlines():
                self.log(f"mariadb-install-db: {said}")
            shutil.rmtree(self.home, ignore_errors=True)
            raise of_install(done.stdout)
        self._write_mark("ready", made_parent)
        self.log(f"made data directory {self.data} (MariaDB {self.binaries.version})")

    def _check_fit(self) -> None:
        self._check_owner(self.data)
        if not (self.data / "ibdata1").exists() and not self.copies():
            raise TargetError(HOME_LOST_CONTENTS(path=self.data, home=self.home))

    def configure(
        self, port: int, socket: Path, settings: Mapping[str, Any], passwords: Mapping[str, str]
    ) -> None:
        """Write the configuration of the next start: where it listens, its users, and the plan's settings."""
        own = {
            "datadir": self.data,
            "tmpdir": self.temporary,
            "socket": socket,
            "pid_file": socket.with_suffix(".pid"),
            "port": port,
            "bind_address": "127.0.0.1",
            "skip_name_resolve": True,
            "init_file": self.home / "init.sql",
        }
        users = [
            f"CREATE OR REPLACE USER {name}@'{host}' IDENTIFIED VIA mysql_native_password USING '{verifier(passwords[name])}';\n"
            f"GRANT {rights} TO {name}@'{host}'{more};\n"
            for name, host, rights, more in (
                (ADMIN, "localhost", "ALL ON *.*", " WITH GRANT OPTION"),
                (USER, "localhost", r"ALL ON `loadcell\_%`.*", ""),
                (USER, "127.0.0.1", r"ALL ON `loadcell\_%`.*", ""),
            )
        ]
        lines = ["[mariadbd]\n", *(line(name, value) for name, value in {**own, **settings}.items())]
        try:
            self._write(self.config, "".join(lines))
            self._write(self.home / "init.sql", "".join(users))
        except OSError as error:
            raise self._trouble(error) from error

    # -- copies: only while the server is down ---------------------------------------------------------------------

    def copies(self) -> set[str]:
        """Names of the copies that are complete."""
        if not self._pristine.is_dir():
            return set()
        return {path.name for path in self._pristine.iterdir() if not path.name.startswith(".")}

    def keep_copy(self, name: str) -> None:
        """Keep a copy of the data directory as it is now."""
        try:
            self._pristine.mkdir(mode=0o700, exist_ok=True)
            self.account.own(self._pristine)
            part = self._pristine / f".{name}"
            shutil.rmtree(part, ignore_errors=True)
            self._copy(self.data, part)
            part.rename(self._pristine / name)
        except OSError as error:
            raise self._trouble(error) from error

    def put_back(self, name: str) -> None:
        """Make the data directory what it was when the copy was kept."""
        shutil.rmtree(self.data, ignore_errors=True)
        self._copy(self._pristine / name, self.data)

    def _copy(self, source: Path, to: Path) -> None:
        # Clones where the file system can, which costs nothing; keeps whose all of it is, as we are root or the server's user.
        done = subprocess.run(
            ["/bin/cp", "-a", "--reflink=auto", source, to],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment(),
            text=True,
            errors="replace",
            check=False,
        )
        if done.returncode == 0:
            return
        shutil.rmtree(to, ignore_errors=True)
        if "No space left" in done.stdout or "quota" in done.stdout:
            raise no_room(self.kind, str(self.home), "prepare")
        words = done.stdout.strip().splitlines()
        said = words[-1] if words else NO_OUTPUT
        raise TargetError(HOME_NOT_COPIED(said=said), during="prepare")


def verifier(password: str) -> str:
    """What the server stores of a password for mysql_native_password, so that the password itself is in no file."""
    twice = hashlib.sha1(hashlib.sha1(password.encode()).digest())  # noqa: S324
    return "*" + twice.hexdigest().upper()

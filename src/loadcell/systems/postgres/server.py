"""A PostgreSQL that loadcell starts: directory, configuration, process, and startup errors."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from signal import SIGINT, SIGKILL, SIGQUIT

from loadcell.linux import procfs
from loadcell.model.message import ForeignText, Message, MessageCode
from loadcell.systems.base import Secret, TargetError
from loadcell.systems.managed_server import ManagedServer
from loadcell.systems.postgres import shared_memory
from loadcell.systems.postgres.binaries import Binaries
from loadcell.systems.postgres.connection import Address
from loadcell.systems.postgres.options import line
from loadcell.systems.server_options import Setting
from loadcell.systems.shared import account as accounts
from loadcell.systems.shared.account import Account
from loadcell.systems.shared.owned_directory import HOME_LOST_CONTENTS, OwnedDirectory
from loadcell.systems.shared.server_errors import (
    SERVER_DATA_IN_USE,
    SERVER_INIT_FAILED,
    SERVER_NOT_STARTED,
    StillHeldError,
    common_error,
    last_line,
    room_or_access_error,
    setting_error,
)

POSTGRES_HOME_OF_OTHER_VERSION = MessageCode(
    "postgres.home-of-other-version", found=str, home=str, path=str, version=str
)
POSTGRES_STILL_HELD = MessageCode("postgres.still-held")
POSTGRES_OTHER_VERSION = MessageCode("postgres.other-version", found=str, version=str)
POSTGRES_NO_EXTENSION = MessageCode("postgres.no-extension", libraries=str, said=ForeignText)
POSTGRES_DATA_IN_USE_BY = MessageCode("postgres.data-in-use-by", path=str, pid=str)
POSTGRES_NO_MEMORY = MessageCode("postgres.no-memory", said=ForeignText)
POSTGRES_NO_MEMORY_FOR = MessageCode("postgres.no-memory-for", said=ForeignText, settings=list)
STRANGER_POSTGRES = MessageCode("stranger.postgres")

#: The superuser, authenticated by being the operating system's user that loadcell runs as.
ADMIN = "loadcell_admin"
#: The load's role: no superuser, with a new password at each start.
ROLE = "loadcell"


class DataDirectory(OwnedDirectory):
    """The data directory `pgdata` of one major version; all that loadcell writes lies outside it."""

    kind, sign, stranger = "postgres", "PG_VERSION", STRANGER_POSTGRES()

    def __init__(
        self,
        parent: Path,
        binaries: Binaries,
        account: Account,
        log: Callable[[str], None],
        *,
        lasting: bool = False,
        suffix: str = "",
    ) -> None:
        name = f"postgres-{binaries.major}{binaries.build}{suffix}"
        super().__init__(parent, name, binaries.version, account, log, data="pgdata")
        self.binaries = binaries
        self.lasting = lasting
        self.suffix = suffix
        self.config = self.home / "postgresql.conf"

    def _install(self, made_parent: bool) -> None:
        shared_memory.release(self.data)  # of an initdb that was killed
        self._begin("initdb", made_parent)
        self._empty(self.data)
        command: list[str | Path] = [
            self.binaries.initdb, "-D", self.data, "-U", ADMIN, "--auth-local=peer", "--auth-host=reject",
            "--encoding=UTF8",
            "--no-locale",  # collation C: the same order, at the same cost, on every machine
        ]  # fmt: skip
        if not self.lasting:  # of no use after a crash of the machine
            command.append("--no-sync")
        done = self.account.run(command, directory=self.data)
        if done.returncode != 0:
            for output in done.stdout.splitlines():
                self.log(f"initdb: {output}")
            shared_memory.release(self.data)
            shutil.rmtree(self.home, ignore_errors=True)
            raise initdb_error(done.stdout)
        self._write_marker("ready", made_parent)
        self.log(f"made data directory {self.data} (PostgreSQL {self.binaries.version})")

    def _check_fit(self) -> None:
        """Check major version and user, and that no server runs on it. Raises TargetError."""
        self._check_owner()
        try:
            version = (self.data / self.sign).read_text().strip()
        except FileNotFoundError:
            raise TargetError(HOME_LOST_CONTENTS(path=self.data, home=self.home)) from None
        if version != str(self.binaries.major):
            raise TargetError(
                POSTGRES_HOME_OF_OTHER_VERSION(
                    path=self.data,
                    found=version,
                    version=self.binaries.version,
                    home=self.home,
                )
            )
        if (holder := self.holder()) is not None:
            raise TargetError(POSTGRES_DATA_IN_USE_BY(path=self.data, pid=str(holder)))

    def holder(self) -> int | None:
        """Process id of the server that runs on this directory, if one does."""
        try:
            pid = int((self.data / "postmaster.pid").read_text().split("\n", 1)[0])
        except (OSError, ValueError):
            return None
        return pid if procfs.link(pid, "cwd") == self.data.resolve() else None

    def configure(self, port: int, sockets: Path, settings: Mapping[str, Setting]) -> None:
        """Write the configuration of the next start: addresses, users and the plan's settings.

        Raises TargetError.
        """
        hba, ident = self.home / "pg_hba.conf", self.home / "pg_ident.conf"
        fixed: dict[str, Setting] = {
            "hba_file": str(hba),
            "ident_file": str(ident),
            "listen_addresses": "127.0.0.1",
            "port": port,
            "unix_socket_directories": f'"{sockets}"',
            "unix_socket_permissions": "0700",
            "password_encryption": "scram-sha-256",
            "log_timezone": "UTC",
            "timezone": "UTC",
        }
        include = str(self.data / "postgresql.conf").replace("'", "''")
        lines = [f"include '{include}'\n"]
        lines += [line(name, value) for name, value in [*fixed.items(), *settings.items()]]
        self._write_configuration(
            {self.config: "".join(lines), hba: self._users(), ident: self._identities()}
        )

    def _users(self) -> str:
        """Content of pg_hba.conf."""
        return (
            f"local all {ADMIN} peer map=loadcell\n"
            f"local all {ROLE} scram-sha-256\n"
            f"host all {ROLE} 127.0.0.1/32 scram-sha-256\n"
        )

    def _identities(self) -> str:
        """Content of pg_ident.conf."""
        return f'loadcell "{accounts.current()}" {ADMIN}\n'

    def remove(self) -> None:
        """Remove what loadcell made, unless a server runs on it."""
        if self.holder() is None:
            shared_memory.release(self.data)
            super().remove()


#: The kernel's message for a full device, or a write that came out short; not where shared memory is full.
_DEVICE_FULL = re.compile(
    r"\A(?!.*(?:shared memory|dev/shm)).*?(?:No space left on device|Disk quota exceeded"
    r"|wrote only \d+ of \d+ bytes|Check free disk space)",
    re.DOTALL,
)


class Server(ManagedServer[Address, DataDirectory]):
    """The server on one data directory."""

    device_full = _DEVICE_FULL
    #: Fast shutdown writes a checkpoint; immediate shutdown writes nothing.
    stop_steps = ((SIGINT, 30.0, "fast"), (SIGQUIT, 10.0, "immediate"), (SIGKILL, 10.0, "kill"))

    @property
    def socket_name(self) -> str:
        return f".s.PGSQL.{self.port}"

    def address(self, role: str, password: Secret | None, database: str, connect: str) -> Address:
        """The server for a role, by `tcp` or by `socket`."""
        socket = self.socket_path() if connect == "socket" else None
        return Address(
            "127.0.0.1", self.port, role, database, socket=socket, password=password, sslmode="disable"
        )

    def admin(self) -> Address:
        return self.address(ADMIN, None, "postgres", "socket")

    def _configure(self, socket: Path) -> list[str | Path]:
        self.directory.configure(self.port, socket.parent, self.settings)
        return self._command()

    def _command(self) -> list[str | Path]:
        directory = self.directory
        return [
            directory.binaries.postgres,
            "-D",
            directory.data,
            "-c",
            f"config_file={directory.config}",
        ]

    def _startup_error(self, output: list[str]) -> TargetError:
        closed = next((line for line in output if line.startswith(("closed: ", "cannot "))), None)
        if closed is not None:
            return initdb_error(closed)
        return startup_error(output, self.settings, self._setting_names)

    def _setting_names(self) -> list[str]:
        output = self.directory.account.run(
            [self.directory.binaries.postgres, "--describe-config"], limit_s=30
        ).stdout
        return [line.split("\t", 1)[0] for line in output.splitlines()]

    def stop(self, *, quickly: bool = False) -> bool:
        pid = self.pid
        children = [] if pid is None else procfs.children(procfs.ROOT, pid)
        killed = super().stop(quickly=quickly)
        if killed:
            _kill(children)
        shared_memory.release(self.directory.data)
        return killed


def _kill(pids: list[int]) -> None:
    """Kill the remaining processes of a killed postmaster."""
    for pid in pids:
        stat = procfs.process_stat(procfs.ROOT, pid)
        if stat is not None and "postgres" in stat.name:
            with contextlib.suppress(OSError):
                os.kill(pid, SIGKILL)


#: A line of the log, or of the server before it has a log.
_LOG_LINE = re.compile(r"(?:\b(?:LOG|FATAL|PANIC|ERROR|HINT|DETAIL|WARNING): +|^postgres: )(.*)")
_ERROR_LINE = re.compile(r"\b(?:FATAL|PANIC|ERROR): +(.*)")
#: Settings that determine how much shared memory the server asks the kernel for.
_MEMORY = (
    "shared_buffers",
    "huge_pages",
    "huge_page_size",
    "max_connections",
    "wal_buffers",
    "shared_memory_type",
)


def startup_error(
    lines: Sequence[str], settings: Mapping[str, Setting], names: Callable[[], Iterable[str]] = tuple
) -> TargetError:
    """The reason why the server did not start.

    `settings` are those of the plan; `names` gives those that the server has.
    """
    output = "\n".join(lines)
    return (
        common_error(output, "postgres", _DEVICE_FULL)
        or _directory_in_use(output)
        or _other_version(output)
        or _no_memory(output, settings)
        or _refused_setting(lines, settings, names)
        or TargetError(SERVER_NOT_STARTED(said=gravest_line(lines)))
    )


def initdb_error(output: str) -> TargetError:
    """The reason why `initdb` failed."""
    if error := room_or_access_error(output, "postgres", _DEVICE_FULL):
        return error
    lines = output.splitlines()
    message = next((line.partition("error: ")[2] for line in lines if "error: " in line), None)
    return TargetError(SERVER_INIT_FAILED(program="initdb", said=message or gravest_line(lines)))


def gravest_line(lines: Sequence[str]) -> str | Message:
    """The first error of the log, else the last line."""
    errors = [match[1] for line in lines if (match := _ERROR_LINE.search(line))]
    return errors[0] if errors else last_line(lines)


def _directory_in_use(output: str) -> TargetError | None:
    if "pre-existing shared memory block" in output:
        return StillHeldError(POSTGRES_STILL_HELD())
    if not re.search(r'lock file "[^"]*" already exists', output):
        return None
    holder = re.search(r"\(PID (\d+)\) running in data directory \"([^\"]*)\"", output)
    if holder is None:
        return TargetError(SERVER_DATA_IN_USE())
    return TargetError(POSTGRES_DATA_IN_USE_BY(path=holder[2], pid=holder[1]))


def _other_version(output: str) -> TargetError | None:
    match = re.search(
        r"initialized by PostgreSQL version (\S+), which is not compatible with this version (.*)", output
    )
    if match is None:
        return None
    versions = {"found": match[1].rstrip(","), "version": match[2].rstrip(".")}
    return TargetError(POSTGRES_OTHER_VERSION(**versions))


def _no_memory(output: str, settings: Mapping[str, Setting]) -> TargetError | None:
    if not re.search(r"could not (?:map anonymous|create|resize) shared memory", output):
        return None
    lines = [f"`{name}: {settings[name]}`" for name in _MEMORY if name in settings]
    message = gravest_line(output.splitlines())
    if not lines:
        return TargetError(POSTGRES_NO_MEMORY(said=message))
    return TargetError(POSTGRES_NO_MEMORY_FOR(settings=lines, said=message))


def _refused_setting(
    lines: Sequence[str], settings: Mapping[str, Setting], names: Callable[[], Iterable[str]]
) -> TargetError | None:
    messages = [match[1].strip() for line in lines if (match := _LOG_LINE.search(line))]
    for message in messages:
        positions = {name: match.start() for name in settings if (match := _mention(name, message))}
        if positions:
            name = min(positions, key=positions.__getitem__)
            unknown = "unrecognized configuration parameter" in message
            return setting_error(
                name, settings[name], without_position(message), "postgres", unknown=unknown,
                names=names() if unknown else (),
            )  # fmt: skip
    preload = str(settings.get("shared_preload_libraries", ""))
    for message in messages:
        missing = re.search(r'could not access file "([^"]+)"', message)
        if missing and missing[1] in preload:
            return TargetError(POSTGRES_NO_EXTENSION(libraries=preload, said=message))
    return None


def _mention(name: str, message: str) -> re.Match[str] | None:
    return re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.])", message, re.IGNORECASE)


def without_position(message: str) -> str:
    """The message without file and line of the server's configuration, which is not the user's file."""
    return re.sub(r' in file "[^"]*" line \d+', "", message)

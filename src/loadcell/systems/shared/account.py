"""Whom a server runs as (servers refuse root, so root's server runs as another user), and its local sockets:
free ports, the lack of them, and directories for Unix sockets that this user can enter.
"""

from __future__ import annotations

import errno
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from signal import Signals

from loadcell.linux import process as supervision
from loadcell.model.message import ForeignText, Message, MessageCode
from loadcell.plan.affinity import ANYWHERE, Pin
from loadcell.systems.base import TargetError

ACCOUNT_NO_NAME = MessageCode("account.no-name", uid=str)
ACCOUNT_NOT_ROOT = MessageCode("account.not-root", me=str, option=str, user=str)
ACCOUNT_ROOT = MessageCode("account.root", option=str, product=str)
ACCOUNT_NO_USER = MessageCode("account.no-user", option=str, product=str, user=str)


@dataclass(frozen=True)
class Account:
    """A user of this machine.

    `other` says that it is not the one loadcell runs as; `pin` is where its programs run.
    """

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...]
    other: bool
    pin: Pin = ANYWHERE

    def give(self, path: Path) -> None:
        """Give a file or directory of ours to this user."""
        if self.other:
            os.chown(path, self.uid, self.gid, follow_symlinks=False)

    def command(self, program: Sequence[str | Path], *, directory: Path, death: Signals) -> list[str]:
        """The command that runs `program` as this user, in `directory`, getting the signal `death` when its
        parent dies.

        To be started by the process (and, on Linux, the thread) whose end shall be the program's.
        """
        ids = (str(self.uid), str(self.gid), ",".join(map(str, self.groups)))
        user = ids if self.other else ("-", "-", "")
        return supervision.launch_command(
            program, directory, death, user=user, cpus=self.pin.cpus, memory=self.pin.memory
        )

    def run(
        self, program: Sequence[str | Path], *, directory: Path = Path("/"), limit_s: float = 300
    ) -> subprocess.CompletedProcess[str]:
        """Run a program to its end as this user; its output and errors together in `stdout`.

        An interrupted wait ends the program with all that it has started.
        """
        process = subprocess.Popen(
            self.command(program, directory=directory, death=Signals.SIGKILL),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment(),
            cwd="/",
            text=True,
            errors="replace",
            start_new_session=True,
        )
        session = supervision.Session.of(process.pid)
        with process:
            try:
                output, _ = process.communicate(timeout=limit_s)
            except BaseException:
                supervision.end_session(session)
                raise
        return subprocess.CompletedProcess(process.args, process.returncode, output)


def environment() -> dict[str, str]:
    """Environment of a server: no PG* variables, no secrets, messages in English."""
    variables = {
        name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "TMPDIR") if name in os.environ
    }
    return {"PATH": "/usr/bin:/bin", **variables, "LC_ALL": "C", "TZ": "UTC"}


def output_of(command: Sequence[str | Path]) -> str:
    """Output of a program that ends at once; nothing if it fails."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=20, check=True, cwd="/", env=environment()
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def current() -> str:
    """Name of the user loadcell runs as."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        raise TargetError(ACCOUNT_NO_NAME(uid=str(os.geteuid()))) from None


def choose(run_as: str | None, *, product: str, kind: str, pin: Pin = ANYWHERE) -> Account:
    """The user for the server: oneself, or for root `run_as`, else the product's own (named as `kind`), else
    `nobody`.
    """
    me = current()
    option = f"target.{kind}.run_as"
    if os.geteuid() != 0:
        if run_as not in (None, me):
            raise TargetError(ACCOUNT_NOT_ROOT(user=run_as, me=me, option=option))
        return Account(me, os.geteuid(), os.getegid(), tuple(os.getgroups()), other=False, pin=pin)
    for name in [run_as] if run_as else [kind, "nobody"]:
        try:
            account = pwd.getpwnam(name)
        except KeyError:
            continue
        if account.pw_uid == 0:
            raise TargetError(ACCOUNT_ROOT(product=product, option=option))
        groups = tuple(os.getgrouplist(account.pw_name, account.pw_gid))
        return Account(account.pw_name, account.pw_uid, account.pw_gid, groups, other=True, pin=pin)
    raise TargetError(ACCOUNT_NO_USER(user=run_as or kind, product=product, option=option))


CONNECTION_NO_PORT = MessageCode("connection.no-port", said=ForeignText, where=str)
SOCKETS_NOT_MADE = MessageCode("sockets.not-made", path=str, said=ForeignText)

#: Code of the reason that this machine has no port left for a connection, which says nothing about the
#: server.
NO_PORT = CONNECTION_NO_PORT
#: The kernel's message for it, for drivers that pass on the message alone (libpq, PyMySQL).
NO_PORT_MESSAGE = os.strerror(errno.EADDRNOTAVAIL)
#: The kernel's limit for the path of a socket is 108 bytes, its terminator included.
_PATH_LIMIT = 107
#: Parent of directories whose paths would be too long elsewhere.
_SHORT = "/tmp"  # noqa: S108 - directories in it are made by mkdtemp


def no_port_left(error: BaseException) -> bool:
    """True if a connection failed for want of a local port (connect(2): EADDRNOTAVAIL)."""
    return isinstance(error, OSError) and error.errno == errno.EADDRNOTAVAIL


def no_port(where: object, message: str) -> Message:
    """The reason why there is no connection to `where`."""
    return CONNECTION_NO_PORT(where=where, said=message)


def free_port() -> int:
    """A TCP port of 127.0.0.1 that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _fits(socket: Path) -> bool:
    return len(os.fsencode(socket)) <= _PATH_LIMIT


def temporary_socket_directory(name: str) -> tempfile.TemporaryDirectory[str]:
    """A temporary directory for a socket called `name`: in /tmp where the usual path would be too long."""
    directory = tempfile.TemporaryDirectory(prefix="loadcell-")
    if _fits(Path(directory.name, name)):
        return directory
    directory.cleanup()
    return tempfile.TemporaryDirectory(prefix="loadcell-", dir=_SHORT)


class SocketDirectory:
    """The directory of a server's Unix socket: `preferred`, or one in /tmp where the path would become too
    long.

    `path` is None while it does not exist.
    """

    def __init__(self, preferred: Path, account: Account) -> None:
        self.path: Path | None = None
        self.preferred = preferred
        self._account = account

    def make(self, name: str) -> Path:
        """Make the directory, unless it exists, for a socket called `name`. Raises TargetError."""
        if self.path is not None:
            return self.path
        path = self.preferred
        if not _fits(path / name):
            path = Path(tempfile.mkdtemp(prefix="loadcell-", dir=_SHORT))
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._account.give(path)
        except OSError as error:
            raise TargetError(SOCKETS_NOT_MADE(path=path, said=error.strerror)) from error
        self.path = path
        return path

    def remove(self) -> None:
        """Remove the directory with its contents."""
        if self.path is not None:
            shutil.rmtree(self.path, ignore_errors=True)
            self.path = None

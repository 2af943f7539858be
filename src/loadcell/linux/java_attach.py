"""Commands of a running JVM, over the socket that `jcmd` uses: diagnostic ones, and the loading of an
agent. No JDK is needed.

A JVM opens the socket when it finds a file `.attach_pid<pid>` at a signal SIGQUIT (`attachListener_posix.cpp`
in OpenJDK); with -Xrs it has opened it already. Without a handler of this signal it would end by it, and with
-XX:+DisableAttachMechanism it would print its threads: it gets none then.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import stat
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from loadcell.linux import procfs
from loadcell.linux.java_processes import namespace_pid, owners
from loadcell.linux.process_tree import ProcessRoot, send
from loadcell.model.message import ForeignText, MessageCode, MessageError

_VERSION: Final = "1"
_POLL_S: Final = 0.01
_MOST_BYTES: Final = 16 << 20
#: Answer to `load`; JDK 8 has the number alone.
_AGENT_RESULT: Final = re.compile(r"(?:return code: )?(-?\d+)")


NO_HANDLER = MessageCode("java-command.no-handler", "info")
DISABLED = MessageCode("java-command.disabled", "info")
NO_FILE = MessageCode("java-command.no-file", "info")
ENDED = MessageCode("java-command.ended", "info")
NO_ANSWER = MessageCode("java-command.no-answer", "info")
FOREIGN_SOCKET = MessageCode("java-command.foreign-socket", "info", path=str)
SYSTEM = MessageCode("java-command.system", "info", error=ForeignText)
REFUSED = MessageCode("java-command.refused", "info", answer=ForeignText)


class AttachError(MessageError):
    """The JVM does not take commands, or refused this one."""


def run(pid: int, command: str, limit_s: float, root: Path = procfs.ROOT) -> str:
    """Output of a diagnostic command, such as `Thread.print`. Raises AttachError."""
    return _answer(pid, ("jcmd", command, "", ""), limit_s, root)


def load_agent(pid: int, library: Path, options: str, limit_s: float, root: Path = procfs.ROOT) -> int:
    """Result of a native agent's `Agent_OnAttach`: 0 for success. Loads the library if it is not loaded yet.

    Raises AttachError, also if the JVM cannot load it.
    """
    answer = _answer(pid, ("load", str(library), "true", options), limit_s, root).strip()
    result = _AGENT_RESULT.fullmatch(answer)
    if result is None:
        raise AttachError(REFUSED(answer=answer))
    return int(result[1])


def _answer(pid: int, words: Sequence[str], limit_s: float, root: Path) -> str:
    """Answer to a command with its arguments. Raises AttachError."""
    deadline = time.monotonic() + limit_s
    number = namespace_pid(pid, root)
    path = root / f"proc/{pid}/root/tmp/.java_pid{number}"
    if not os.path.lexists(path):
        _open_socket(pid, number, path, deadline, root)
    try:
        if not _is_of(owners(pid, root), path):
            raise AttachError(FOREIGN_SOCKET(path=path.name))
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(max(_POLL_S, deadline - time.monotonic()))
            connection.connect(str(path))
            connection.sendall("".join(f"{word}\0" for word in (_VERSION, *words)).encode())
            answer = _all(connection, deadline)
    except OSError as error:
        raise AttachError(SYSTEM(error=str(error))) from error
    status, _, output = answer.partition("\n")
    if status.strip() != "0":
        raise AttachError(REFUSED(answer=output.strip() or status))
    return output


def _open_socket(pid: int, number: int, path: Path, deadline: float, root: Path) -> None:
    """Have the JVM open its socket."""
    if not _handles_quit(pid, root):
        raise AttachError(NO_HANDLER())
    if "-XX:+DisableAttachMechanism" in procfs.command_line(pid, root):
        raise AttachError(DISABLED())
    process = ProcessRoot(pid, procfs.started(pid, root) or 0)
    with _trigger(pid, number, root):
        try:
            if not send(process, signal.SIGQUIT):
                raise AttachError(ENDED())
        except PermissionError as error:
            raise AttachError(SYSTEM(error=str(error))) from error
        while not os.path.lexists(path):
            if time.monotonic() > deadline:
                raise AttachError(NO_ANSWER())
            time.sleep(_POLL_S)


@contextlib.contextmanager
def _trigger(pid: int, number: int, root: Path) -> Iterator[None]:
    """A file at which the JVM opens its socket. Its directory is held by a descriptor: the path of a process
    that has ended leads nowhere.
    """
    name = f".attach_pid{number}"
    for directory in (f"proc/{pid}/cwd", f"proc/{pid}/root/tmp"):
        with contextlib.suppress(OSError):
            held = os.open(root / directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
                os.close(os.open(name, flags, 0o600, dir_fd=held))
            except OSError:
                os.close(held)
                raise
            break
    else:
        raise AttachError(NO_FILE())
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.unlink(name, dir_fd=held)
        os.close(held)


def _is_of(users: frozenset[int], path: Path) -> bool:
    """True if a path is a socket of one of these users that nobody else can open. Raises OSError."""
    status = path.lstat()
    is_private = not stat.S_IMODE(status.st_mode) & 0o077
    return stat.S_ISSOCK(status.st_mode) and status.st_uid in users and is_private


def _handles_quit(pid: int, root: Path) -> bool:
    """True if the process has a handler of SIGQUIT."""
    for line in procfs.read_small(f"{root}/proc/{pid}/status").splitlines():
        if line.startswith("SigCgt:"):
            return bool(int(line.split()[1], 16) >> (signal.SIGQUIT - 1) & 1)
    return False


def _all(connection: socket.socket, deadline: float) -> str:
    parts, size = [], 0
    while size < _MOST_BYTES and (part := connection.recv(1 << 16)):
        if time.monotonic() > deadline:
            raise AttachError(NO_ANSWER())
        parts.append(part)
        size += len(part)
    return b"".join(parts).decode("utf-8", "replace")

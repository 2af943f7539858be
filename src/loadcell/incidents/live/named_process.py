"""Check of the process that a call names: it exists, is of this user, and is a JVM."""

from __future__ import annotations

import errno
import os
import pwd
from pathlib import Path
from typing import Final

from loadcell.linux import java_processes, procfs
from loadcell.model.message import MessageCode, MessageError

MISSING = MessageCode("doctor.pid.missing", pid=str)
ENDED = MessageCode("doctor.pid.ended", pid=str, name=str)
THREAD = MessageCode("doctor.pid.thread", pid=str, process=str)
FOREIGN = MessageCode("doctor.pid.foreign", pid=str, user=str)
NO_JVM = MessageCode("doctor.pid.no-jvm", pid=str, name=str)
NO_JVM_ABOVE = MessageCode("doctor.pid.no-jvm-above", pid=str, name=str, pids=list)

_MOST_NAMED: Final = 5


class NamedProcessError(MessageError):
    """A process that cannot be examined as the call wants."""


def check(pid: int, *, needs_jvm: bool, in_tree: bool = False, root: Path = procfs.ROOT) -> None:
    """Raises NamedProcessError for a process that is gone, hidden, or none that can be examined.

    `needs_jvm`: it has to be a JVM of this user, with `in_tree` it or one that it started.
    """
    stat = procfs.process_stat(root, pid)
    if stat is None:
        raise NamedProcessError(FOREIGN(pid=str(pid), user="–") if _is_hidden(pid) else MISSING(pid=str(pid)))
    if stat.has_ended:
        raise NamedProcessError(ENDED(pid=str(pid), name=stat.name))
    fields = dict(
        row.split(":\t", 1)
        for row in procfs.read_small(f"{root}/proc/{pid}/status").splitlines()
        if ":\t" in row
    )
    if (process := fields.get("Tgid", str(pid))) != str(pid):
        raise NamedProcessError(THREAD(pid=str(pid), process=process))
    if not needs_jvm:
        return
    owner = int((fields.get("Uid") or str(os.getuid())).split()[0])
    if os.geteuid() not in (0, owner):
        raise NamedProcessError(FOREIGN(pid=str(pid), user=_user(owner)))
    # the mappings of a process that hangs on a dead mount cannot be read
    if _hangs(pid, root) or is_jvm(pid, root):
        return
    below = [item for item in procfs.tree(root, [pid])[1:] if not _hangs(item, root) and is_jvm(item, root)]
    if not below:
        raise NamedProcessError(NO_JVM(pid=str(pid), name=stat.name))
    if not in_tree:
        names = [str(process) for process in below[:_MOST_NAMED]]
        raise NamedProcessError(NO_JVM_ABOVE(pid=str(pid), name=stat.name, pids=names))


def _hangs(pid: int, root: Path) -> bool:
    stat = procfs.process_stat(root, pid)
    return stat is not None and stat.state == "D"


def is_jvm(pid: int, root: Path = procfs.ROOT) -> bool:
    """True of a JVM, and of one that starts."""
    return java_processes.is_launcher(pid, root) or java_processes.inspect(pid, root) is not None


def _is_hidden(pid: int) -> bool:
    """True of a process that exists, but that /proc does not show to this user."""
    try:
        os.kill(pid, 0)
    except OSError as error:
        return error.errno == errno.EPERM
    return False


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)

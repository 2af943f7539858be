"""Names of the settings of a Redis program. Only a running server lists them, so one is started for a moment:
without data, on a socket in a temporary directory. The names are kept in the user's cache.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import subprocess
import time
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from signal import SIGKILL

from loadcell.linux.process import has_ended, launch_command
from loadcell.model.catalogue import cache_directory, keep
from loadcell.plan.problems import nearest
from loadcell.systems.base import TargetError
from loadcell.systems.redis.connection import Address
from loadcell.systems.redis.server import Binary
from loadcell.systems.shared.account import environment, temporary_socket_directory
from loadcell.systems.shared.server_errors import DOING_READ_SETTINGS

#: Directives of redis.conf that CONFIG GET does not list.
_DIRECTIVES = frozenset({"include", "loadmodule", "rename-command", "sentinel", "user"})
_CONFIGURATION = 'port 0\nunixsocket {socket}\nsave ""\nappendonly no\ndaemonize no\n'
_SOCKET = "s"
_START_LIMIT_S, _START_POLL_S = 5.0, 0.01


def unknown_settings(binary: Binary, names: Iterable[str]) -> dict[str, str | None]:
    """Settings that a server does not know, with the names most like them.

    Modules that the settings load have settings of their own. Raises TargetError.
    """
    names = tuple(names)
    if "loadmodule" in names:
        return {}
    stored = _stored_names(_stored(binary))
    if stored is not None and stored.issuperset(names):
        return {}
    listed, hidden = _asked(binary, names)
    candidates = [name for name in names if listed and name not in listed | hidden | _DIRECTIVES]
    return {name: nearest(name, listed) for name in candidates}


def _stored(binary: Binary) -> Path | None:
    """File of the names of a program, by its contents as far as its size and time tell them."""
    try:
        facts = binary.server.stat()
        key = f"{binary.server.resolve()} {facts.st_size} {facts.st_mtime_ns}"
        name = f"{binary.product.lower()}-{binary.version}-{hashlib.sha256(key.encode()).hexdigest()[:12]}"
        return cache_directory() / "settings" / f"{name}.json"
    except (OSError, RuntimeError):  # RuntimeError: no home directory
        return None


def _stored_names(path: Path | None) -> frozenset[str] | None:
    with contextlib.suppress(OSError, ValueError):
        names = None if path is None else json.loads(path.read_text(encoding="utf-8"))
        if isinstance(names, list) and all(isinstance(name, str) for name in names):
            return frozenset(names)
    return None


@cache
def _asked(binary: Binary, names: tuple[str, ...]) -> tuple[frozenset[str], frozenset[str]]:
    """Names that the program lists, and those of `names` that it has without listing them; empty where it
    cannot be asked.
    """
    with temporary_socket_directory(_SOCKET) as directory:
        socket = Path(directory, _SOCKET)
        process = subprocess.Popen(
            launch_command([binary.server, "-"], Path(directory), SIGKILL),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment(),
        )
        try:
            with contextlib.suppress(OSError, TargetError):
                return _answered(process, socket, names, _stored(binary))
        finally:
            process.kill()
            process.wait()
    return frozenset(), frozenset()


def _answered(
    process: subprocess.Popen[bytes], socket: Path, names: Sequence[str], stored: Path | None
) -> tuple[frozenset[str], frozenset[str]]:
    """The server's answers. Raises OSError and TargetError."""
    assert process.stdin is not None
    with process.stdin as configuration:
        configuration.write(_CONFIGURATION.format(socket=socket).encode())
    deadline = time.monotonic() + _START_LIMIT_S
    while not socket.exists():
        if has_ended(process) or time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(_START_POLL_S)
    with Address("localhost", 0, socket=str(socket)).session(DOING_READ_SETTINGS(), during="up") as client:
        listed = frozenset(client.config())
        hidden = frozenset(name for name in names if client.ask("CONFIG", "GET", name))
    if stored is not None and listed:
        with contextlib.suppress(OSError):
            keep(stored, json.dumps(sorted(listed)))
    return listed, hidden

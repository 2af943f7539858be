"""Server settings: written for the server, read back from it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

#: Settings that loadcell needs for itself, and why.
RESERVED: dict[str, str] = {
    "dir": "name the directory by `target.redis.data`",
    "port": "a free port is taken at each start",
    "bind": "the server is reached on 127.0.0.1 only",
    "unixsocket": "the socket lies in the run's work directory",
    "unixsocketperm": "the socket is the server's user's",
    "protected-mode": "the server has a password",
    "requirepass": "it has a password of its own at each start",
    "user": "the load is the default user",
    "aclfile": "the load is the default user",
    "rename-command": "loadcell needs the commands by their names",
    "daemonize": "it watches the process",
    "supervised": "it watches the process",
    "pidfile": "it knows the process",
    "logfile": "the server's log goes to the trial's output.log",
    "syslog-enabled": "the server's log goes to the trial's output.log",
    "include": "write the settings themselves",
    "replicaof": "a replica takes no writes; use `server: external` for a replicated server",
    "slaveof": "a replica takes no writes; use `server: external` for a replicated server",
    "cluster-enabled": "loadcell speaks to one server, not to a cluster",
    "tls-port": "the load of a local server comes in the clear; use `server: external` for TLS",
}

#: What decides how fast a server is: recorded whether it was changed or not.
THAT_MATTER = (
    "activedefrag",
    "activerehashing",
    "appendfsync",
    "appendonly",
    "auto-aof-rewrite-percentage",
    "client-output-buffer-limit",
    "commandlog-execution-slower-than",
    "databases",
    "disable-thp",
    "dynamic-hz",
    "hash-max-listpack-entries",
    "hash-max-listpack-value",
    "hz",
    "io-threads",
    "io-threads-do-reads",
    "latency-tracking",
    "lazyfree-lazy-eviction",
    "lazyfree-lazy-expire",
    "lazyfree-lazy-server-del",
    "lazyfree-lazy-user-del",
    "maxclients",
    "maxmemory",
    "maxmemory-policy",
    "maxmemory-samples",
    "min-replicas-to-write",
    "no-appendfsync-on-rewrite",
    "prefetch-batch-max-size",
    "proto-max-bulk-len",
    "rdbchecksum",
    "rdbcompression",
    "save",
    "server-cpulist",
    "server-threads",
    "server_cpulist",
    "slowlog-log-slower-than",
    "tcp-backlog",
    "tcp-keepalive",
    "timeout",
    "tls-port",
)


def plain(name: str) -> str:
    """The name of a setting as the server shows it."""
    return name.lower().replace("_", "-")


def line(name: str, value: Any) -> str:
    """One line of redis.conf. Words of a value stay words (`save: 60 1000`); nothing at all is the empty word."""
    if isinstance(value, Path):
        return f"{name} {_word(str(value))}\n"
    text = ("yes" if value else "no") if isinstance(value, bool) else str(value)
    words = [_word(word) for word in text.split()] or ['""']
    return f"{name} {' '.join(words)}\n"


def _word(word: str) -> str:
    if re.fullmatch(r"[\w./:@%+,-]+", word, re.ASCII):
        return word
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def read_back(shown: Mapping[str, str], given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The settings that matter and those that were given, out of `shown`, the server's own (CONFIG GET).

    Each with `name`, `value`, and `given` (the plan's own words, or None). A value that came from `${env:...}` is not
    read back: the plan's words stand for it.
    """
    record = []
    for name in sorted({*THAT_MATTER, *given}):
        if name not in shown:
            continue
        asked = given.get(name)
        secret = isinstance(asked, str) and "${env:" in asked
        record.append({"name": name, "value": asked if secret else shown[name], "given": asked})
    return record


_BYTES = {
    "": 1, "b": 1, "k": 10**3, "kb": 1 << 10, "m": 10**6, "mb": 1 << 20, "g": 10**9, "gb": 1 << 30,
}  # fmt: skip


def bytes_of(value: Any) -> int | None:
    """Bytes of a memory setting as the server reads it (512mb); None if it is none."""
    found = re.fullmatch(r"\s*(\d+)\s*([kmg]?b?)\s*", str(value), re.IGNORECASE)
    return int(found[1]) * _BYTES[found[2].lower()] if found else None

"""Settings of Redis: reserved and recorded names, and lines of redis.conf."""

from __future__ import annotations

import re
from pathlib import Path

from loadcell.systems.shared.settings import size_in_bytes

#: Settings that loadcell sets itself, and why.
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

#: Settings that affect performance: recorded whether they were changed or not.
RECORDED = (
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


def line(name: str, value: object) -> str:
    """One line of redis.conf.

    A value is split into words (`save: 60 1000`); an empty value is the empty word.
    """
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


_UNITS = {"": 1, "b": 1, "k": 10**3, "kb": 1 << 10, "m": 10**6, "mb": 1 << 20, "g": 10**9, "gb": 1 << 30}


def bytes_of(value: object) -> int | None:
    """Bytes of a memory setting as the server reads it (512mb); None if it is none."""
    return size_in_bytes(value, _UNITS)

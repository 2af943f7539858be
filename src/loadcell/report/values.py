"""Values of a record, of whatever shape, as people read them; a number's unit is the end of its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from loadcell.model.message import Labels
from loadcell.model.numbers import milliseconds, seconds, size, whole
from loadcell.report.texts import Texts

#: What of a Redis's memory is bytes, without saying so.
_OF_REDIS = ("used_memory", "used_memory_rss", "used_memory_peak", "used_memory_dataset", "maxmemory")
_UNITS: tuple[tuple[str, Callable[[float], str]], ...] = (
    ("_bytes", size),
    *((f"memory.{field}", size) for field in _OF_REDIS),
    *((field, whole) for field in ("database.keys", "rdb_changes_since_last_save")),
    ("_ms", milliseconds),
    ("_s", seconds),
    ("mhz", lambda value: f"{whole(value)} MHz"),
    ("_mts", lambda value: f"{whole(value)} MT/s"),
    ("_mbits", lambda value: f"{whole(value)} Mbit/s"),
)
#: Names within records of machines that are said in the reader's language; all others stay as they are
#: recorded.
FIELD = Labels("field", (
    "addresses", "configured_mts", "count", "cpus", "daemons", "device", "distances", "driver", "free_bytes",
    "kind", "level", "locator", "manufacturer", "max_mhz", "memory_bytes", "mhz", "min_mhz", "model", "mount",
    "mtu", "node", "offline", "offloads", "online", "open_files", "open_files_hard", "options", "part",
    "queues", "rotational", "scheduler", "size_bytes", "source", "speed_mbits", "speed_mts", "state",
    "synchronised", "threads", "type", "usable_threads", "write_cache",
))  # fmt: skip
#: What a target says of itself, by its place in the record, that is called in the reader's language; what
#: else there is stays as it is recorded, as the settings of a server do.
TARGET_FACT = Labels("fact", (
    "server", "product", "version", "compatible_with", "version_number", "version_comment", "library",
    "software", "mode", "role",
    "threads", "host", "url", "peer", "command", "directory", "connect", "tls", "binaries", "run_as",
    "size_bytes", "files_on_disk",
    "data", "data.path", "data.type", "data.image", "data.image.path", "data.image.type", "data.image.direct",
    "data.memory", "data.image.memory",
    "database", "database.name", "database.encoding", "database.collation", "database.ctype",
    "database.size_bytes", "database.keys",
    "memory", "persistence",
))  # fmt: skip


def fact(path: str, texts: Texts) -> str:
    """Name of a target's fact, with its parent: `data.image.path` is `Data: image: path`."""
    parent, _, part = path.rpartition(".")
    text = texts(TARGET_FACT(path)) if path in TARGET_FACT else name(part or path, texts)
    return texts("mark.colon").join((fact(parent, texts), text)) if parent else text


def name(key: str, texts: Texts) -> str:
    """Name of a part of a record."""
    return texts(FIELD(key)) if key in FIELD else key


def plain(key: str, value: Any, texts: Texts) -> str:
    """A value as text; what is nested is put in one line."""
    if isinstance(value, bool):
        return texts("mark.yes" if value else "mark.no")
    if value is None or value == "":
        return texts("mark.none")
    if isinstance(value, int | float):
        for suffix, write in _UNITS:
            if f"_{key}".endswith(suffix) and value >= 0:
                return write(value)
        return str(value) if isinstance(value, int) else f"{value:,.4g}"
    if isinstance(value, list | tuple):
        return texts("mark.list").join(plain(key, item, texts) for item in value)
    if isinstance(value, dict):
        return texts("mark.list").join(
            f"{name(part, texts)} {plain(part, item, texts)}" for part, item in value.items()
        )
    return str(value)

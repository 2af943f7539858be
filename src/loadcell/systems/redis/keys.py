"""Data sets as keys with a prefix, and an ownership mark: the hash `loadcell:mark`, one in each database.

The mark holds owner, prefixes and state of the keys. On an external server only keys with these prefixes are
ever removed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from loadcell.systems.base import DataSet, DataSpec, Loader, TargetError
from loadcell.systems.messages import DOING_LOOK_FOR_THE_DATA_SET, DOING_MARK_THE_DATA_SET
from loadcell.systems.redis.connection import Address
from loadcell.systems.redis.messages import DOING_REMOVE_THE_KEYS, REDIS_FOREIGN_KEYS, REDIS_FOREIGN_MARK
from loadcell.systems.server import Prepared
from loadcell.systems.shared.ownership import Mark, Owner, parse

if TYPE_CHECKING:
    from loadcell.systems.redis.client import Client

MARK = "loadcell:mark"
#: Prefixes of YCSB's keys, and of its index of them.
_YCSB_PREFIXES = ("user", "_indices")
#: Keys that are scanned, and removed, at once.
_BATCH = 1000


@dataclass(frozen=True)
class Keys:
    """The data set on one server. On a `managed` server all keys are loadcell's."""

    address: Address
    managed: bool
    owner: Owner
    keep: bool
    version: str
    log: Callable[[str], None] = field(repr=False)

    def prepare(self, spec: DataSpec, load: Loader, *, will_change: bool) -> Prepared:
        """Provide the data set, untouched: reused, or loaded (again)."""
        began = time.monotonic()
        digest, prefixes = spec.fingerprint, _prefixes(spec)
        detail: dict[str, Any] = {"kind": "keys", "prefixes": prefixes}
        with self.address.session(DOING_LOOK_FOR_THE_DATA_SET(), during="prepare") as client:
            mark, size = self._mark(client)
            same = mark is not None and mark.fingerprint == digest
            reusable = same and mark is not None and mark.state == "ready" and self._complete(client, size)
            changed = same and mark is not None and mark.state == "changed"
            if not reusable:
                self._empty(client, mark, prefixes)
                mark = Mark(
                    "loading", digest, self.owner, keep=self.keep, tables=prefixes, loadcell=self.version
                )
                self._set_mark(client, mark)
        if reusable:
            how = "reused"
        else:
            how = "restored" if changed else "loaded"
            rows = load(self.address.endpoint())
            detail.update(method="load", load_s=time.monotonic() - began, rows=rows)
        with self.address.session(DOING_MARK_THE_DATA_SET(), during="prepare") as client:
            state = "changed" if will_change else "ready"
            mark = Mark(state, digest, self.owner, keep=self.keep, tables=prefixes, loadcell=self.version)  # type: ignore[arg-type]
            self._set_mark(client, mark, size=key_count(client))
            used = client.info("memory").get("used_memory")
        return Prepared(DataSet(digest, how, time.monotonic() - began, int(used) if used else None, **detail))

    def sweep(self) -> None:
        """Remove what this run and dead runs made, except what is to be kept."""
        with self.address.session(DOING_REMOVE_THE_KEYS(), during="cleanup") as client:
            mark, _ = self._mark(client)
            if mark is None:
                return
            done = mark.state == "ready"
            mine = mark.owner.same_run(self.owner)
            if mine and self.keep and done:
                return
            if not mine and ((mark.keep and done) or not mark.owner.surely_dead()):
                return
            for prefix in mark.tables:
                _remove(client, prefix)
            client.ask("DEL", MARK)
            remaining = key_count(client)
            if remaining:
                self.log(
                    f"{remaining} keys are left in database {self.address.database}: not of the prefixes loaded"
                )

    def _mark(self, client: Client) -> tuple[Mark | None, int]:
        """The mark, and the number of keys when it was set."""
        kind = client.ask("TYPE", MARK)
        if kind == "none":
            return None, 0
        words = client.ask("HGETALL", MARK) if kind == "hash" else []
        fields = dict(zip(words[::2], words[1::2], strict=False))
        mark = parse(fields.get("mark"))
        if mark is None and not self.managed:
            raise TargetError(REDIS_FOREIGN_MARK(where=self.address.where), during="prepare")
        size = fields.get("keys", "")
        return mark, int(size) if size.isdigit() else 0

    def _set_mark(self, client: Client, mark: Mark, size: int = 0) -> None:
        client.ask("HSET", MARK, "mark", mark.text(), "keys", size)

    def _complete(self, client: Client, size: int) -> bool:
        """True unless keys expired, were evicted or removed since the mark was set."""
        return not self.managed or key_count(client) == size

    def _empty(self, client: Client, mark: Mark | None, prefixes: tuple[str, ...]) -> None:
        """Remove all keys of a managed server, else those of an earlier load.

        Raises TargetError for keys that loadcell did not make."""
        if self.managed:
            client.ask("FLUSHALL")
            return
        ours = mark.tables if mark is not None else ()
        for prefix in prefixes:
            if prefix in ours:
                continue
            foreign = next((key for key in _scan(client, prefix) if key != MARK), None)
            if foreign is not None:
                raise TargetError(
                    REDIS_FOREIGN_KEYS(
                        database=self.address.database,
                        where=self.address.where,
                        prefix=prefix,
                        key=repr(foreign),
                    ),
                    during="prepare",
                )
        for prefix in ours:
            _remove(client, prefix)


def _prefixes(spec: DataSpec) -> tuple[str, ...]:
    """Prefixes of the keys of a data set."""
    prefixes_of_size = (
        _YCSB_PREFIXES if name == "ycsb" else (section.get("key_prefix", ""),)
        for name, section in spec.sections.items()
    )
    return tuple(dict.fromkeys(prefix for prefixes in prefixes_of_size for prefix in prefixes))


def key_count(client: Client) -> int:
    """Number of keys, without the mark."""
    return max(0, int(client.ask("DBSIZE")) - int(client.ask("EXISTS", MARK)))


def _scan(client: Client, prefix: str) -> Iterator[str]:
    """Keys with the prefix."""
    pattern = "".join(f"\\{sign}" if sign in "*?[]\\^" else sign for sign in prefix) + "*"
    cursor = "0"
    while True:
        cursor, keys = client.ask("SCAN", cursor, "MATCH", pattern, "COUNT", _BATCH)
        yield from keys
        if cursor == "0":
            return


def _remove(client: Client, prefix: str) -> None:
    """Remove the keys with the prefix, except the mark."""
    batch: list[str] = []
    for key in _scan(client, prefix):
        if key != MARK:
            batch.append(key)
        if len(batch) >= _BATCH:
            client.ask("UNLINK", *batch)
            batch.clear()
    if batch:
        client.ask("UNLINK", *batch)

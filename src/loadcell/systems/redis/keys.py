"""Data sets as keys with a prefix, and a mark beside them by which loadcell knows what it made.

The mark is a hash, `loadcell:mark`, one in a database: whose keys with which prefixes are, and what state they are in.
Only keys with these prefixes are ever removed from a server that is not loadcell's own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from loadcell.systems.base import DataSet, Loader, TargetError
from loadcell.systems.messages import DOING_LOOK_FOR_THE_DATA_SET, DOING_MARK_THE_DATA_SET
from loadcell.systems.redis.connection import Address, Connection
from loadcell.systems.redis.messages import DOING_REMOVE_THE_KEYS, REDIS_FOREIGN_KEYS, REDIS_FOREIGN_MARK
from loadcell.systems.shared.ownership import Mark, Owner, fingerprint, parse

MARK = "loadcell:mark"
#: YCSB's keys, and its index of them.
_OF_YCSB = ("user", "_indices")
#: Keys that are looked through, and removed, at once.
_BATCH = 1000


@dataclass(frozen=True)
class Keys:
    """The data set on one server. On a server of loadcell's own (`own`) everything is loadcell's."""

    address: Address
    own: bool
    owner: Owner
    keep: bool
    version: str
    log: Callable[[str], None] = field(repr=False)

    def prepare(self, data: Mapping[str, Any], load: Loader, *, will_change: bool) -> DataSet:
        """The data set, untouched: as it lies there, or loaded (again)."""
        began = time.monotonic()
        print_, prefixes = fingerprint(data), _prefixes(data)
        detail: dict[str, Any] = {"kind": "keys", "prefixes": list(prefixes)}
        with self.address.session(DOING_LOOK_FOR_THE_DATA_SET(), during="prepare") as connection:
            mark, size = self._mark(connection)
            same = mark is not None and mark.fingerprint == print_
            there = same and mark is not None and mark.state == "ready" and self._whole(connection, size)
            if not there:
                self._empty(connection, mark, prefixes)
                now = Mark(
                    "loading", print_, self.owner, keep=self.keep, tables=prefixes, loadcell=self.version
                )
                self._set_mark(connection, now)
        if there:
            how = "reused"
        else:
            how = "restored" if same and mark is not None and mark.state == "changed" else "loaded"
            account = load(self.address.endpoint())
            detail.update(method="load", load_s=time.monotonic() - began, rows=account.get("rows"))
        with self.address.session(DOING_MARK_THE_DATA_SET(), during="prepare") as connection:
            state = "changed" if will_change else "ready"
            now = Mark(state, print_, self.owner, keep=self.keep, tables=prefixes, loadcell=self.version)  # type: ignore[arg-type]
            self._set_mark(connection, now, size=keys_held(connection))
            used = connection.info("memory").get("used_memory")
        return DataSet(print_, how, time.monotonic() - began, int(used) if used else None, detail)

    def sweep(self) -> None:
        """Remove what this run made and what dead runs left behind, save what is to be kept."""
        with self.address.session(DOING_REMOVE_THE_KEYS(), during="cleanup") as connection:
            mark, _ = self._mark(connection)
            if mark is None:
                return
            done = mark.state == "ready"
            mine = mark.owner.same_run(self.owner)
            if mine and self.keep and done:
                return
            if not mine and ((mark.keep and done) or not mark.owner.surely_dead()):
                return
            for prefix in mark.tables:
                _remove(connection, prefix)
            connection.ask("DEL", MARK)
            left = keys_held(connection)
            if left:
                self.log(
                    f"{left} keys are left in database {self.address.database}: not of the prefixes loaded"
                )

    def _mark(self, connection: Connection) -> tuple[Mark | None, int]:
        """The mark, and how many keys there were when it was set."""
        kind = connection.ask("TYPE", MARK)
        if kind == "none":
            return None, 0
        words = connection.ask("HGETALL", MARK) if kind == "hash" else []
        found = dict(zip(words[::2], words[1::2], strict=False))
        mark = parse(found.get("mark"))
        if mark is None and not self.own:
            raise TargetError(REDIS_FOREIGN_MARK(where=self.address.where), during="prepare")
        size = found.get("keys", "")
        return mark, int(size) if size.isdigit() else 0

    def _set_mark(self, connection: Connection, mark: Mark, size: int = 0) -> None:
        connection.ask("HSET", MARK, "mark", mark.text(), "keys", size)

    def _whole(self, connection: Connection, size: int) -> bool:
        """Whether as many keys are there as there were: none expired, was evicted or removed."""
        return not self.own or keys_held(connection) == size

    def _empty(self, connection: Connection, mark: Mark | None, prefixes: tuple[str, ...]) -> None:
        """Make room: of everything on a server of loadcell's own, else of what an earlier load made. Refuses keys that
        loadcell did not make."""
        if self.own:
            connection.ask("FLUSHALL")
            return
        ours = mark.tables if mark is not None else ()
        for prefix in prefixes:
            if prefix in ours:
                continue
            foreign = next((key for key in _found(connection, prefix) if key != MARK), None)
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
            _remove(connection, prefix)


def _prefixes(data: Mapping[str, Any]) -> tuple[str, ...]:
    """What the keys of a data set begin with."""
    each = (
        _OF_YCSB if name == "ycsb" else (section.get("key_prefix", ""),) for name, section in data.items()
    )
    return tuple(dict.fromkeys(prefix for prefixes in each for prefix in prefixes))


def keys_held(connection: Connection) -> int:
    """How many keys there are, without the mark."""
    return max(0, int(connection.ask("DBSIZE")) - int(connection.ask("EXISTS", MARK)))


def _found(connection: Connection, prefix: str) -> Iterator[str]:
    """Keys that begin so."""
    pattern = "".join(f"\\{sign}" if sign in "*?[]\\^" else sign for sign in prefix) + "*"
    cursor = "0"
    while True:
        cursor, keys = connection.ask("SCAN", cursor, "MATCH", pattern, "COUNT", _BATCH)
        yield from keys
        if cursor == "0":
            return


def _remove(connection: Connection, prefix: str) -> None:
    """Remove the keys that begin so, but for the mark."""
    batch: list[str] = []
    for key in _found(connection, prefix):
        if key != MARK:
            batch.append(key)
        if len(batch) >= _BATCH:
            connection.ask("UNLINK", *batch)
            batch.clear()
    if batch:
        connection.ask("UNLINK", *batch)

"""Data sets as keys with a prefix, and an ownership mark: the hash `loadcell:mark`, one in each database.

The mark holds owner, prefixes and state of the keys. On an external server only keys with these prefixes are
ever removed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from loadcell.model.message import Message, MessageCode
from loadcell.systems.base import DataSet, DataSpec, Endpoint, TargetError
from loadcell.systems.redis.connection import Address
from loadcell.systems.redis.run_lock import LOCK, KeyLock
from loadcell.systems.shared.data_sets import DOING_MARK_THE_DATA_SET, DataSets, Mark, Prepared, parse
from loadcell.systems.shared.run_lock import RunLock

if TYPE_CHECKING:
    from loadcell.systems.redis.client import Client

REDIS_FOREIGN_MARK = MessageCode("redis.foreign-mark", where=str)
REDIS_FOREIGN_KEYS = MessageCode("redis.foreign-keys", database=str, key=str, prefix=str, where=str)
KEYS_WITHOUT_PREFIX = MessageCode("redis.keys-without-prefix")

MARK = "loadcell:mark"
_OURS = (MARK, LOCK)
#: Keys that are scanned, and removed, at once.
_BATCH = 1000


@dataclass(frozen=True)
class Keys(DataSets["Client"]):
    """The data set on one server. On a `managed` server all keys are loadcell's."""

    address: Address

    kind = "keys"

    def lock(self) -> RunLock | None:
        return None if self.managed else KeyLock(self.address, self.owner)

    def _session(self, doing: Message, during: str = "prepare") -> AbstractContextManager[Client]:
        return self.address.session(doing, during=during)

    def _name(self, spec: DataSpec) -> str:  # noqa: ARG002
        return f"of database {self.address.database}"

    def _endpoint(self, name: str) -> Endpoint:  # noqa: ARG002
        return self.address.endpoint()

    def _contents(self, session: Client, name: str, spec: DataSpec) -> tuple[str, ...]:  # noqa: ARG002
        """Prefixes of the keys of the data set; of one without any, that of all keys of a managed server.

        Raises TargetError on a shared server: its other keys cannot be distinguished from loadcell's.
        """
        if not spec.key_prefixes and not self.managed:
            raise TargetError(KEYS_WITHOUT_PREFIX())
        return spec.key_prefixes or ("",)

    def _is_intact(self, session: Client, name: str, mark: Mark) -> bool:  # noqa: ARG002
        """True unless keys of a managed server expired, were evicted or removed since the mark was set."""
        if not self.managed:
            return True
        size = str(session.ask("HGET", MARK, "keys"))
        return key_count(session) == (int(size) if size.isdigit() else 0)

    def _finish(self, name: str, spec: DataSpec, data_set: DataSet, *, will_change: bool) -> Prepared:
        with self._session(DOING_MARK_THE_DATA_SET()) as session:
            self._mark_use(session, name, spec, will_change=will_change)
            prefixes = self._contents(session, name, spec)
            used = session.info("memory").get("used_memory")
        return Prepared(replace(data_set, size_bytes=int(used) if used else None, prefixes=prefixes))

    def _names(self, session: Client) -> list[str]:  # noqa: ARG002
        return [f"of database {self.address.database}"]

    def _drop(self, session: Client, name: str, mark: Mark) -> None:  # noqa: ARG002
        for prefix in mark.tables:
            _remove(session, prefix)
        session.ask("DEL", MARK)
        if remaining := key_count(session):
            self.log(
                f"{remaining} keys are left in database {self.address.database}: not of the prefixes loaded"
            )

    def _mark(self, session: Client, name: str) -> Mark | None:  # noqa: ARG002
        kind = session.ask("TYPE", MARK)
        if kind == "none":
            return None
        mark = parse(session.ask("HGET", MARK, "mark")) if kind == "hash" else None
        if mark is None and not self.managed:
            raise TargetError(REDIS_FOREIGN_MARK(where=self.address.where), during="prepare")
        return mark

    def _set_mark(self, session: Client, name: str, mark: Mark) -> None:  # noqa: ARG002
        """Write the mark, and the number of keys."""
        session.ask("HSET", MARK, "mark", mark.text(), "keys", key_count(session))

    def _make_room(self, session: Client, name: str, mark: Mark | None, spec: DataSpec) -> None:
        """Remove all keys of a managed server, else those of an earlier load.

        Raises TargetError for keys that loadcell did not make.
        """
        if self.managed:
            session.ask("FLUSHALL")
            return
        ours = mark.tables if mark is not None else ()
        for prefix in self._contents(session, name, spec):
            if prefix in ours:
                continue
            foreign = next((key for key in _scan(session, prefix) if key not in _OURS), None)
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
            _remove(session, prefix)


def key_count(client: Client) -> int:
    """Number of keys, without loadcell's mark and lock."""
    # Asked one by one: a node of a cluster refuses keys of several slots.
    ours = sum(int(client.ask("EXISTS", key)) for key in _OURS)
    return max(0, int(client.ask("DBSIZE")) - ours)


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
    """Remove the keys with the prefix, except mark and lock."""
    batch: list[str] = []
    for key in _scan(client, prefix):
        if key not in _OURS:
            batch.append(key)
        if len(batch) >= _BATCH:
            client.ask("UNLINK", *batch)
            batch.clear()
    if batch:
        client.ask("UNLINK", *batch)

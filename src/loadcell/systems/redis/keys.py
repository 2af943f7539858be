"""Data sets as keys with a prefix, and an ownership mark: the hash `loadcell:mark`, one in each database.

The mark holds owner, prefixes and state of the keys. On an external server only keys with these prefixes are
ever removed. A further key locks a database of an external Redis for one run; it expires unless the run
renews it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from loadcell.model.json import MismatchError, read
from loadcell.model.message import Message, MessageCode
from loadcell.systems.base import DataSet, DataSpec, Endpoint, TargetError
from loadcell.systems.redis.connection import Address, NotRedisError, RefusedError
from loadcell.systems.shared.data_sets import DOING_MARK_THE_DATA_SET, DataSets, Mark, Prepared, parse
from loadcell.systems.shared.owner import (
    DOING_LOCK_THE_SERVER,
    SERVER_LOCK_UNKNOWN,
    Owner,
    describe,
    locked,
)
from loadcell.systems.shared.run_locks import RunLock

if TYPE_CHECKING:
    from loadcell.systems.redis.client import Client


LOCK = "loadcell:lock"
#: How long the lock of a run on another machine outlives it, and how often it is renewed.
_EXPIRES_S = 60
_RENEWED_EVERY_S = 20.0


class KeyLock(RunLock):
    """The key `loadcell:lock` with the owner as its value, and a thread that renews it."""

    def __init__(self, address: Address, owner: Owner) -> None:
        self._address = address
        self._owner = owner
        self._value = json.dumps(asdict(owner), sort_keys=True)
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._intruder: str | None = None

    def hold(self) -> None:
        with self._address.session(DOING_LOCK_THE_SERVER(), during="prepare") as session:
            holder = self._take(session)
            if holder is None:
                holder = self._take(session)  # it expired between two commands
        if holder != self._value:
            raise self._refusal(holder)
        if self._thread is None:
            self._thread = threading.Thread(target=self._renew, name="redis-lock", daemon=True)
            self._thread.start()

    def _refusal(self, holder: str | None) -> TargetError:
        owner = _owner(holder)
        if owner is not None and owner.process.has_ended() is False:
            return locked(self._address.where, describe(owner))
        message = SERVER_LOCK_UNKNOWN(
            where=self._address.where,
            owner=_described(holder),
            limit_s=_EXPIRES_S,
            command=f"{self._address.client} DEL {LOCK}",
        )
        return TargetError(message, during="prepare")

    def _take(self, session: Client) -> str | None:
        """The value of the lock after an attempt to take it."""
        value = _read(session)
        if value == self._value:
            session.ask("EXPIRE", LOCK, _EXPIRES_S)
            return value
        if value is None:
            taken = session.ask("SET", LOCK, self._value, "NX", "EX", _EXPIRES_S) == "OK"
            return self._value if taken else _read(session)
        owner = _owner(value)
        if owner is not None and owner.surely_dead():
            taken = _exchange(session, value, ("SET", LOCK, self._value, "EX", _EXPIRES_S))
            return self._value if taken else _read(session)
        return value

    def _renew(self) -> None:
        while not self._ended.wait(_RENEWED_EVERY_S):
            with (
                suppress(TargetError),
                self._address.session(
                    DOING_LOCK_THE_SERVER(), during="measure", answer_s=_RENEWED_EVERY_S
                ) as session,
            ):
                self._renew_once(session)

    def _renew_once(self, session: Client) -> None:
        value = _read(session)
        if value == self._value:
            session.ask("EXPIRE", LOCK, _EXPIRES_S)
            return
        if value is None and not self._ended.is_set():  # evicted, or expired while the server was away
            if session.ask("SET", LOCK, self._value, "NX", "EX", _EXPIRES_S) == "OK":
                return
            value = _read(session)
        if value is not None:
            self._intruder = _described(value)

    def intruder(self) -> str | None:
        intruder, self._intruder = self._intruder, None
        return intruder

    def release(self) -> None:
        if self._thread is None:
            return
        self._ended.set()
        self._thread.join(_RENEWED_EVERY_S)  # a renewal under way would restore the key
        self._thread = None
        with (
            suppress(TargetError, OSError, RefusedError, NotRedisError),
            self._address.session(
                DOING_LOCK_THE_SERVER(), during="cleanup", answer_s=_RENEWED_EVERY_S
            ) as session,
        ):
            _exchange(session, self._value, ("DEL", LOCK))


def _exchange(session: Client, value: str, command: tuple[str | int, ...]) -> bool:
    """Run a command on the lock if it has a value, and keeps it until then; whether it was run."""
    session.ask("WATCH", LOCK)
    if _read(session) != value:
        session.ask("UNWATCH")
        return False
    return session.ask_all([("MULTI",), command, ("EXEC",)])[-1] is not None


def _read(session: Client) -> str | None:
    """The value of the lock; None without one.

    By a command that loads seldom make: the server's counts of commands are compared with those of the load.
    """
    return session.ask("GETRANGE", LOCK, 0, -1) or None


def _owner(value: str | None) -> Owner | None:
    try:
        return read(Owner, value or "")
    except MismatchError:
        return None


def _described(value: str | None) -> str:
    owner = _owner(value)
    return describe(owner) if owner is not None else repr(value)


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

"""Key that locks a database of an external Redis for one run; it expires unless the run renews it."""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING

from loadcell.systems.base import TargetError
from loadcell.systems.redis.connection import Address, NotRedisError, RefusedError
from loadcell.systems.shared.data_sets import Owner
from loadcell.systems.shared.run_lock import DOING_LOCK_THE_SERVER, RunLock, describe, locked

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
            raise locked(self._address.where, _described(holder))
        if self._thread is None:
            self._thread = threading.Thread(target=self._renew, name="redis-lock", daemon=True)
            self._thread.start()

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
        return Owner(**json.loads(value or ""))
    except (ValueError, TypeError):
        return None


def _described(value: str | None) -> str:
    owner = _owner(value)
    return describe(owner) if owner is not None else repr(value)

"""Locks of a run on external servers.

A second run would replace its data and disturb its measurement.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import suppress
from typing import Generic, Protocol, TypeVar


class RunLock(ABC):
    """Held from a run's first data set to its end; the server releases it when the run dies.

    Targets of one run share it: the lock of an equal owner is no obstacle.
    """

    @abstractmethod
    def hold(self) -> None:
        """Take the lock, unless this run has it. Raises TargetError with the owner if another run has it."""

    def intruder(self) -> str | None:
        """The run that has or may have had the lock since the last call, although this one had taken it."""
        return None

    @abstractmethod
    def release(self) -> None:
        """Release the lock, if this object took it. Never raises."""


class RunLocks:
    """All locks of one run, released together when the last of its targets needs none.

    Two targets of a run may have one lock without knowing it: a server has several addresses. The release by
    one would free that of the other.
    """

    def __init__(self) -> None:
        self._held: list[RunLock] = []
        self._dropped: list[RunLock] = []

    def add(self, lock: RunLock) -> RunLock:
        """Take in the lock of a target."""
        self._held.append(lock)
        return lock

    def drop(self, lock: RunLock) -> None:
        """Release a lock as soon as no target needs any. Never raises."""
        self._held.remove(lock)
        self._dropped.append(lock)
        if not self._held:
            for unused in self._dropped:
                unused.release()
            self._dropped.clear()


class Session(Protocol):
    """Connection to a server."""

    def close(self) -> object: ...


LockedT = TypeVar("LockedT", bound=Session)


class SessionLock(RunLock, Generic[LockedT]):
    """Lock that belongs to a session of its server, which releases it at the session's end.

    When the session has ended between two calls of `hold`, anybody may have had the lock in the meantime.
    """

    def __init__(self) -> None:
        self._session: LockedT | None = None
        self._lost = False

    def hold(self) -> None:
        if self._session is not None:
            if self._lives(self._session):
                return
            self.release()  # the server has restarted, or ended the session
            self._lost = True
        session = self._connect()
        try:
            if self._take(session):
                self._session = session
        finally:
            if self._session is None:
                session.close()

    def intruder(self) -> str | None:
        lost, self._lost = self._lost, False
        return "? (the session with the lock had ended)" if lost else None

    def release(self) -> None:
        if self._session is not None:
            with suppress(Exception):  # the server has ended the session
                self._free(self._session)
            with suppress(Exception):
                self._session.close()
            self._session = None

    @abstractmethod
    def _connect(self) -> LockedT:
        """A new session. Raises TargetError."""

    @abstractmethod
    def _lives(self, session: LockedT) -> bool:
        """True if the server still answers in the session."""

    @abstractmethod
    def _free(self, session: LockedT) -> None:
        """Release the lock in the session, whose end the server notices later. Any exception means that the
        session has ended.
        """

    @abstractmethod
    def _take(self, session: LockedT) -> bool:
        """True if the session has the lock now, False if this run has it by another session.

        Raises TargetError.
        """

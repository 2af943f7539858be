"""Lock of one run on an external server: a second run would replace its data and disturb its measurement."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Generic, Protocol, TypeVar

from loadcell.model.message import MessageCode
from loadcell.systems.base import TargetError
from loadcell.systems.shared.data_sets import Owner

SERVER_LOCKED = MessageCode("server.locked", owner=str, where=str)
DOING_LOCK_THE_SERVER = MessageCode("doing.lock-the-server")


class RunLock(ABC):
    """Held from a run's first data set to its end; the server releases it when the run dies.

    Targets of one run share it: the lock of an equal owner is no obstacle.
    """

    @abstractmethod
    def hold(self) -> None:
        """Take the lock, unless this run has it. Raises TargetError with the owner if another run has it."""

    def intruder(self) -> str | None:
        """The run that was found to have the lock since the last time, although this one had taken it."""
        return None

    @abstractmethod
    def release(self) -> None:
        """Release the lock, if this object took it. Never raises."""


class Session(Protocol):
    """Connection to a server."""

    def close(self) -> object: ...


SessionT = TypeVar("SessionT", bound=Session)


class SessionLock(RunLock, Generic[SessionT]):
    """Lock that belongs to a session of its server, which releases it at the session's end."""

    def __init__(self) -> None:
        self._session: SessionT | None = None

    def hold(self) -> None:
        if self._session is not None:
            if self._lives(self._session):
                return
            self.release()  # the server has restarted, or ended the session
        session = self._connect()
        try:
            if self._take(session):
                self._session = session
        finally:
            if self._session is None:
                session.close()

    def release(self) -> None:
        if self._session is not None:
            with suppress(Exception):  # the server has ended the session
                self._session.close()
            self._session = None

    @abstractmethod
    def _connect(self) -> SessionT:
        """A new session. Raises TargetError."""

    @abstractmethod
    def _lives(self, session: SessionT) -> bool:
        """True if the server still answers in the session."""

    @abstractmethod
    def _take(self, session: SessionT) -> bool:
        """True if the session has the lock now, False if this run has it by another session.

        Raises TargetError.
        """


def describe(owner: Owner, length: int | None = None) -> str:
    """Run, process and host of an owner, for the message of a refusal; a long run's name is cut first."""
    run = PurePosixPath(owner.run).parent.name  # in the run's work directory, one for each kind of target
    process = f" (process {owner.pid} on {owner.host})"
    return (run if length is None else run[: max(length - len(process), 0)]) + process


def locked(where: str, owner: str) -> TargetError:
    """The refusal of a server that another run uses."""
    return TargetError(SERVER_LOCKED(where=where, owner=owner), during="prepare")

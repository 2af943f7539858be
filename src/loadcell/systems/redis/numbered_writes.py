"""Numbered writes into a Redis: members of one set (SADD, SMEMBERS)."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from loadcell.monitors.numbered_writes import (
    ANSWER_LIMIT_S,
    NotConnectedError,
    NumberedWrites,
)
from loadcell.systems.base import TargetError
from loadcell.systems.redis.connection import Address, NotRedisError, RefusedError

if TYPE_CHECKING:
    from loadcell.systems.redis.client import Client

#: The name under which the server's own lists show the session.
APPLICATION = "loadcell-writes"


class RedisWrites(NumberedWrites):
    """A set that nothing else uses."""

    def __init__(self, address: Address) -> None:
        super().__init__()
        self._address = address
        self._session: Client | None = None

    def create(self) -> None:
        self._ask("EXISTS", self.name)  # a set begins with its first member

    def write(self, number: int) -> None:
        self._ask("SADD", self.name, number)

    def numbers(self) -> frozenset[int]:
        return frozenset(map(int, self._ask("SMEMBERS", self.name)))

    def remove(self) -> None:
        self._ask("DEL", self.name)

    def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            with contextlib.suppress(OSError):
                session.close()

    def interrupt(self) -> None:
        """Answers have a time limit."""

    def _ask(self, *words: Any) -> Any:
        if self._session is None:
            try:
                self._session = self._address.connect(
                    limit_s=ANSWER_LIMIT_S, during="measure", name=APPLICATION
                )
            except TargetError as error:
                raise NotConnectedError(error.finding) from error
        try:
            return self._session.ask(*words)
        except (RefusedError, NotRedisError) as error:
            self.close()
            raise OSError(str(error)) from error
        except OSError:
            self.close()
            raise

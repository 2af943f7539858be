"""Contract of numbered writes: records beside the data of the load that are read back after a fault.

Lost acknowledged writes are the difference of two sets, as in Jepsen's set test (Kingsbury, "Jepsen: set
workloads"): what the server acknowledged, and what a final read returns.
"""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod

from loadcell.model.extensions import Capability

#: The access that a target gives to monitors has `numbered_writes()`.
NUMBERED_WRITES = Capability("numbered-writes")
#: Time limit of a connection and of an answer, in seconds.
ANSWER_LIMIT_S = 2.0


class NotConnectedError(Exception):
    """No session could be opened, so that nothing was sent."""


class NumberedWrites(ABC):
    """One session of a writer, opened when it is needed.

    Methods raise NotConnectedError, or OSError where the server's answer did not come or was an error: then
    the outcome of a write is unknown. After any error the session is closed. Used by one thread at a time,
    except for `interrupt`. `name` is that of the table or key.
    """

    def __init__(self) -> None:
        self.name = f"loadcell_writes_{os.getpid()}_{time.monotonic_ns()}"  # no other run uses it

    @abstractmethod
    def create(self) -> None:
        """Make the place for the records: empty, and only for this trial."""

    @abstractmethod
    def write(self, number: int) -> None:
        """Write a record, and wait until the server acknowledges it."""

    @abstractmethod
    def numbers(self) -> frozenset[int]:
        """The records that are there."""

    @abstractmethod
    def remove(self) -> None:
        """Remove what `create` made."""

    @abstractmethod
    def close(self) -> None:
        """Close the session."""

    @abstractmethod
    def interrupt(self) -> None:
        """End a wait for an answer, from another thread."""

"""No port of this machine is left for a connection: that says nothing of whoever was to be connected to."""

from __future__ import annotations

import errno
import os
from typing import Any

from loadcell.model.message import Message
from loadcell.systems.shared.messages import CONNECTION_NO_PORT

#: How the kernel says it, where only its words are passed on (libpq, PyMySQL).
SIGN = os.strerror(errno.EADDRNOTAVAIL)


def none_left(error: BaseException) -> bool:
    """Whether a connection could not be begun for want of a port (connect(2): EADDRNOTAVAIL)."""
    return isinstance(error, OSError) and error.errno == errno.EADDRNOTAVAIL


def no_port(where: Any, said: str) -> Message:
    """Why there is no connection to that place."""
    return CONNECTION_NO_PORT(where=where, said=said)

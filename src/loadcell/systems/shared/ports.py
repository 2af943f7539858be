"""No port of this machine is left for a connection: that says nothing of whoever was to be connected to."""

from __future__ import annotations

import errno
import os
from typing import Any

from loadcell.reasons import Reason, because

NO_PORT = "connection.no-port"

#: How the kernel says it, where only its words are passed on (libpq, PyMySQL).
SIGN = os.strerror(errno.EADDRNOTAVAIL)


def none_left(error: BaseException) -> bool:
    """Whether a connection could not be begun for want of a port (connect(2): EADDRNOTAVAIL)."""
    return isinstance(error, OSError) and error.errno == errno.EADDRNOTAVAIL


def no_port(where: Any, said: str) -> Reason:
    """Why there is no connection to that place."""
    return because("connection.no-port", where=where, said=said)

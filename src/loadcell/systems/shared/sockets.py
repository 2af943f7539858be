"""Where a server's Unix socket lies: in a directory of its own, for as long as the server runs."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from loadcell.systems.base import TargetError
from loadcell.systems.shared.account import Account
from loadcell.systems.shared.messages import SOCKETS_NOT_MADE

#: The kernel's limit for a socket's path is 108 bytes, its end included.
_PATH_LIMIT = 107


class Sockets:
    """A directory at `wanted`, or below /tmp where a socket's path would become too long. `place` is None while it is not there."""

    def __init__(self, wanted: Path, account: Account) -> None:
        self.place: Path | None = None
        self._wanted = wanted
        self._account = account

    def make(self, name: str) -> Path:
        """Make it, unless it is there, for a socket of that name. Raises TargetError."""
        if self.place is not None:
            return self.place
        place = self._wanted
        if len(os.fsencode(place / name)) > _PATH_LIMIT:
            place = Path(tempfile.mkdtemp(prefix="loadcell-", dir="/tmp"))
        try:
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._account.own(place)
        except OSError as error:
            raise TargetError(SOCKETS_NOT_MADE(path=place, said=error.strerror)) from error
        self.place = place
        return place

    def remove(self) -> None:
        """Remove it with all that is in it."""
        if self.place is not None:
            shutil.rmtree(self.place, ignore_errors=True)
            self.place = None

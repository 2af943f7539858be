"""Where the files of an embedded store lie."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from loadcell.systems.embedded.messages import STRANGER_STORE
from loadcell.systems.shared.files import Files


class StoreDirectory(Files):
    """The files of one engine, spread over so many of them; all other options may vary over the same directory."""

    kind, sign, stranger = "store", "CURRENT", STRANGER_STORE()

    def __init__(
        self, parent: Path, engine: str, files: int, version: str, log: Callable[[str], None]
    ) -> None:
        super().__init__(parent, f"store-{engine}-{files}", version, log)

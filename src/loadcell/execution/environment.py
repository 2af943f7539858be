"""environment.json: what the machines of a run are, as far as it bears on performance."""

from __future__ import annotations

from pathlib import Path

from loadcell.linux import inventory
from loadcell.linux.time_limits import LIMIT_S
from loadcell.model.json import JsonObject
from loadcell.model.numbers import utc_text
from loadcell.store.layout import SCHEMA


def collect(
    role: str, root: Path = Path("/"), limit_s: float = LIMIT_S, *, anonymous: bool = False
) -> JsonObject:
    """The document for this host; `role` is `client+target`, or `client` when the target runs elsewhere.

    `anonymous` leaves names and addresses out.
    """
    host = {"role": role, **inventory.collect(root, limit_s, anonymous=anonymous)}
    return {"schema": SCHEMA, "collected_utc": utc_text(), "hosts": [host]}

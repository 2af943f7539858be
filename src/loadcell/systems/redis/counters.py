"""The server's own running counters, to hold the load's record against."""

from __future__ import annotations

import re
from collections.abc import Mapping

#: How counters of commands are called: `calls_get`.
CALLS = "calls_"


def read(commandstats: Mapping[str, str]) -> dict[str, int]:
    """How often each command was carried out since the server started, by its name, out of INFO commandstats.

    Subcommands count for their command. Calls that were rejected before they began are not among them.
    """
    found: dict[str, int] = {}
    for name, said in commandstats.items():
        calls = re.match(r"calls=(\d+)", said)
        if name.startswith("cmdstat_") and calls:
            command = name.removeprefix("cmdstat_").partition("|")[0].lower()
            found[CALLS + command] = found.get(CALLS + command, 0) + int(calls[1])
    return found

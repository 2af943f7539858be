"""What throughput counts in a run: transactions of a database, requests to a service, operations of any kind,
composites of queries, what
probes do (blocks of a file or a stream, passes over memory, events of a processor), or MiB of data."""

from __future__ import annotations

from collections.abc import Iterable

from loadcell.model import catalogue
from loadcell.model.trial_record import TrialRecord

#: What is moved, and not done: there is more or less of it, but none that fails.
DATA = "MiB"
#: Of a store or of anything else; also what stands for units of several kinds.
OPERATION = "operation"


def of(records: Iterable[TrialRecord]) -> str:
    """The unit of these trials; `operation` where they have different ones, or one there is no word for.

    Records that do not say it are of databases: there was nothing else then.
    """
    units = {record.unit or "transaction" for record in records} or {"transaction"}
    unit = units.pop()
    return OPERATION if units or f"unit.{unit}" not in catalogue.texts() else unit

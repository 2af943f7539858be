"""BenchmarkSQL's result folder: the transactions, and beside them how they were asked for, and what its
collector sampled.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from loadcell.ingest.base import MOST_SHOWN, ImportProblemError
from loadcell.ingest.benchmarksql_properties import parse
from loadcell.ingest.formats import Source, is_directory, named, read_file
from loadcell.ingest.messages import COLLECTED_AMBIGUOUS, IMPORT_BENCHMARKSQL_FOLDER
from loadcell.ingest.text_blocks import Output, Told

TOOL = "benchmarksql"
#: Where they are in the folder that `runBenchmark.sh` makes.
RESULT, INFO, PROPERTIES = Path("data/result.csv"), Path("data/runInfo.csv"), Path("run.properties")
#: What its collector sampled: beside result.csv, where `osCollectorScript` was set.
COLLECTED = ("sys_info.csv", "blk_*.csv", "net_*.csv")
#: Properties that say what was run. Who ran it, with which password, is nobody's business.
_SAID = {
    "db": "db", "warehouses": "warehouses", "terminals": "terminals", "runMins": "run_minutes",
    "runTxnsPerTerminal": "transactions_per_terminal", "loadWorkers": "load_workers",
    "limitTxnsPerMin": "limit_txns_per_min", "terminalWarehouseFixed": "terminal_warehouse_fixed",
    "newOrderWeight": "new_order_weight", "paymentWeight": "payment_weight", "orderStatusWeight": "order_status_weight",
    "deliveryWeight": "delivery_weight", "stockLevelWeight": "stock_level_weight",
}  # fmt: skip
#: The same in runInfo.csv, for a folder without its properties.
_TOLD = {"db": "db", "runMins": "run_minutes", "runWarehouses": "warehouses", "driverVersion": "version", "limitTxnsPerMin": "limit_txns_per_min"}  # fmt: skip
_LARGEST = 2**20


def is_folder(path: Path) -> bool:
    """True if this is a result folder."""
    try:
        return (path / RESULT).is_file()
    except OSError:
        return False


def read(path: Path, on_progress: Told | None = None) -> Source:
    """A result folder, or a result.csv, with what lies beside it. Raises ImportProblemError."""
    result = path / RESULT if is_directory(path) else path
    if result != path and not is_folder(path):
        raise ImportProblemError(IMPORT_BENCHMARKSQL_FOLDER(path=path, result=RESULT))
    return replace(beside(read_file(result, TOOL, on_progress=on_progress)), path=path)


def beside(source: Source) -> Source:
    """A result.csv that was read, with what lies beside it."""
    result = source.path
    info = _row(result.with_name(INFO.name))
    properties = _properties(result.parent.parent / PROPERTIES if result.parent.name == "data" else None)
    settings: dict[str, str | int | float] = {
        ours: _number(info[theirs]) for theirs, ours in _TOLD.items() if info.get(theirs)
    }
    settings |= {
        ours: _number(properties[theirs]) for theirs, ours in _SAID.items() if properties.get(theirs)
    }
    terminals = settings.pop("terminals", None)
    source = named(source, settings)
    began_s = _began_s(info.get("sessionStart", ""))
    measured = tuple(
        replace(part, clients=terminals if isinstance(terminals, int) else None, began_s=began_s)
        for part in source.reading.measured
    )
    return _with_samples(replace(source, reading=replace(source.reading, measured=measured)))


def _with_samples(source: Source) -> Source:
    """And what its collector sampled, which is of the one session that the folder is of."""
    found, reading = _collected(source.path.parent), source.reading
    if not found:
        return source
    # It knows the columns of a monitor, and with it all of a plan.
    from loadcell.ingest.benchmarksql_host import Collected

    began_s = reading.measured[0].began_s if reading.measured else None
    collected = Collected(began_s)
    for file in found:
        if len(reading.measured) > 1:
            collected.unread.add(COLLECTED_AMBIGUOUS(file=file.name, count=len(reading.measured)))
            continue
        try:
            collected.take(file.name, Output((file,)).lines())
        except OSError as error:
            collected.unread.add(f"{file.name}: {error.strerror or error}")
    examples = (*reading.examples, *collected.unread.examples)[:MOST_SHOWN]
    samples = collected.samples if len(collected.samples) else None
    unread = reading.unread + collected.unread.count
    return replace(source, reading=replace(reading, unread=unread, examples=examples, samples=samples))


def _collected(data: Path) -> list[Path]:
    return [file for pattern in COLLECTED for file in sorted(data.glob(pattern)) if file.is_file()]


def files(path: Path) -> list[Path]:
    """Files of a result that are kept with the run: not the properties, which contain the password."""
    if not is_directory(path):
        return [path]
    return [
        file for file in (path / RESULT, path / INFO, *_collected(path / RESULT.parent)) if file.is_file()
    ]


def _row(path: Path) -> Mapping[str, str]:
    """The only row of runInfo.csv; empty without one."""
    try:
        with path.open(encoding="utf-8", errors="replace", newline="") as file:
            return {key: value for key, value in next(csv.DictReader(file), {}).items() if key and value}
    except (OSError, csv.Error):
        return {}


def _properties(path: Path | None) -> Mapping[str, str]:
    if path is None or not path.is_file() or path.stat().st_size > _LARGEST:
        return {}
    try:
        return parse(path.read_text(encoding="utf-8", errors="replace"))
    except (OSError, ValueError):
        return {}


def _number(text: str) -> str | int:
    return int(text) if text.isdecimal() else text


def _began_s(text: str) -> float | None:
    """`2026-06-28 10:00:00.123`, by the clock on the wall of the machine it ran on, taken as this one's."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None

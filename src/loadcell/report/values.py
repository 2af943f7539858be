"""Values of a record, of whatever shape, as people read them, each number with its declared unit.
Metrics of a workload, tool or monitor: names and formats.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from loadcell.analysis import figure_values
from loadcell.analysis.error_codes import figure_name
from loadcell.model import numbers
from loadcell.model.message import Labels, Unit, with_unit
from loadcell.model.panels import fact_labels
from loadcell.report.texts import Texts

if TYPE_CHECKING:
    from loadcell.analysis.treatments import Treatment
    from loadcell.report.texts import Texts


#: Names within records of machines that are said in the reader's language; all others stay as they are
#: recorded.
FIELD = Labels("field", (
    "addresses", "configured_mts", "count", "cpus", "daemons", "device", "distances", "driver", "free_bytes",
    "kind", "level", "locator", "logical_sector_bytes", "manufacturer", "max_mhz", "memory_bytes", "mhz",
    "min_mhz", "minimum_io_bytes", "model", "modified_utc", "mount", "mtu", "node", "numa_node", "offline",
    "offloads", "online", "open_files", "open_files_hard", "optimal_io_bytes", "options", "part",
    "partitions", "path", "physical_sector_bytes", "program", "queues", "rotational", "scheduler", "sha256",
    "size_bytes", "source", "speed_mbits", "speed_mts", "state",
    "synchronised", "threads", "type", "usable_threads", "write_cache",
))  # fmt: skip


def minute(utc: str | None) -> str:
    """`2026-03-09 08:00`: an instant to the minute; empty where none is recorded."""
    return (utc or "")[:16].replace("T", " ")


def fact(path: str, texts: Texts) -> str:
    """Name of a target's fact, with its parent: `data.image.path` is `Data: image: path`."""
    parent, _, part = path.rpartition(".")
    code = fact_labels().get(path)
    text = name(part or path, texts) if code is None else texts(code)
    return texts("mark.colon").join((fact(parent, texts), text)) if parent else text


def name(key: str, texts: Texts) -> str:
    """Name of a part of a record."""
    return texts(FIELD(key)) if key in FIELD else key


def plain(path: str, value: Any, units: Mapping[str, Unit], texts: Texts) -> str:
    """The value at a path of a record as text; what is nested is put in one line.

    `units` are those of numbers by their paths, in which a part may be `*` (any); numbers without one are
    counts and ratios. Instants have a name that ends in `_utc`, in every record.
    """
    if isinstance(value, bool):
        return texts("mark.yes" if value else "mark.no")
    if value is None or value == "":
        return texts("mark.none")
    if isinstance(value, int | float):
        unit = _unit(path, units)
        if unit is not None and value >= 0:
            return with_unit(unit, value)
        return str(value) if isinstance(value, int) else f"{value:,.4g}"
    if isinstance(value, list | tuple):
        return texts("mark.list").join(plain(path, item, units, texts) for item in value)
    if isinstance(value, dict):
        return texts("mark.list").join(
            f"{name(part, texts)} {plain(f'{path}.{part}', item, units, texts)}"
            for part, item in value.items()
        )
    return minute(str(value)) if path.endswith("_utc") else str(value)


def _unit(path: str, units: Mapping[str, Unit]) -> Unit | None:
    """The unit of a path: its own, or that of a path with `*` for one of its parts."""
    parts = path.split(".")
    patterns = (".".join([*parts[:position], "*", *parts[position + 1 :]]) for position in range(len(parts)))
    return next((units[name] for name in (path, *patterns) if name in units), None)


#: Metrics drawn instead of throughput in records that do not declare their metrics: older ones and imports.
UNDECLARED_HEADLINES = ("access_ns", "mib_per_s", "mbit_per_s", "mbits_per_s")
#: By so small a part its ratio to throughput may vary where throughput says the same.
SAME_SHARE = 0.01


def metric_name(metric: str, texts: Texts) -> str:
    """A metric's name in the reader's language, with its unit."""
    return texts.message(figure_name(metric))


def metric_value(metric: str, value: float, treatment: Treatment) -> str:
    """Format of a value of a metric: sizes with their unit."""
    if figure_values.is_size(metric, treatment.trials):
        return numbers.size(value)
    return counted_value(value, treatment.figures[metric].values)


def counted_value(value: float, repeats: Iterable[float]) -> str:
    """Format of a value: counts (retransmits) in full, everything else by its first digits."""
    counted = value == round(value) and all(repeat == round(repeat) for repeat in repeats)
    return numbers.whole(value) if counted else numbers.rate(value)


def foremost(treatments: Sequence[Treatment]) -> str | None:
    """The figure of their own that all these treatments are about; None where there is none, or throughput in
    another unit.
    """
    for name in _headlines(treatments):
        values = [treatment.figures[name].median for treatment in treatments if name in treatment.figures]
        if values and len(values) == len(treatments) and all(values):
            ratios = [
                (value or 0) / (treatment.throughput.median or 1)
                for value, treatment in zip(values, treatments, strict=True)
            ]
            same = len(ratios) > 1 and max(ratios) - min(ratios) <= SAME_SHARE * max(ratios)
            return None if same else name
    return None


def _headlines(treatments: Sequence[Treatment]) -> Sequence[str]:
    """Keys of the metrics that their parts declared as headlines."""
    facts = [trial.metrics for treatment in treatments for trial in treatment.trials if trial.metrics]
    if not facts:
        return UNDECLARED_HEADLINES
    return list(dict.fromkeys(key for metrics in facts for key, fact in metrics.items() if fact.headline))

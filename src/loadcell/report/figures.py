"""Figures that a workload or a tool has of its own: what they are called, and how they are written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from loadcell.model import numbers

if TYPE_CHECKING:
    from loadcell.analysis.treatments import Treatment
    from loadcell.report.texts import Texts

#: Those there is a word for; all others go by the name in the record, as a plan's own figures do.
KNOWN = (
    "events_per_s", "mib_per_s", "best_mib_per_s", "average_mib_per_s", "access_ns", "iops", "read_mib_per_s", "write_mib_per_s",
    "written_mib_per_s", "reads_per_s", "writes_per_s", "fsyncs_per_s", "transactions_per_s", "mbit_per_s", "mbits_per_s",
    "sent_mbits_per_s", "send_errors", "throughput_interval_percent", "retransmits", "client_cpu_percent", "connect_mean_ms",
    "processing_mean_ms", "waiting_mean_ms", "per_cpu_s", "user_s", "system_s",
)  # fmt: skip
#: What a probe or a tool was asked for: the first of these that all treatments have.
FOREMOST = ("access_ns", "mib_per_s", "mbit_per_s", "mbits_per_s")
#: By so small a part its ratio to throughput may vary where throughput says the same.
SAME_SHARE = 0.01
#: fio's syncs have all that response times have.
_SYNCED = re.compile(r"sync_(?P<of>\S+_ms)")
SYNC = ("min_ms", "mean_ms", "stdev_ms", "max_ms")
#: Of what a tool reports apart (fio's jobs, mbw's methods): which of it, and its figure.
_OF_A_PART = re.compile(
    rf"(?P<part>.+?)\.(?P<figure>{'|'.join(KNOWN)}|{_SYNCED.pattern.replace('?P<of>', '?:')})"
)


def key(figure: str) -> str:
    """Of a known figure's name in the catalogue."""
    return f"figure.{figure}"


def name(figure: str, texts: Texts) -> str:
    """A figure in the reader's words, with its unit."""
    if figure in KNOWN:
        return texts(key(figure))
    if (sync := _SYNCED.fullmatch(figure)) is not None:
        own = sync["of"]
        what = texts(f"figure.sync.{own}") if own in SYNC else own.removesuffix("_ms")
        return texts("figure.sync", what=what)
    if (of_part := _OF_A_PART.fullmatch(figure)) is not None:
        return texts("figure.of-part", part=of_part["part"], figure=name(of_part["figure"], texts))
    return figure


def write(value: float, repeats: Iterable[float]) -> str:
    """A figure as people read it: what is counted (retransmits) whole, everything else by its first digits."""
    counted = value == round(value) and all(each == round(each) for each in repeats)
    return numbers.whole(value) if counted else numbers.rate(value)


def foremost(treatments: Sequence[Treatment]) -> str | None:
    """The figure of their own that all these treatments are about; None where there is none, or throughput in another unit."""
    for name in FOREMOST:
        values = [treatment.figures[name].median for treatment in treatments if name in treatment.figures]
        if values and len(values) == len(treatments) and all(values):
            ratios = [
                (value or 0) / (treatment.throughput.median or 1)
                for value, treatment in zip(values, treatments, strict=True)
            ]
            same = len(ratios) > 1 and max(ratios) - min(ratios) <= SAME_SHARE * max(ratios)
            return None if same else name
    return None

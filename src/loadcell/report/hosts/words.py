"""Formats of scores, facts and ratios: one place for pages and terminal."""

from __future__ import annotations

from collections.abc import Sequence

from loadcell.analysis.hosts.compare import Row, Times
from loadcell.analysis.hosts.facts import FACTS, Fact
from loadcell.analysis.hosts.findings import row_name, score_name
from loadcell.analysis.hosts.scores import Score
from loadcell.model import numbers
from loadcell.model.message import Labels
from loadcell.report.host import in_words
from loadcell.report.texts import Texts

#: Symbols of units, which are the same in every language; the others are in the catalogue.
SYMBOLS = {
    "mib_per_s": "MiB/s", "read_mib_per_s": "MiB/s", "write_mib_per_s": "MiB/s", "access_ns": "ns",
    "sync_ms": "ms",
    "iops": "IOPS", "mbit_per_s": "Mbit/s",
}  # fmt: skip
_UNIT = Labels("hosts.unit", ("events_per_s", "transactions_per_s"))
_FACT = Labels("hosts.fact", FACTS)


def name(score: Score, texts: Texts) -> str:
    """`MEMCPY, 256 MiB, 1 thread`."""
    return texts.value("name", score_name(score))


def row(machine_row: Row, texts: Texts) -> str:
    """The same of a score that two machines have."""
    return texts.value("name", row_name(machine_row))


def unit(score: Score, texts: Texts) -> str:
    """`MiB/s`."""
    return SYMBOLS.get(score.figure) or texts(_UNIT(score.figure))


def figure(value: float) -> str:
    """A score's value: four digits, as rates have."""
    return numbers.rate(value)


def spread(score: Score, texts: Texts) -> str:
    """`4,790 … 4,811`: what the repeats were; nothing of one."""
    repeats = score.repeats
    if repeats.low is None or repeats.high is None or len(repeats.values) < 2:
        return texts("mark.none")
    return f"{figure(repeats.low)} … {figure(repeats.high)}"


def times(value: float) -> str:
    """`×1.38`."""
    return f"×{numbers.significant(value)}"


def ends(span: Times, texts: Texts) -> str:
    """`×1.31 … ×1.44`; nothing where one value stands against one."""
    if span.low is None or span.high is None:
        return texts("mark.none")
    return f"{times(span.low)} … {times(span.high)}"


def fact_name(fact: Fact, texts: Texts) -> str:
    """Name of a fact; a kernel setting by its name."""
    return texts.or_none(_FACT(fact.key)) or fact.key


def fact_values(fact: Fact, texts: Texts) -> list[str]:
    """Both values with their unit; what is known to be nothing (no mitigation at work) is another thing than
    what is not known.
    """
    return [
        texts("hosts.facts.nothing") if value == "" else in_words(fact.key, value, texts)
        for value in fact.values
    ]


def joined(values: Sequence[str], texts: Texts) -> str:
    """A list in a sentence."""
    return texts("mark.list").join(values)

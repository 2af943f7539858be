"""Pages of metrics: the text exposition format 0.0.4 of Prometheus, and OpenMetrics 1.0.

A line is `name{labels} value [timestamp]`, in OpenMetrics with an exemplar behind ` # `. The text in front of
the value is the same at each scrape, so a line whose text is known costs one look into a dictionary: about
half a microsecond, where the parser of the package prometheus_client takes 11. Tests compare both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, Generic, Literal, TypeVar

from loadcell.monitors.series import LONGEST_NAME, Series

Kind = Literal["counter", "gauge", "histogram", "summary", "unknown"]

#: Samples of one page that are read.
MOST_SAMPLES: Final = 100_000
#: Texts of series that are kept: a page whose series always change must not fill the memory, and one with
#: `MOST_SAMPLES` that stay the same is not classified again.
MOST_CACHED: Final = 2 * MOST_SAMPLES
#: Bytes of a line that is read, and of one that is no sample: as a whole, so that no secret is cut before it
#: is recognised.
_LONGEST_LINE: Final = 1 << 16
#: Bytes of the texts that are kept.
_MOST_CACHED_BYTES: Final = 128 << 20
#: A page with fewer samples than this share of its lines is something else (HTML, JSON).
_FEWEST_SAMPLES: Final = 0.5

#: Quantifiers never give back what they took: a long line without an end would fill the memory, or take time
#: in proportion to the square of its length, in which no other thread of the program runs.
_BEGINNING = re.compile(rb"([a-zA-Z_:][a-zA-Z0-9_:.]*+)\s*+\{")
_HEAD = re.compile(
    rb"(?P<name>[a-zA-Z_:][a-zA-Z0-9_:.]*+)\s*+"
    rb'(?:\{(?P<labels>(?:[^"}]++|"(?:[^"\\]++|\\.)*+")*+)\})?\s*+'
)
_PAIR = re.compile(r'\s*+([^\s=,"]++|"(?:[^"\\]++|\\.)*+")\s*+=\s*+"((?:[^"\\]++|\\.)*+)"\s*+,?+\s*+')
_KINDS: dict[str, Kind] = {
    "counter": "counter", "gauge": "gauge", "histogram": "histogram", "summary": "summary",
    "gaugehistogram": "unknown",
}  # fmt: skip
#: What a sample of a family is called, and which part of the family it then is.
_SUFFIXES = ("_total", "_count", "_sum", "_bucket", "_created", "_info", "_gsum", "_gcount")

T = TypeVar("T")


class NotAPageError(Exception):
    """The text is no page of metrics; `line` is the first that is none of its lines."""

    def __init__(self, line: str) -> None:
        super().__init__(line)
        self.line = line


@dataclass(frozen=True, slots=True)
class Sampled:
    """A series of a page: `part` is `count`, `sum`, `bucket`, `quantile`, `created` or empty."""

    series: Series
    family: str
    kind: Kind
    part: str


@dataclass
class PageReader(Generic[T]):
    """Reads pages of one endpoint, one after the other.

    `classify` is asked once for each series, and gives an object that is returned with its values; None for
    series that do not matter.
    """

    classify: Callable[[Sampled], T | None]
    cached: dict[bytes, T | None] = field(default_factory=dict)
    kinds: dict[str, Kind] = field(default_factory=dict)
    #: lines of the last page that were no samples, and values that were no numbers
    unread: int = 0
    #: True if the last page had more than `MOST_SAMPLES`, of which the first were read
    is_cut: bool = False
    #: name of the first series of the last page with a line above `_LONGEST_LINE`, which is not read
    too_long: str = ""
    _cached_bytes: int = 0

    def read(self, page: bytes) -> Iterator[tuple[T, float]]:
        """The values of a page, as they are (NaN and infinite, too). Raises NotAPageError."""
        if len(self.cached) > MOST_CACHED or self._cached_bytes > _MOST_CACHED_BYTES:
            self.cached.clear()
            self._cached_bytes = 0
        if len(self.kinds) > MOST_CACHED:
            self.kinds.clear()
        cached, samples, self.unread, first = self.cached, 0, 0, b""
        self.is_cut, self.too_long = False, ""
        for line in page.split(b"\n"):
            if len(line) > _LONGEST_LINE:
                if (beginning := _BEGINNING.match(line, 0, _LONGEST_LINE)) is not None:
                    self.too_long = self.too_long or beginning[1].decode()
                elif line[:1] != b"#":
                    self.unread += 1
                    first = first or line[:_LONGEST_LINE]
                continue
            text, _, value = line.rpartition(b" ")
            try:
                item = cached[text]
                number = float(value)
            except (KeyError, ValueError):
                read = self._line(line)
                if read is None:
                    if line and line[:1] != b"#" and line.strip():
                        self.unread += 1
                        first = first or line[:_LONGEST_LINE]
                    continue
                item, number = read
            if samples == MOST_SAMPLES:
                self.is_cut = True
                return
            samples += 1
            if item is not None:
                yield item, number
        if self.unread and samples < _FEWEST_SAMPLES * (samples + self.unread):
            raise NotAPageError(first.decode("utf-8", "replace"))

    def _line(self, line: bytes) -> tuple[T | None, float] | None:
        """A line whose text is new, or that has a timestamp or an exemplar; None for one without a value."""
        if line[:1] == b"#":
            words = line.decode("utf-8", "replace").split(None, 4)
            if len(words) == 4 and words[:2] == ["#", "TYPE"] and len(words[2]) <= LONGEST_NAME:
                self.kinds[words[2].strip('"')] = _KINDS.get(words[3].strip(), "unknown")
            return None
        head = _HEAD.match(line)
        if head is None:
            return None
        values = line[head.end() :].partition(b" # ")[0].split()
        if not 1 <= len(values) <= 2:
            return None
        try:
            value = float(values[0])
        except ValueError:
            return None
        text = bytes(line[: head.end()]).rstrip()
        if text not in self.cached:
            pairs = _pairs((head["labels"] or b"").decode("utf-8", "replace"))
            if pairs is None:
                return None
            self.cached[text] = self.classify(self._sampled(head["name"].decode(), pairs))
            self._cached_bytes += len(text)
        return self.cached[text], value

    def _sampled(self, name: str, pairs: list[tuple[str, str]]) -> Sampled:
        """Which family a name belongs to, and what of it it is."""
        kind = self.kinds.get(name)
        family, part = name, ""
        if kind is None:
            for suffix in _SUFFIXES:
                base = name.removesuffix(suffix)
                if base != name and base in self.kinds:
                    family, kind, part = base, self.kinds[base], suffix[1:]
                    break
        if kind == "summary" and not part and any(label == "quantile" for label, _ in pairs):
            part = "quantile"
        if kind is None:
            kind = "counter" if name.endswith("_total") else "unknown"
        written = ",".join(f'{label}="{value}"' for label, value in sorted(pairs))
        return Sampled(Series(name, written), family, kind, part)


def _pairs(labels: str) -> list[tuple[str, str]] | None:
    """Labels and their values; None where the text is something else."""
    pairs: list[tuple[str, str]] = []
    position = 0
    labels = labels.strip()
    while position < len(labels):
        pair = _PAIR.match(labels, position)
        if pair is None:
            return None
        pairs.append((pair[1].strip('"'), pair[2]))
        position = pair.end()
    return pairs

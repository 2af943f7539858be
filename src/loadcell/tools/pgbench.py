"""pgbench 9.6 to 18: its summary, its progress (`-P`), and its logs (`-l`, `--aggregate-interval`)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain

from loadcell.tools.base import Interval, Measured, NotItsOutputError, Reading, Unread, number, understood

NAME = "pgbench"

_HEAD = re.compile(r"pgbench \((?P<version>[\d.]+\w*)")
_PROGRESS = re.compile(
    r"progress: (?P<at>[\d.]+) s, (?P<tps>[\d.]+) tps, lat (?P<mean>[\d.]+|NaN) ms stddev (?P<stdev>[\d.]+|NaN)(?:, (?P<failed>\d+) failed)?"
)
_FIELD = re.compile(r"(?P<name>[a-z][\w -]+?)(?: =|:) (?P<value>.+)")
_TYPE = re.compile(r"(?:transaction type|SQL script \d+): (?P<name>.+)")
_TPS = re.compile(
    r"tps = (?P<tps>[\d.]+) \((?P<how>including connections|excluding|without initial|including reconn)"
)
_SAID = re.compile(
    r"starting vacuum|statement latencies|\s+[\d.]+\s|progress:|.*scale option|SQL script| - |pghost|client \d+ (executing|sending|receiving)"
)
_ERROR = re.compile(r"pgbench: error: |(?:.*)client \d+ (?:aborted|script \d+ aborted)")
_FIELDS = {
    "number of clients", "number of threads", "duration", "scaling factor", "query mode", "maximum number of tries",
    "number of transactions actually processed", "number of failed transactions", "latency average", "latency stddev",
    "number of transactions per client", "initial connection time", "number of transactions above the", "rate limit schedule lag",
    "number of transactions retried", "total number of retries", "number of transactions skipped",
    "number of transactions below the", "latency limit",
}  # fmt: skip
_SUMMARY = "transaction type"


def read(lines: Iterable[str]) -> Reading:
    """Each execution of the text."""
    found: list[Measured] = []
    unread = Unread()
    current: _Execution | None = None
    for line in lines:
        # Older versions print no head: the first progress line, or the summary, after a finished one begins another.
        fresh = current is None or current.tps is not None
        if _HEAD.match(line) is not None or (fresh and (_PROGRESS.match(line) or _TYPE.match(line))):
            if current is None or current.begun:
                _close(current, found, unread)
                current = _Execution()
            head = _HEAD.match(line)
            if head is not None:
                current.settings["version"] = head["version"]
        if current is None or not understood(current.take, line):
            unread.add(line)
    _close(current, found, unread)
    if not found and (current is None or not current.begun):
        raise NotItsOutputError(f"neither `{_SUMMARY}:` nor `progress:` is in it")
    return unread.reading(found)


def _close(current: _Execution | None, found: list[Measured], unread: Unread) -> None:
    if current is None or not current.begun:
        return
    if current.tps is None:
        unread.add("pgbench: ended without its figures")
    else:
        found.append(current.measured())


class _Execution:
    def __init__(self) -> None:
        self.begun = False
        self.tps: float | None = None
        self.title = "pgbench"
        self.values: dict[str, str] = {}
        self.settings: dict[str, str | int | float] = {}
        self.intervals: list[Interval] = []
        self.errors: dict[str, int] = {}
        self.ended_s = 0.0

    def take(self, line: str) -> bool:
        """Whether the line was understood."""
        if _HEAD.match(line) is not None:
            return True
        if (match := _PROGRESS.match(line)) is not None:
            self.begun = True
            self._interval(match)
        elif (match := _TYPE.match(line)) is not None:
            self.begun = True
            self.title = match["name"].removeprefix("<builtin: ").removesuffix(">").strip()
        elif (match := _TPS.match(line)) is not None:
            # Of the two lines that old versions print, the one without the time of connecting is the throughput.
            if self.tps is None or match["how"] != "including connections":
                self.tps = float(match["tps"])
        elif _ERROR.match(line) is not None:
            self.errors["client"] = self.errors.get("client", 0) + 1
        elif (match := _FIELD.match(line)) is not None and any(
            match["name"].startswith(name) for name in _FIELDS
        ):
            self.values[match["name"]] = match["value"]
        else:
            return _SAID.match(line) is not None or not line.strip()
        return True

    def _interval(self, match: re.Match[str]) -> None:
        at = float(match["at"])
        response = {}
        if match["mean"] != "NaN":
            response = {"mean_ms": float(match["mean"])}
        failed = int(match["failed"]) if match["failed"] else None
        self.intervals.append(
            Interval(self.ended_s, at - self.ended_s, float(match["tps"]), failed, response)
        )
        self.ended_s = at

    def measured(self) -> Measured:
        values = self.values
        done = values.get("number of transactions actually processed", "").partition("/")[0]
        failed = values.get("number of failed transactions", "").partition(" ")[0]
        response = {
            key: number(values[name].split()[0])
            for name, key in (("latency average", "mean_ms"), ("latency stddev", "stdev_ms"))
            if name in values
        }
        settings = dict(self.settings)
        for name, key in (("scaling factor", "scale"), ("query mode", "protocol")):
            if name in values:
                settings[key] = values[name]
        count = int(done) if done.isdecimal() else None
        duration = values.get("duration", "").partition(" ")[0]
        length_s = float(duration) if duration else count / self.tps if count and self.tps else None
        clients = values.get("number of clients")
        return Measured(
            self.title, "transaction", self.tps, count, int(failed) if failed.isdecimal() else None, length_s,
            int(clients) if clients else None, response, {}, settings, self.errors, tuple(self.intervals),
        )  # fmt: skip


def read_log(lines: Iterable[str]) -> Reading:
    """A log of transactions (`-l`): client, number, time (us, or a word), script, second, microsecond [, lag [, retries]].

    Percentiles are exact: every transaction is in it. Read in one piece by polars: such logs have gigabytes.
    """
    import io

    import polars as pl

    rows = iter(lines)
    first = next(rows, "")
    if re.match(r"\d+ \d+ \S+ \d+ \d+ \d+", first) is None:
        raise NotItsOutputError("no line of six numbers, as `pgbench -l` writes")
    names = ["client", "number", "time", "script", "second", "microsecond"]
    wide = len(first.split())
    columns = [*names, *(f"more{number}" for number in range(wide - len(names)))]
    text = "".join(chain([first], rows))
    frame = pl.read_csv(
        io.BytesIO(text.encode()), separator=" ", has_header=False, new_columns=columns, truncate_ragged_lines=True,
        schema_overrides={"time": pl.String}, ignore_errors=True,
    )  # fmt: skip
    whole = frame.drop_nulls(["client", "second", "microsecond"])
    times = whole.with_columns(
        ms=pl.col("time").cast(pl.Float64, strict=False) / 1e3,
        at_s=pl.col("second") + pl.col("microsecond") / 1e6,
    )
    ended = times.filter(pl.col("ms").is_not_null())
    if ended.is_empty():
        raise NotItsOutputError("no transaction in the log ended")
    begun_s = float((ended["at_s"] - ended["ms"] / 1e3).min())  # type: ignore[arg-type]
    length_s = float(ended["at_s"].max()) - begun_s  # type: ignore[arg-type]
    series = ended["ms"]
    ranks = {"p50_ms": 0.5, "p90_ms": 0.9, "p95_ms": 0.95, "p99_ms": 0.99, "p99.9_ms": 0.999}
    response = {name: float(series.quantile(rank, "higher") or 0) for name, rank in ranks.items()}
    response |= {"mean_ms": float(series.mean()), "min_ms": float(series.min()), "max_ms": float(series.max()), "stdev_ms": float(series.std() or 0)}  # type: ignore[arg-type] # fmt: skip
    words = times.filter(pl.col("ms").is_null())["time"].value_counts()
    errors = {str(word): int(count) for word, count in words.iter_rows()}
    measured = Measured(
        "pgbench -l", "transaction", ended.height / length_s if length_s else None, ended.height, sum(errors.values()),
        length_s, ended["client"].n_unique(), response, {}, {}, errors, _seconds(ended, begun_s),
    )  # fmt: skip
    return Reading((measured,), frame.height - whole.height)


def _seconds(ended: object, begun_s: float) -> tuple[Interval, ...]:
    """Transactions by the second of their end, the last and cut one left out."""
    import polars as pl

    assert isinstance(ended, pl.DataFrame)
    second = (pl.col("at_s") - begun_s).floor().cast(pl.Int64).alias("t")
    by_second = ended.group_by(second).agg(pl.len().alias("n"), pl.col("ms").mean().alias("mean"), pl.col("ms").quantile(0.99).alias("p99")).sort("t")  # fmt: skip
    rows = by_second.iter_rows(named=True)
    found = [
        Interval(float(row["t"]), 1.0, float(row["n"]), None, {"mean_ms": row["mean"], "p99_ms": row["p99"]})
        for row in rows
    ]
    return tuple(found[:-1])

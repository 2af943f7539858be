"""intervals.csv of an execution that was imported: what the tool printed while it ran, in columns."""

from __future__ import annotations

from loadcell.execution.record import TRANSACTION
from loadcell.ingest.arrange import Execution
from loadcell.ingest.series import WHOLE, Intervals
from loadcell.store.layout import INTERVAL_COLUMNS, REACH_COLUMNS

#: As of all files of a trial.
_DIGITS = 6


def table(execution: Execution, *, reaching: bool) -> str:
    """The file; empty without any interval. Times are those since the execution began.

    `reaching`: with the columns of how far throughput went in what was joined, as all executions of a run have the same columns.
    """
    import polars as pl

    intervals = Intervals.of(execution.measured.intervals)
    if not len(intervals):
        return ""
    columns = dict(intervals.columns())
    start, duration, rate = (pl.Series(columns[name]) for name in ("start", "duration", "rate"))
    began_s = execution.measured.began_s
    frame = pl.DataFrame({"t_s": start})
    known: dict[str, pl.Series | pl.Expr] = {
        "mono_ns": (start * 1e9).round().cast(pl.Int64),
        "phase": pl.lit("measure"), "operation": pl.lit(TRANSACTION), "kind": pl.lit("transaction"),
        "duration_s": duration, "succeeded": (rate * duration).round().cast(pl.Int64),
        "failed": pl.Series(columns["failed"]).fill_nan(None).cast(pl.Int64), "throughput_per_s": rate,
        **{f"response_{key}": pl.Series(column).fill_nan(None) for key, column in columns.items() if key not in WHOLE},
    }  # fmt: skip
    if began_s is not None:
        instants = ((start + began_s) * 1e6).round().cast(pl.Int64)
        known["utc"] = instants.cast(pl.Datetime("us")).dt.strftime("%Y-%m-%dT%H:%M:%S.%6fZ")
    if reaching:
        ends = (columns.get(name, columns["rate"]) for name in ("lowest", "highest"))
        known |= {name: pl.Series(end) for name, end in zip(REACH_COLUMNS, ends, strict=True)}
    names = (*INTERVAL_COLUMNS, *(REACH_COLUMNS if reaching else ()))
    missing = pl.lit(None, dtype=pl.Float64)
    frame = frame.select("t_s", *(known.get(name, missing).alias(name) for name in names if name != "t_s"))
    rounded = frame.with_columns(pl.selectors.float().round(_DIGITS))
    return rounded.write_csv(float_scientific=False)

"""intervals.csv of an imported execution: the intervals that the tool printed, in columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from loadcell.ingest.arrange import Execution
from loadcell.ingest.series import UNJOINED, Intervals
from loadcell.model.trial_record import TRANSACTION
from loadcell.store.frames import Numbers
from loadcell.store.layout import INTERVAL_COLUMNS, REACH_COLUMNS

#: Digits behind the point in all files of a trial.
_DIGITS = 6


def table(execution: Execution, *, reaching: bool) -> str:
    """The file's text; empty without any interval. Times count from the execution's start.

    `reaching` adds the columns of the lowest and highest throughput of joined intervals, as all executions of
    a run have the same columns.
    """
    intervals = Intervals.of(execution.measured.intervals)
    if not len(intervals):
        return ""
    columns = intervals.columns()
    start, duration, rate = (columns[name] for name in ("start", "duration", "rate"))
    began_s = execution.measured.began_s
    texts: dict[str, Sequence[str]] = {
        "t_s": _decimals(start), "mono_ns": _integers(start * 1e9), "duration_s": _decimals(duration),
        "phase": ["measure"] * len(start), "operation": [TRANSACTION] * len(start), "kind": ["transaction"] * len(start),
        "succeeded": _integers(rate * duration), "failed": _integers(columns["failed"]), "throughput_per_s": _decimals(rate),
        **{f"response_{key}": _decimals(column) for key, column in columns.items() if key not in UNJOINED},
    }  # fmt: skip
    if began_s is not None:
        instants = np.rint((start + began_s) * 1e6).astype(np.int64).astype("datetime64[us]")
        texts["utc"] = [f"{instant}Z" for instant in np.datetime_as_string(instants).tolist()]
    if reaching:
        for name, key in zip(REACH_COLUMNS, ("lowest", "highest"), strict=True):
            texts[name] = _decimals(columns.get(key, rate))
    names = (*INTERVAL_COLUMNS, *(REACH_COLUMNS if reaching else ()))
    empty = [""] * len(start)
    rows = zip(*(texts.get(name, empty) for name in names), strict=True)
    return "".join(f"{','.join(row)}\n" for row in (names, *rows))


def _integers(values: Numbers) -> list[str]:
    """Rounded numbers as text; empty where missing."""
    return ["" if value != value else f"{value:.0f}" for value in np.rint(values).tolist()]


def _decimals(values: Numbers) -> list[str]:
    """Numbers as text with at most `_DIGITS` digits behind the point; empty where missing."""
    texts = map(repr, np.round(values, _DIGITS).tolist())
    return [
        "" if text == "nan" else text if "e" not in text else f"{float(text):.{_DIGITS}f}" for text in texts
    ]

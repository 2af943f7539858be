"""What a server's sessions waited for: over the time of a trial, and at each treatment.

Sessions are looked at at regular instants (active session history). The mean number of active sessions found in a
state is the share of time spent in it, times the sessions: Little's law read backwards. Looks are instants, so a wait
that takes a thousandth of the time needs thousands of looks to be known well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import polars as pl

from loadcell.analysis.treatments import Treatment

#: What a session does that waits for nothing.
RUNNING = "CPU"
#: More kinds than this cannot be told apart by colour; what is left is put together.
MOST_KINDS = 7
_NAME = pl.when(pl.col("wait_event_type") == RUNNING).then(pl.lit(RUNNING)).otherwise(
    pl.col("wait_event_type") + ": " + pl.col("wait_event")
)  # fmt: skip


@dataclass(frozen=True)
class Waited:
    """One treatment's sessions, over all trials that count: `active` on average, and of these how many in each wait.

    `looks` is how many instants that rests on; `waits` is sorted, the most frequent first. `idle_in_transaction` are
    sessions that wait for their client in the middle of a transaction, and are not active.
    """

    treatment: Treatment
    looks: int
    active: float
    idle_in_transaction: float
    waits: Mapping[str, float]

    def share(self, name: str) -> float:
        """Of the active sessions' time, the part spent in this."""
        return self.waits.get(name, 0.0) / self.active if self.active else 0.0


def named(waits: pl.DataFrame) -> pl.DataFrame:
    """The frame with `name`: `CPU`, or `Lock: transactionid`."""
    return waits.with_columns(_NAME.alias("name"))


def kinds(waits: pl.DataFrame) -> list[str]:
    """The names that matter most over all trials, running first; at most `MOST_KINDS`."""
    if waits.is_empty():
        return []
    totals = named(waits).group_by("name").agg(pl.col("sessions").sum())
    names = totals.sort("sessions", "name", descending=[True, False])["name"].to_list()
    first = [RUNNING] if RUNNING in names else []
    return [*first, *(name for name in names if name != RUNNING)][:MOST_KINDS]


def over_time(waits: pl.DataFrame, looks: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    """`trial`, `t_s`, a column `w0`, `w1` ... for each of `names`, and `rest`: mean active sessions.

    `looks` (the monitor's own samples: `trial`, `t_s`, `looks`) has the instants at which nobody waited, too.
    """
    base = looks.filter(pl.col("looks") > 0).select("trial", "t_s", "looks")
    if waits.is_empty():
        return base.drop("looks")
    columns = {name: f"w{number}" for number, name in enumerate(names)}
    column = pl.col("name").replace_strict(columns, default="rest", return_dtype=pl.String)
    summed = (
        named(waits)
        .with_columns(column.alias("column"))
        .group_by("trial", "t_s", "column")
        .agg(pl.col("sessions").sum())
        .pivot("column", index=["trial", "t_s"], values="sessions")
    )
    missing = [name for name in (*columns.values(), "rest") if name not in summed.columns]
    wide = summed.with_columns(pl.lit(0.0).alias(name) for name in missing)
    joined = base.join(wide, on=["trial", "t_s"], how="left").sort("trial", "t_s")
    return joined.select(
        "trial",
        "t_s",
        *(
            (pl.col(name).fill_null(0.0) / pl.col("looks")).alias(name)
            for name in (*columns.values(), "rest")
        ),
    )


def measured(frame: pl.DataFrame, treatments: Iterable[Treatment]) -> pl.DataFrame:
    """The samples inside the measurement of trials that count."""
    ends = {
        trial.name: trial.duration_s for treatment in treatments for trial in treatment.trials if trial.counts
    }
    return until(frame, ends).filter(pl.col("t_s") > 0)


def until(frame: pl.DataFrame, ends: Mapping[str, float | None]) -> pl.DataFrame:
    """The samples of these trials up to the end of each one's measurement."""
    if "t_s" not in frame.columns:
        return frame
    known = {trial: end_s for trial, end_s in ends.items() if end_s is not None}
    windows = pl.DataFrame(
        {"trial": list(known), "_end": list(known.values())}, schema={"trial": pl.String, "_end": pl.Float64}
    )
    joined = frame.join(windows, on="trial", how="inner", maintain_order="left")
    return joined.filter(pl.col("t_s") <= pl.col("_end")).drop("_end")


def by_treatment(
    waits: pl.DataFrame, looks: pl.DataFrame, treatments: Iterable[Treatment]
) -> tuple[Waited, ...]:
    """What each treatment's sessions waited for; treatments that were not looked at are left out."""
    treatments = tuple(treatments)
    if looks.is_empty():
        return ()
    idle = (pl.col("sessions_idle_in_transaction").fill_null(0.0) * pl.col("looks")).sum()
    per_look = (
        measured(looks, treatments).group_by("treatment").agg(pl.col("looks").sum(), idle.alias("idle"))
    )
    looked = {treatment: (count, total) for treatment, count, total in per_look.iter_rows()}
    sums: dict[str, dict[str, float]] = {}
    if not waits.is_empty():
        frame = named(measured(waits, treatments)).group_by("treatment", "name").agg(pl.col("sessions").sum())
        for treatment, name, sessions in frame.sort("sessions", "name", descending=[True, False]).iter_rows():
            sums.setdefault(treatment, {})[name] = sessions
    found = []
    for treatment in treatments:
        count, idle_sum = looked.get(treatment.id, (0, 0.0))
        if count:
            own = {name: sessions / count for name, sessions in sums.get(treatment.id, {}).items()}
            found.append(Waited(treatment, int(count), sum(own.values()), idle_sum / count, own))
    return tuple(found)

"""Little's law checked again for every trial, from its stored totals alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loadcell.analysis.trials import Trial
from loadcell.stats.littles_law import judge

#: Failures' own response times are not in the totals: above this share of them the law cannot be judged.
MOST_FAILED = 0.005


@dataclass(frozen=True)
class Law:
    """`expected` is the number of clients, or of requests under way, `found` is X (R + Z), in an open loop X
    R.

    `verdict` is ok, broken or unknown.
    """

    verdict: str
    expected: float | None = None
    found: float | None = None
    tolerance: float | None = None


def check(trial: Trial) -> Law:
    """Judge one trial by the law.

    A transaction is counted with its whole response time where it ends. What those in progress at the
    window's two ends had taken by then is in the record, and makes up for it.
    """
    if trial.groups:
        return _of_groups([check(group) for group in trial.groups.values()])
    if trial.open_loop is not None:
        expected = trial.open_loop.requests_mean
    elif trial.reported:
        return Law("unknown")
    else:
        expected = None if trial.clients is None else float(trial.clients)
    if not expected or not trial.duration_s:
        return Law("unknown", expected=expected if trial.open_loop else None)
    ended = trial.succeeded + trial.failed
    mean_ms, max_ms = ((trial.response or {}).get(key) for key in ("mean_ms", "max_ms"))
    if mean_ms is None or max_ms is None or not ended or trial.failed > MOST_FAILED * ended:
        return Law("unknown", expected=expected)
    spent_s, edges = ended * mean_ms / 1e3 + trial.edges_s, max_ms / 1e3 / trial.duration_s
    if trial.open_loop is not None:
        law = judge(expected, spent_s / trial.duration_s, edges / expected)
    else:
        law = judge(
            expected,
            (spent_s + trial.resting_s) / trial.duration_s,
            edges,
            pipeline=trial.pipeline,
            absent=trial.reconnecting_s / trial.duration_s,
        )
    return Law("ok" if law.holds else "broken", law.expected, law.measured, law.tolerance)


def _of_groups(laws: Sequence[Law]) -> Law:
    """For client groups it holds if it holds for each; numbers in the system add up."""
    verdicts = [law.verdict for law in laws]
    verdict = next((verdict_word for verdict_word in ("broken", "unknown") if verdict_word in verdicts), "ok")
    expected, measured, tolerance = (
        [value for value in values if value is not None]
        for values in zip(*((law.expected, law.found, law.tolerance) for law in laws), strict=True)
    )
    return Law(
        verdict,
        sum(expected) if len(expected) == len(laws) else None,
        sum(measured) if len(measured) == len(laws) else None,
        max(tolerance, default=None),
    )

"""Little's law checked again for every trial, from its stored totals alone.

In a closed loop each of N clients is always in a transaction, or rests, so `N = X (R + Z)` (Little 1961; the
interactive response-time law of Denning and Buzen 1978), X counting every transaction that ended. Where
clients send several at once, that is the least, and so many times it the most. X Z, the time that clients
rested by their own choice, is what the engine added up. In an open loop N is the time average of the requests
that were due and not answered, which the engine has counted for itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loadcell.analysis.open_loop import OpenLoop
from loadcell.analysis.trials import Trial

#: What clocks and rounding may hide; the edges of the window come on top.
TOLERANCE = 0.01
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
    """Hold the law against one trial.

    A transaction is counted with its whole response time where it ends. What those in progress at the
    window's two ends had taken by then is in the record, and makes up for it. A client that was between two
    transactions there, for at most as long as the longest took, is in none; nor is who had no connection at
    the end.
    """
    if trial.groups:
        return _of_groups([check(group) for group in trial.groups.values()])
    if trial.open_loop is not None:
        return _open(trial, trial.open_loop)
    if trial.reported or not trial.clients or not trial.duration_s:
        return Law("unknown")
    ended = trial.succeeded + trial.failed
    mean, longest = _times_s(trial)
    if mean is None or longest is None or not ended or trial.failed > MOST_FAILED * ended:
        return Law("unknown", expected=float(trial.clients))
    in_system = (ended * mean + trial.edges_s + trial.resting_s) / trial.duration_s
    tolerance = TOLERANCE + longest / trial.duration_s
    low = trial.clients * (1 - tolerance) - trial.reconnecting_s / trial.duration_s
    holds = low <= in_system <= trial.clients * (1 + tolerance) * trial.pipeline
    return Law("ok" if holds else "broken", float(trial.clients), in_system, tolerance)


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


def _open(trial: Trial, loop: OpenLoop) -> Law:
    """As in a closed loop, with what was due and not answered in the place of clients."""
    ended, expected = trial.succeeded + trial.failed, loop.requests_mean
    mean, longest = _times_s(trial)
    if mean is None or longest is None or not trial.duration_s or not expected or not ended:
        return Law("unknown", expected=expected)
    if trial.failed > MOST_FAILED * ended:
        return Law("unknown", expected=expected)
    in_system = (ended * mean + trial.edges_s) / trial.duration_s
    tolerance = TOLERANCE + longest / trial.duration_s / expected
    holds = abs(in_system - expected) <= tolerance * expected
    return Law("ok" if holds else "broken", expected, in_system, tolerance)


def _times_s(trial: Trial) -> tuple[float | None, float | None]:
    """The mean and the longest response time; None for what the record, another tool's perhaps, does not
    have.
    """
    mean, longest = ((trial.response or {}).get(key) for key in ("mean_ms", "max_ms"))
    return None if mean is None else mean / 1e3, None if longest is None else longest / 1e3

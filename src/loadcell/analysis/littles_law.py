"""Little's law held against every trial again, from its stored totals alone.

In a closed loop each of N clients is always in a transaction, or rests, so `N = X (R + Z)` (Little 1961; the interactive
response-time law of Denning and Buzen 1978), X counting every transaction that ended. X Z, the time that clients rested by
their own choice, is what the engine added up. In an open loop N is the time average of the requests that were due and not
answered, which the engine has counted for itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from loadcell.analysis.open_loop import OpenLoop
from loadcell.analysis.trials import Trial

#: What clocks and rounding may hide; the edges of the window come on top.
TOLERANCE = 0.01
#: Failures' own response times are not in the totals: above this share of them the law cannot be judged.
MOST_FAILED = 0.005


@dataclass(frozen=True)
class Law:
    """`expected` is the number of clients, or of requests under way, `found` is X (R + Z), in an open loop X R.

    `verdict` is ok, broken or unknown.
    """

    verdict: str
    expected: float | None = None
    found: float | None = None
    tolerance: float | None = None


def check(trial: Trial) -> Law:
    """Hold the law against one trial.

    A transaction is counted with its whole response time where it ends, so at the window's edges each client
    can add or lack a piece of one, none longer than the longest. Who had no connection at the end is in none.
    """
    if trial.open_loop is not None:
        return _open(trial, trial.open_loop)
    if trial.response is None or trial.duration_s is None or not trial.clients or not trial.duration_s:
        return Law("unknown")
    ended = trial.succeeded + trial.failed
    if not ended or trial.failed > MOST_FAILED * ended:
        return Law("unknown", expected=float(trial.clients))
    mean_s = trial.response["mean_ms"] / 1e3
    found = (ended * mean_s + trial.resting_s) / trial.duration_s
    tolerance = TOLERANCE + trial.response["max_ms"] / 1e3 / trial.duration_s
    low = trial.clients * (1 - tolerance) - trial.reconnecting_s / trial.duration_s
    holds = low <= found <= trial.clients * (1 + tolerance)
    return Law("ok" if holds else "broken", float(trial.clients), found, tolerance)


def _open(trial: Trial, loop: OpenLoop) -> Law:
    """Pieces are cut off those requests that were under way at either end; what waits is older than any answer was."""
    ended, expected = trial.succeeded + trial.failed, loop.requests_mean
    if trial.response is None or not trial.duration_s or not expected or not ended:
        return Law("unknown", expected=expected)
    if trial.failed > MOST_FAILED * ended:
        return Law("unknown", expected=expected)
    found = ended / trial.duration_s * trial.response["mean_ms"] / 1e3
    longest_s = max(trial.response["max_ms"] / 1e3, loop.overdue_s)
    tolerance = TOLERANCE + loop.edges * longest_s / trial.duration_s / expected
    holds = abs(found - expected) <= tolerance * expected
    return Law("ok" if holds else "broken", expected, found, tolerance)

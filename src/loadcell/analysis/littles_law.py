"""Little's law held against every trial again, from its stored totals alone.

In a closed loop each of N clients is always in a transaction, so `N = X R` (Little 1961; with think time 0 the
interactive response-time law of Denning and Buzen 1978), X counting every transaction that ended.
"""

from __future__ import annotations

from dataclasses import dataclass

from loadcell.analysis.trials import Trial

#: What rounding of times and the start of the load may hide; the edges of the window come on top.
TOLERANCE = 0.02
#: Failures' own response times are not in the totals: above this share of them the law cannot be judged.
MOST_FAILED = 0.005


@dataclass(frozen=True)
class Law:
    """`expected` is the number of clients, `found` is X R; `verdict` is ok, broken or unknown."""

    verdict: str
    expected: float | None = None
    found: float | None = None
    tolerance: float | None = None


def check(trial: Trial) -> Law:
    """Hold the law against one trial.

    A transaction is counted with its whole response time where it ends, so the window's two edges can each shift
    the sum by about one response time a client: `R / duration` of it, allowed for twice.
    """
    if trial.response is None or trial.duration_s is None or not trial.clients or not trial.duration_s:
        return Law("unknown")
    ended = trial.succeeded + trial.failed
    if not ended or trial.failed > MOST_FAILED * ended:
        return Law("unknown", expected=float(trial.clients))
    mean_s = trial.response["mean_ms"] / 1e3
    found = ended / trial.duration_s * mean_s
    tolerance = TOLERANCE + 2 * mean_s / trial.duration_s
    broken = abs(found - trial.clients) > tolerance * trial.clients
    return Law("broken" if broken else "ok", float(trial.clients), found, tolerance)

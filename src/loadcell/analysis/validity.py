"""Doubts about a trial's values: from its own checks, from its stored values checked again, and by Little's
law.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from loadcell.analysis.finding import Concern, Finding, FindingCode, Subject
from loadcell.analysis.trials import Trial
from loadcell.model.json import JsonObject
from loadcell.model.latency import contradiction, late_in_tail
from loadcell.model.message import Count, Message, MessageCode, Severity
from loadcell.plan.workload import text_of
from loadcell.stats.littles_law import judge

#: Failures' own response times are not in the totals: above this share of them the law cannot be judged.
MOST_FAILED = 0.005


@dataclass(frozen=True)
class Law:
    """`expected` is the number of clients, or of requests under way, `measured` is X (R + Z), in an open loop
    X R.

    `verdict` is ok, broken or unknown.
    """

    verdict: str
    expected: float | None = None
    measured: float | None = None
    tolerance: float | None = None


def littles_law(trial: Trial) -> Law:
    """Judge one trial by the law.

    A transaction is counted with its whole response time where it ends. What those in progress at the
    window's two ends had taken by then is in the record, and makes up for it.
    """
    if trial.groups:
        return _of_groups([littles_law(group) for group in trial.groups.values()])
    if trial.open_loop is not None:
        expected = trial.open_loop.requests_mean
    elif trial.reported or not trial.is_bounded:
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
        for values in zip(*((law.expected, law.measured, law.tolerance) for law in laws), strict=True)
    )
    return Law(
        verdict,
        sum(expected) if len(expected) == len(laws) else None,
        sum(measured) if len(measured) == len(laws) else None,
        max(tolerance, default=None),
    )


#: The check that knows which processes had no part in a trial; a sentence names that many of them.
OTHERS, MOST_NAMED = "other-processes", 3
#: The check that notes the faults of a plan. They are the purpose of the run, and no warning.
_PLANNED = "faults"
#: Its detail names a process with its number behind it, which is another one in each trial.
_NUMBER = re.compile(r" \(\d+\)$")

# The checks of every trial; verifications and unknown ones are not among them.
for _name in (
    "littles-law", "counting-identity", "client-limit", "server-counters", "intervals-complete", "steal",
    "clock-step", "neighbour", "server-lock", "pacing", "backlog", "percentiles", "swap", "throttled", OTHERS,
    "client-waiting", "client-paused", "sampling-gap", "resource-window", "affinity", "direct-io", "ports",
    "tool-output", "tool-files", "tool-groups", "streams", "in-memory", "printed-totals", "slowed",
    "faults", "fault-not-applied", "fault-late", "fault-remains", "target-down",
):  # fmt: skip
    MessageCode(f"check-title.{_name}")
    MessageCode(f"check-name.{_name}")
    MessageCode(f"advice.{_name}")
OTHER_CHECK, OTHER_ADVICE = MessageCode("check-name.other", name=str), MessageCode("advice.other")
OTHER_PROCESSES_NAMED = MessageCode("check-name.other-processes.named", names=list)
CHECK_UNKNOWN = FindingCode(
    "found.check.unknown", Subject.CHECKS, "caution", (Concern.TRUST, 20), check=str, count=Count, of=Count
)
CHECK = FindingCode(
    "found.check.advice", Subject.CHECKS, "caution", (Concern.TRUST, 20), advice=Message, check=str,
    count=Count, of=Count,
)  # fmt: skip


@dataclass(frozen=True)
class Doubt:
    """One check that did not succeed: `broken` (the values are wrong) or only noticed, with its evidence."""

    name: str
    broken: bool
    detail: JsonObject


def doubts(trial: Trial) -> tuple[Doubt, ...]:
    """Every doubt about one trial, each check once.

    Little's law, the order of percentiles and the client's lateness are checked with the stored totals once
    more: old records, and those of other tools, were never checked. Of a system under a profiler only the
    order of percentiles is.
    """
    doubted = {
        check.name: Doubt(check.name, check.verdict == "broken", check.detail)
        for check in trial.checks
        if check.verdict in {"noticed", "broken"}
    }
    law = littles_law(trial)
    if law.verdict == "broken" and not trial.examined:
        doubted.setdefault(
            "littles-law", Doubt("littles-law", True, {"expected": law.expected, "found": law.measured})
        )
    wrong = contradiction(trial.response) if trial.response else {}
    if wrong:
        doubted.setdefault("percentiles", Doubt("percentiles", not trial.reported, wrong))
    late = late_in_tail(trial.open_loop.pacing if trial.open_loop else None, trial.response)
    if late and not trial.examined:
        doubted.setdefault("pacing", Doubt("pacing", False, late))
    return tuple(doubted.values())


def check_name(name: str) -> Message:
    """Name of a check; the code of an unknown one."""
    return text_of("check-name", name) or OTHER_CHECK(name=name)


def check_advice(name: str) -> Message:
    """Advice where a check noticed something."""
    return text_of("advice", name) or OTHER_ADVICE()


def findings(trials: Sequence[Trial]) -> Iterator[Finding]:
    """A sentence a check, with where it was noticed and what to do."""
    noticed: dict[str, list[str]] = {}
    used: dict[str, float] = {}
    broken: set[str] = set()
    for trial in trials:
        for doubt in doubts(trial):
            if doubt.name == _PLANNED:
                continue
            noticed.setdefault(doubt.name, []).append(trial.name)
            if doubt.broken:
                broken.add(doubt.name)
            if doubt.name == OTHERS:
                _gather(doubt.detail, used)
    ran = sum(trial.status != "not-run" for trial in trials)
    for name, where in noticed.items():
        severity: Severity = "problem" if name in broken else "caution"
        message = check_name(name)
        if name == OTHERS and used:
            busiest = sorted(used, key=lambda process: -used[process])[:MOST_NAMED]
            message = OTHER_PROCESSES_NAMED(names=tuple(busiest))
        yield (CHECK if text_of("check-name", name) else CHECK_UNKNOWN).finding(
            tuple(where), severity, count=len(where), of=ran, check=message, advice=check_advice(name)
        )


def _gather(detail: JsonObject, used: dict[str, float]) -> None:
    """The most that each program above the check's limit used in any trial, in cores."""
    cores, limit = detail.get("cores"), detail.get("limit") or 0.0
    for process, most in cores.items() if isinstance(cores, Mapping) else ():
        name = _NUMBER.sub("", str(process))
        if most > limit:
            used[name] = max(most, used.get(name, 0.0))

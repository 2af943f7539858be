"""Doubts about a trial's values: from its own checks, and from its stored values checked again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loadcell.analysis import littles_law
from loadcell.analysis.finding import Finding
from loadcell.analysis.trials import CHECKS, Trial
from loadcell.model.latency import contradiction
from loadcell.model.message import Argument, Message

#: The check that knows which processes had no part in a trial; a sentence names so many of them.
OTHERS, MOST_NAMED = "other-processes", 3
#: Its detail names a process with its number behind it, which is another one in each trial.
_NUMBER = re.compile(r" \(\d+\)$")


@dataclass(frozen=True)
class Doubt:
    """One check that did not succeed: `broken` (the values are wrong) or only noticed, with its evidence."""

    name: str
    broken: bool
    detail: Mapping[str, Any]


def doubts(trial: Trial) -> tuple[Doubt, ...]:
    """Every doubt about one trial, each check once.

    Little's law and the order of percentiles are held against the stored totals once more: old records, and
    those of other tools, were never held against them.
    """
    doubted = {
        check.name: Doubt(check.name, check.verdict == "broken", check.detail)
        for check in trial.checks
        if check.verdict in {"noticed", "broken"}
    }
    law = littles_law.check(trial)
    if law.verdict == "broken":
        doubted.setdefault(
            "littles-law", Doubt("littles-law", True, {"expected": law.expected, "found": law.found})
        )
    wrong = contradiction(trial.response) if trial.response else {}
    if wrong:
        doubted.setdefault("percentiles", Doubt("percentiles", not trial.reported, wrong))
    return tuple(doubted.values())


def findings(trials: Sequence[Trial]) -> Iterator[Finding]:
    """A sentence a check, with where it was noticed and what to do."""
    noticed: dict[str, list[str]] = {}
    used: dict[str, float] = {}
    broken: set[str] = set()
    for trial in trials:
        for doubt in doubts(trial):
            noticed.setdefault(doubt.name, []).append(trial.name)
            if doubt.broken:
                broken.add(doubt.name)
            if doubt.name == OTHERS:
                _gather(doubt.detail, used)
    for name, where in noticed.items():
        params: dict[str, Argument] = {"count": len(where)}
        if name in CHECKS:
            check = Message(f"check-name.{name}")
            if name == OTHERS and used:
                busiest = sorted(used, key=lambda process: -used[process])[:MOST_NAMED]
                check = Message("check-name.other-processes.named", {"names": tuple(busiest)})
            params |= {"check": check, "advice": Message(f"advice.{name}")}
            phrase = Message("found.check.advice", params)
        else:
            params |= {"check": Message("check-name.other", {"name": name})}
            phrase = Message("found.check", params)
        yield Finding("checks", phrase.rated("problem" if name in broken else "caution"), tuple(where))


def _gather(detail: Mapping[str, Any], used: dict[str, float]) -> None:
    """The most that each program above the check's limit used in any trial, in cores."""
    cores, limit = detail.get("cores"), detail.get("limit") or 0.0
    for process, most in cores.items() if isinstance(cores, Mapping) else ():
        name = _NUMBER.sub("", str(process))
        if most > limit:
            used[name] = max(most, used.get(name, 0.0))

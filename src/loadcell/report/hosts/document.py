"""Baselines and two machines as plain JSON."""

from __future__ import annotations

from typing import Any

from loadcell.analysis.hosts.compare import Times
from loadcell.analysis.hosts.hypothesis import Candidate, Hypothesis
from loadcell.report.hosts.compared import Compared
from loadcell.report.hosts.read import Source
from loadcell.report.hosts.remarks import findings
from loadcell.report.texts import Texts


def baseline(source: Source, lang: str) -> dict[str, Any]:
    """A machine with its scores: `loadcell compare` takes it, as it takes the run."""
    texts = Texts(lang)
    return {
        "schema": 1,
        "host": dict(source.machine.host),
        "findings": [
            {**finding.document(), "text": texts.say(finding.phrase)} for finding in findings(source, texts)
        ],
        "scores": [score.document() for score in source.machine.scores],
        "run": source.path.name,
    }


def document(found: Compared, lang: str = "en") -> dict[str, Any]:
    """Two machines: facts, ratios, and what workloads follow."""
    texts = Texts(lang)
    return {
        "what": "hosts",
        "machines": [
            {"label": source.machine.label, "path": str(source.path)} for source in found.sources
        ],
        "least_effect": found.machines.least_effect,
        "facts": [
            {"key": fact.key, "values": list(fact.values), "differs": fact.differs, "ratio": fact.times}
            for fact in found.machines.facts
        ],
        "rows": [
            {
                "id": row.score.id, "figure": row.score.figure, "higher_is_better": row.score.higher_is_better,
                "medians": [one.median for one in row.scores], "values": [list(one.values) for one in row.scores],
                **_times(row.times), "p": row.effect.p, "adjusted_p": row.adjusted_p,
                "verdict": row.verdict.word, "reason": row.verdict.reason,
            }
            for row in found.machines.rows
        ],
        "alone": [
            {"machine": found.machines.machines[place].label, "id": score.id}
            for place, score in found.machines.alone
        ],
        "workloads": [_hypothesis(one.hypothesis) for one in found.workloads],
        "findings": [
            {**finding.document(), "text": texts.say(finding.phrase)} for finding in found.findings()
        ],
    }  # fmt: skip


def _times(times: Times) -> dict[str, Any]:
    """As often as fast; `interval` where there are repeats enough, else the `range` of those that were made."""
    ends = None if times.low is None else [times.low, times.high]
    return {
        "times": times.value,
        "interval": ends if times.sure else None,
        "range": None if times.sure else ends,
    }


def _hypothesis(found: Hypothesis) -> dict[str, Any]:
    return {
        "workload": found.workload.name,
        **_times(found.workload.times),
        "differs": found.differs,
        "hypothesis": [one.score.id if one.score else one.resource for one in found.of("near")]
        if found.differs
        else [],
        "candidates": [_candidate(one) for one in found.candidates],
    }


def _candidate(one: Candidate) -> dict[str, Any]:
    return {
        "resource": one.resource, "id": one.score.id if one.score else None, **_times(one.times),
        "standing": one.standing, "apart": one.apart, "overlap": one.overlap, "share": one.share,
    }  # fmt: skip

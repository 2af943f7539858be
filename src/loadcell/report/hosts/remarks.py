"""What is to be said of a machine and of the run that measured it: no charts are needed for it."""

from __future__ import annotations

from collections.abc import Iterator

from loadcell.analysis.hosts.names import score_name
from loadcell.analysis.phrase import Finding, Phrase
from loadcell.host import remarks
from loadcell.report.hosts.read import Source

#: Repeats that lie further apart than this are worth a word: the machine was not at rest, or is shared.
WIDE = 0.1


def findings(source: Source) -> list[Finding]:
    """What hurts measurements on the machine, and what was found while it was measured."""
    return [*_of_run(source), *remarks.findings(source.machine.host)]


def _of_run(source: Source) -> Iterator[Finding]:
    stored, machine = source.run, source.machine
    if stored is None:
        return
    planned = max(len(stored.planned), len(stored.trials))
    good = sum(trial.get("status") == "ok" for trial in stored.trials)
    if good < planned:
        yield Finding("hosts", "problem", Phrase("hosts.found.incomplete", {"count": planned - good, "of": planned}))  # fmt: skip
    wide = sorted(
        (one for one in machine.scores if (one.repeats.spread or 0) > WIDE), key=lambda one: -(one.repeats.spread or 0)
    )  # fmt: skip
    if wide:
        params = {
            "count": len(wide), "wide_share": WIDE, "worst": score_name(wide[0]), "most_share": wide[0].repeats.spread or 0,
        }  # fmt: skip
        yield Finding("hosts", "caution", Phrase("hosts.found.wide", params))

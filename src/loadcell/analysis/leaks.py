"""Memory that servers under valgrind had lost when they ended: the result of such trials."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loadcell.analysis.finding import Concern, Finding, FindingCode, Subject
from loadcell.model.message import Bytes, Count
from loadcell.model.trial_record import TrialRecord

if TYPE_CHECKING:
    from loadcell.analysis.trials import Trial

LOST = FindingCode(
    "found.lost", Subject.MEMORY, "caution", (Concern.ANSWER, 190), definite_bytes=Bytes,
    indirect_bytes=Bytes, possible_bytes=Bytes,
)  # fmt: skip
LOST_NOTHING = FindingCode("found.lost.nothing", Subject.MEMORY, "good", (Concern.ANSWER, 190), count=Count)


@dataclass(frozen=True)
class Lost:
    """Bytes by memcheck's kinds: nothing points to them, only what is itself lost does, or something points
    into them.
    """

    definite: int
    indirect: int
    possible: int


def from_record(record: TrialRecord) -> Lost | None:
    """Memory that the server of one trial lost; None where it was not examined."""
    if record.memory is None:
        return None
    return Lost(**{kind: record.memory.lost[kind].bytes for kind in ("definite", "indirect", "possible")})


def findings(trials: Sequence[Trial]) -> Iterator[Finding]:
    """One sentence: the most that a trial's server lost, or that none lost anything."""
    looked = [(trial.name, trial.lost) for trial in trials if trial.lost is not None]
    if not looked:
        return
    name, most = max(looked, key=lambda pair: (pair[1].definite, pair[1].indirect, pair[1].possible))
    if not (most.definite or most.indirect or most.possible):
        yield LOST_NOTHING.finding(count=len(looked))
        return
    # The limit is the plan's: `expect` has its verdict.
    yield LOST.finding(
        (name,),
        definite_bytes=most.definite,
        indirect_bytes=most.indirect,
        possible_bytes=most.possible,
    )

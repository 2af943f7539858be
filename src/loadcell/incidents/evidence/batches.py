"""Memory by the levels of a numeric factor: of batches, for example."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from loadcell.incidents.evidence.base import Evidence


@dataclass(frozen=True, slots=True)
class BatchTrial:
    """Memory of a trial. `peak_bytes` is that of the live set, or of the processes; None if unknown.

    `out_of_memory`: the trial ended for want of memory. `is_spiral`: it had a spiral of full collections.
    `reason` is why it ended.
    """

    name: str
    peak_bytes: int | None = None
    full_collections: int | None = None
    out_of_memory: bool = False
    is_spiral: bool = False
    reason: str = ""

    @property
    def is_in_trouble(self) -> bool:
        """True if memory was too small."""
        return self.out_of_memory or self.is_spiral


@dataclass(frozen=True, slots=True)
class BatchLevel:
    """A level of the factor, as a number, with its trials."""

    size: float
    trials: tuple[BatchTrial, ...]

    @property
    def peaks_bytes(self) -> tuple[int, ...]:
        """Known peaks."""
        return tuple(trial.peak_bytes for trial in self.trials if trial.peak_bytes is not None)

    @property
    def peak_bytes(self) -> int | None:
        """Largest peak."""
        return max(self.peaks_bytes, default=None)

    @property
    def full_collections(self) -> int | None:
        """Largest number of full collections of a trial."""
        counts = [trial.full_collections for trial in self.trials if trial.full_collections is not None]
        return max(counts, default=None)

    @property
    def troubled(self) -> tuple[BatchTrial, ...]:
        """Trials whose memory was too small."""
        return tuple(trial for trial in self.trials if trial.is_in_trouble)


@dataclass(frozen=True)
class Batches(Evidence):
    """Levels of a numeric factor in ascending order; the other factors are at the same level in all.

    `fixed_bytes` is the part of the peaks that all levels have; `limit_bytes` the largest heap, or the limit
    of memory; None if unknown. Peaks are multiples of `resolution_bytes`.
    """

    kind: ClassVar[str] = "batches"

    factor: str
    levels: Sequence[BatchLevel]
    fixed_bytes: int = 0
    limit_bytes: int | None = None
    resolution_bytes: int = 1

    @property
    def trials(self) -> tuple[str, ...]:
        """Names of the trials that lacked memory."""
        return tuple(trial.name for level in self.levels for trial in level.troubled)

"""Contract of storage that loadcell makes under the data directory of a target, for the length of a run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from loadcell.plan.parts import Misfit
from loadcell.systems.subjects import Subject, SubjectAbilities

#: What precedes the names of its subjects: `storage.brick`.
SUBJECT_PREFIX = "storage."


@dataclass(frozen=True)
class StorageFacts:
    """Facts of a storage: its kind (`gluster`), its layout in words of the product, and its options."""

    kind: str
    product: str
    version: str
    layout: str
    hosts: int
    bricks: int
    replica: int
    options: Mapping[str, str]


class StorageKind(ABC):
    """Questions about a storage of a plan, before it is made."""

    @abstractmethod
    def misfits(self) -> Iterator[Misfit]:
        """Why it cannot be made on this machine; paths are those of its options."""

    @abstractmethod
    def subject_abilities(self) -> Mapping[str, SubjectAbilities]:
        """Its parts that faults can act on, by the names that plans use."""


class Storage(ABC):
    """A storage of a run. All methods but `remove` may raise TargetError."""

    @property
    @abstractmethod
    def mount(self) -> Path:
        """The directory that targets put their data in."""

    @abstractmethod
    def make(self) -> bool:
        """Make it, or bring back what ended, and wait until it is whole. True if it was mounted again."""

    @abstractmethod
    def subject(self, name: str) -> Subject:
        """A part of it, for a fault. Raises KeyError."""

    @abstractmethod
    def processes(self) -> list[int]:
        """Roots of its process trees on this machine; they stay the same until it is removed."""

    @abstractmethod
    def management(self) -> Mapping[str, Callable[[], None]]:
        """Operations of its management plane by name, for a probe; each raises TargetError, in seconds."""

    @abstractmethod
    def facts(self) -> StorageFacts:
        """Facts for the record."""

    @abstractmethod
    def remove(self) -> None:
        """Remove it with all data on it. Never raises."""


StorageT = TypeVar("StorageT", bound=Storage)


class Storages:
    """The storages of one run, by their directories: targets with equal options share one."""

    def __init__(self) -> None:
        self._made: dict[Path, Storage] = {}

    def get(self, directory: Path, make: Callable[[], Storage]) -> Storage:
        """The storage in a directory; a new one of `make` if there is none."""
        if directory not in self._made:
            self._made[directory] = make()
        return self._made[directory]

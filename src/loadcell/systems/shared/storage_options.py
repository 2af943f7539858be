"""Plan options of the storage that loadcell makes under a target's data: one key is its kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ConfigDict

from loadcell.model.message import MessageCode
from loadcell.plan.parts import Misfit, Options
from loadcell.systems.gluster.options import GlusterOptions

if TYPE_CHECKING:
    from loadcell.systems.base import TargetContext
    from loadcell.systems.shared.storage import Storage, StorageKind
    from loadcell.systems.subjects import SubjectAbilities

STORAGE_WITH_DATA = MessageCode("storage.with-data")
STORAGE_KEEP_DATA = MessageCode("storage.keep-data")


class StorageOptions(Options, use_attribute_docstrings=True):
    """Storage that loadcell makes for the run, mounts, and removes (root only)."""

    model_config = ConfigDict(extra="forbid", frozen=True, title="storage")

    gluster: GlusterOptions
    """A GlusterFS volume on hosts in namespaces of this machine."""

    @property
    def kind(self) -> StorageKind:
        """Questions about the storage before it is made."""
        from loadcell.systems.gluster.storage import GlusterKind  # noqa: PLC0415 - few plans have it

        return GlusterKind(self.gluster)

    def storage(self, directory: Path, context: TargetContext) -> Storage:
        """The storage in a directory of the run, not made."""
        from loadcell.systems.gluster.storage import Gluster  # noqa: PLC0415 - few plans have it

        return Gluster(self.gluster, directory, context.log, context.note)


def storage_misfits(storage: StorageOptions | None) -> Iterator[Misfit]:
    """Why the storage of a target cannot be made on this machine."""
    for misfit in () if storage is None else storage.kind.misfits():
        yield Misfit(".".join(filter(None, ("storage", misfit.path))), misfit.message)


def storage_abilities(storage: StorageOptions | None) -> Mapping[str, SubjectAbilities]:
    """The parts of a target's storage that faults can act on."""
    return {} if storage is None else storage.kind.subject_abilities()

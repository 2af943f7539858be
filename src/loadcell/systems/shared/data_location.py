"""The place of a target's data: a directory, an image, a storage made for the run, or the work directory."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from loadcell.plan.problems import SettingError
from loadcell.systems.base import TargetContext
from loadcell.systems.shared.disk_image import KEEP_DATA_IN_IMAGE, KEEP_DATA_WITHOUT_DATA, Image, MountedImage
from loadcell.systems.shared.storage import Storage
from loadcell.systems.shared.storage_options import (
    STORAGE_KEEP_DATA,
    STORAGE_WITH_DATA,
    StorageOptions,
)


def check_location(data: str | Image | None, storage: StorageOptions | None, *, keep_data: bool) -> None:
    """Raise SettingError for two places, or where data that are to outlive the run cannot: without a
    directory, in an image, or on storage of the run.
    """
    if storage is not None and data is not None:
        raise SettingError(STORAGE_WITH_DATA())
    if not keep_data:
        return
    if storage is not None:
        raise SettingError(STORAGE_KEEP_DATA())
    if data is None:
        raise SettingError(KEEP_DATA_WITHOUT_DATA())
    if isinstance(data, Image):
        raise SettingError(KEEP_DATA_IN_IMAGE())


@dataclass(frozen=True)
class DataLocation:
    """The parent directory of a target's data; without `data` and `options` it is the run's work directory.

    `kind` is the target as the plan names it, for advice.
    """

    data: str | Image | None
    options: StorageOptions | None
    context: TargetContext
    kind: str

    @property
    def parent(self) -> Path:
        if (storage := self.storage) is not None:
            return storage.mount
        if (image := self._image) is not None:
            return image.mount
        return Path(str(self.data)).expanduser().absolute() if self.data else self.context.work

    def make(self) -> bool:
        """Make and mount it; True if files that were open on it are lost. Raises TargetError."""
        if (storage := self.storage) is not None:
            return storage.make()
        if (image := self._image) is not None:
            image.make()
        return False

    def remove(self) -> None:
        """Unmount and remove what was made."""
        if (storage := self.storage) is not None:
            storage.remove()
        if (image := self._image) is not None:
            image.remove()

    @property
    def storage(self) -> Storage | None:
        """The storage made for the run: equal options share one."""
        options = self.options
        if options is None:
            return None
        words = json.dumps(options.model_dump(mode="json"), sort_keys=True)
        directory = self.context.work / f"storage-{hashlib.sha256(words.encode()).hexdigest()[:8]}"
        return self.context.storages.get(directory, lambda: options.storage(directory, self.context))

    @property
    def _image(self) -> MountedImage | None:
        return MountedImage(self.data, self.context.work, self.kind) if isinstance(self.data, Image) else None

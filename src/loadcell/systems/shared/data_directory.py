"""Checks of the `data` of a target before a run: a directory, or a directory for a disk image."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

from loadcell.linux.time_limits import ask
from loadcell.model.message import Message
from loadcell.plan.parts import Misfit
from loadcell.systems.base import (
    HOME_NO_DIRECTORY,
    HOME_NOT_USABLE,
    IMAGE_NO_DIRECTORY,
    missing_directory,
)
from loadcell.systems.shared.disk_image import Image


def data_misfits(data: str | Image | None, kind: str) -> Iterator[Misfit]:
    """Misfits of a target's `data`: a directory that loadcell makes where it is missing, or an image's,
    which must be there.
    """
    if isinstance(data, Image):
        image_path = Path(data.image).expanduser()
        yield from missing_directory("data.image", image_path, IMAGE_NO_DIRECTORY(path=image_path, kind=kind))
    elif data:
        path = Path(data).expanduser().absolute()
        wrong = ask({"wrong": lambda: _unmakeable(path, kind)}).values.get("wrong")
        if wrong is not None:
            yield Misfit("data", wrong)


def _unmakeable(path: Path, kind: str) -> Message | None:
    """Why the directory neither is there nor can be made."""
    above = next(ancestor for ancestor in (path, *path.parents) if os.path.exists(ancestor))  # noqa: PTH110  (Path's raises where it may not look)
    if not above.is_dir():
        return HOME_NO_DIRECTORY(path=above, option=f"`target.{kind}.data`")
    if above != path and not os.access(above, os.W_OK | os.X_OK, effective_ids=True):
        return HOME_NOT_USABLE(path=above, said=os.strerror(errno.EACCES), kind=kind)
    return None

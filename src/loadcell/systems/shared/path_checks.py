"""Directories of this machine that a plan names: whether they can be had, before anything is run.

A file system that does not answer in time is no mistake of the plan: the run finds out.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from loadcell.linux.time_limits import ask
from loadcell.model.message import Message
from loadcell.plan.parts import Misfit
from loadcell.systems.messages import HOME_NO_DIRECTORY, HOME_NOT_USABLE, IMAGE_NO_DIRECTORY


def there(key: str, path: Path, missing: Message) -> Iterator[Misfit]:
    """Misfits of a directory that must exist; `missing` is the message of the run for it."""
    if ask({"there": path.is_dir}).values.get("there") is False:
        yield Misfit(key, missing)


def of_data(data: Any, kind: str) -> Iterator[Misfit]:
    """The same of a target's `data`: a directory that loadcell makes where it is missing, or an image's,
    which must be there.
    """
    if (image := getattr(data, "image", None)) is not None:
        image_path = Path(image).expanduser()
        yield from there("data.image", image_path, IMAGE_NO_DIRECTORY(path=image_path, kind=kind))
    elif isinstance(data, str) and data:
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

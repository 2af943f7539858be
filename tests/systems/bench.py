"""Targets of one kind that share a work directory, as the targets of one run do."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from loadcell.model.message import Message
from loadcell.systems.base import Target, TargetContext

Kind = TypeVar("Kind", bound=Target[Any])


@dataclass
class Bench(Generic[Kind]):
    """Maker of targets; `make` builds one from a context and options.

    `env` holds the secrets that options name, `log` what the targets reported, `notes` what they told
    the user, `made` all of them.
    """

    work: Path
    make: Callable[..., Kind]
    env: dict[str, str] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    notes: list[Message] = field(default_factory=list)
    made: list[Kind] = field(default_factory=list)

    def reveal(self, text: str) -> str:
        for name, value in self.env.items():
            text = text.replace(f"${{env:{name}}}", value)
        return text

    def target(self, **options: Any) -> Kind:
        context = TargetContext(self.work, self.log.append, self.reveal, note=self.notes.append)
        self.made.append(self.make(context, **options))
        return self.made[-1]

    def up(self, **options: Any) -> Kind:
        target = self.target(**options)
        target.up()
        return target


def open_directory() -> Path:
    """A directory that other users can reach; pytest's own are closed to them."""
    path = Path(tempfile.mkdtemp(prefix="loadcell-test-", dir="/var/tmp"))
    path.chmod(0o755)
    return path


@contextmanager
def temporary(make: Callable[..., Kind]) -> Iterator[Bench[Kind]]:
    """A bench in a dedicated directory; its targets and the directory are removed at the end."""
    directory = open_directory()
    bench = Bench(directory / "work", make)
    bench.work.mkdir(mode=0o755)
    yield bench
    for target in bench.made:
        target.down()
        target.destroy()
    shutil.rmtree(directory, ignore_errors=True)

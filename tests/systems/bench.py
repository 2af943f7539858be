"""Targets of one kind that share a work directory, as the targets of one run do."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from loadcell.execution.executor import LoadHooks, LoadOrder, WorkerExecutor
from loadcell.model.load_result import Interval, LoadEvent, LoadResult
from loadcell.model.message import Message
from loadcell.plan.affinity import ANYWHERE, Pin
from loadcell.systems.base import DataSet, DataSpec, Endpoint, Target, TargetContext
from specifications import load_order

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

    def target(self, pin: Pin = ANYWHERE, **options: Any) -> Kind:
        context = TargetContext(self.work, self.log.append, self.reveal, pin=pin, note=self.notes.append)
        self.made.append(self.make(context, **options))
        return self.made[-1]

    def up(self, pin: Pin = ANYWHERE, **options: Any) -> Kind:
        target = self.target(pin, **options)
        target.up()
        return target


@dataclass
class LoadBench(Bench[Kind]):
    """A bench that also loads its targets by a worker process, as a run does.

    `workload` builds the workload from options, `data` its section of the order that makes the data set, with
    the seed `data_seed`. `load` has the fields of every load, `made_by` is the generator's module if that is
    not the engine.
    """

    workload: Callable[..., Any] = field(kw_only=True)
    data: Callable[[Any], dict[str, Any]] = field(kw_only=True)
    data_seed: int = field(kw_only=True)
    load: dict[str, Any] = field(kw_only=True)
    made_by: str | None = None

    def prepare(self, target: Kind, **options: Any) -> DataSet:
        """The data set of such a load, made by the worker where it has to be."""
        workload = self.workload(**options)

        def load(endpoint: Endpoint) -> int | None:
            order = self._order(endpoint, self.data(workload), self.data_seed)
            return WorkerExecutor().prepare(order, LoadHooks(120, on_output=self.log.append)).rows

        return target.prepare(DataSpec(workload.data()), load, will_change=workload.changes_data)

    def run(
        self,
        target: Kind,
        seed: int = 1,
        *,
        load: dict[str, Any] | None = None,
        kill: bool = False,
        **options: Any,
    ) -> LoadResult:
        """Run a load. With `kill` its process is killed as soon as it measures."""
        executor = WorkerExecutor()

        def on_event(event: LoadEvent) -> None:
            if kill and isinstance(event, Interval):
                executor.kill()

        order = self._order(target.endpoint(), self.workload(**options).engine(), seed, **(load or {}))
        return executor.run(order, LoadHooks(120, on_event=on_event, on_output=self.log.append))

    def _order(self, endpoint: Endpoint, workload: dict[str, Any], seed: int, **load: Any) -> LoadOrder:
        load = {**self.load, **load}
        spec = {"seed": seed, "target": endpoint.section(), "workload": workload, "load": load}
        return load_order(spec, self.made_by)


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

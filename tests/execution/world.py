"""A target and an executor that do nothing but say so: the order of a run's steps is tested without time
passing.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from loadcell.execution.executor import LoadHooks, LoadOrder, LoadStoppedError
from loadcell.execution.progress import Progress
from loadcell.execution.runner import Ended, Runner
from loadcell.execution.runner import Options as RunOptions
from loadcell.model.extensions import Capability
from loadcell.model.json import convert
from loadcell.model.load_result import Connected, LoadedData, LoadingProgress, LoadResult, read_event
from loadcell.plan.load import LoadedPlan, load_plan
from loadcell.plan.parts import Options, Parts
from loadcell.plan.secrets import Secrets
from loadcell.plan.workload import Ask, Condition, Workload
from loadcell.store.read import StoredRun, read_run
from loadcell.systems.base import (
    DataSet,
    DataSpec,
    Loader,
    Secret,
    ServerEndpoint,
    Target,
    TargetError,
    TargetFacts,
)
from loadcell.workloads import tpcc  # noqa: F401 - it declares the metrics of the workload here
from loadcell.workloads.tpcc import Tpcc

PLAN = """
target: {mock: {}}
workload: {work: {}}
load: {clients: 2, warmup: 1s, duration: 2s}
repeats: 1
order: as-written
expect: [errors == 0]
"""


@dataclass
class World:
    """Events of a run, and its intended failures.

    `log` is everything that was asked of target and executor, in order. `trouble` maps a step ("up",
    "prepare", "load 4", "describe", ...) to an exception or a callable that is raised or called when the step
    comes, each once, in order.
    """

    log: list[str] = field(default_factory=list)
    trouble: dict[str, list[BaseException | Callable[[], Any]]] = field(default_factory=dict)
    alive: bool = True
    results: dict[str, Callable[[dict[str, Any]], None]] = field(default_factory=dict)
    neighbours: Callable[[], list[int]] = list
    intruder: str | None = None
    #: transactions a second, by the number of clients
    per_s: Callable[[int], int] = lambda clients: 100 * clients
    #: what the workload verifies after its load; None: nothing
    conditions: list[Condition] | None = None

    def step(self, name: str) -> None:
        self.log.append(name)
        waiting = self.trouble.get(name) or self.trouble.get(name.partition(" ")[0])
        if waiting:
            action = waiting.pop(0)
            if isinstance(action, BaseException):
                raise action
            action()

    def fail(self, step: str, *actions: BaseException | Callable[[], Any]) -> None:
        self.trouble[step] = list(actions)

    def parts(self) -> Parts:
        world = self

        class MockOptions(Options):
            variant: str = "a"
            password: str | None = None
            fresh: bool = False

        class Mock(Target[MockOptions]):
            name: ClassVar[str] = "mock"
            offers = frozenset({Capability("mock")})
            summary = "nothing"
            Options = MockOptions

            def _say(self, step: str) -> None:
                world.step(f"{step} {self.options.variant}")

            def up(self) -> None:
                if self.options.password:
                    self.context.log(f"logging in with {self.context.secret(self.options.password)}")
                self._say("up")
                world.alive = True

            def prepare(self, spec: DataSpec, load: Loader, *, will_change: bool) -> DataSet:
                self._say("prepare")
                load(self.endpoint())
                return DataSet("f1", "loaded", 0.1)

            def endpoint(self) -> ServerEndpoint:
                secret = Secret(self.context.secret(self.options.password or ""))
                return ServerEndpoint("mock", "", 0, password=secret)

            def describe(self) -> TargetFacts:
                self._say("describe")
                return TargetFacts(server="mock", version="1")

            def alive(self) -> bool:
                return world.alive

            def intruder(self) -> str | None:
                return world.intruder

            def ask(self, question: str) -> list[tuple[Any, ...]]:
                world.step(f"ask {question}")
                return []

            def down(self) -> None:
                self._say("down")

            def destroy(self) -> None:
                self._say("destroy")

        class WorkOptions(Options):
            changes: bool = False

        class Work(Workload[WorkOptions]):
            name = "work"
            summary = "nothing"
            Options = WorkOptions
            needs = frozenset({Capability("mock")})

            def data(self) -> dict[str, Any] | None:
                return {"work": {}}

            @property
            def changes_data(self) -> bool:
                return self.options.changes

            def loading(self) -> dict[str, Any]:
                return {"work": {"workers": 3}}

            def engine(self) -> dict[str, Any]:
                return {"work": {}}

            verified = None if world.conditions is None else Tpcc.verified

            def figures(self, succeeded: Mapping[str, int], seconds: float) -> dict[str, float]:
                return {"tpmC": succeeded["transaction"] * 60 / seconds}

            def notes(self) -> tuple[str, ...]:
                return ("tpcc.unaudited",)

            def verify(self, ask: Ask) -> list[Condition]:
                ask("whether it is whole")
                return world.conditions or []

        return Parts(targets={"mock": Mock}, workloads={"work": Work})

    def plan(
        self, home: Path, text: str = PLAN, env: Mapping[str, str] | None = None, **more: Any
    ) -> LoadedPlan:
        path = home / "mock.yaml"
        path.write_text(text)
        return load_plan(path, self.parts(), env=env, **more)

    def run(
        self, home: Path, text: str = PLAN, env: Mapping[str, str] | None = None, **options: Any
    ) -> Ended:
        """Run a plan in `home`; the run's directory is `home/run` unless options say otherwise."""
        if "resume" not in options:
            options.setdefault("out", home / "run")
        runner = Runner(
            self.plan(home, text, env),
            self.parts(),
            RunOptions(**options),
            Progress(stream=(home / "progress.txt").open("a")),
            executor=FakeExecutor(self),
            secrets=Secrets(env or {}),
            work_home=home,
            neighbours=self.neighbours,
        )
        try:
            return runner.run()
        finally:
            runner.progress.stream.close()

    def stored(self, ended: Ended) -> StoredRun:
        return read_run(ended.path)


class FakeExecutor:
    """Says what it was asked, and answers with a perfect load: 100 transactions a second and client, unless
    the world has others.
    """

    def __init__(self, world: World) -> None:
        self.world = world

    def kill(self) -> None:
        self.world.log.append("kill")

    def prepare(self, order: LoadOrder, hooks: LoadHooks) -> LoadedData:
        assert order.specification()["workload"] == {"work": {"workers": 3}}
        self.world.step("fill")
        hooks.on_event(LoadingProgress(done_rows=5, total_rows=10))
        return LoadedData(0.1, rows=10)

    def run(self, order: LoadOrder, hooks: LoadHooks) -> LoadResult:
        spec = order.specification()
        clients = spec["load"]["clients"]
        hooks.on_event(Connected(clients=clients, took_ns=1000, **times(0)))
        self.world.step(f"load {clients}")
        if hooks.stop_asked():
            raise LoadStoppedError
        result = load(spec, lambda event: hooks.on_event(read_event(json.dumps(event))), self.world.per_s)
        change = self.world.results.get(f"load {clients}")
        if change is not None:
            change(result)
        return convert(LoadResult, result)


def times(at_ns: int) -> dict[str, int]:
    return {"mono_ns": time.monotonic_ns() + at_ns, "utc_ns": time.time_ns() + at_ns}


def load(
    spec: dict[str, Any],
    on_event: Callable[[dict[str, Any]], None],
    per_s: Callable[[int], int],
) -> dict[str, Any]:
    """A closed loop in which every transaction takes equally long: 10 ms with 100 transactions a second and
    client.
    """
    clients, seconds = spec["load"]["clients"], spec["load"]["duration_ns"] // 10**9
    now = times(0)
    item = per_s(clients)
    on_event({"type": "phase", "phase": "warmup", **now})
    on_event(interval("warmup", 0, now, item, clients))
    on_event({"type": "phase", "phase": "measure", **now})
    for index in range(seconds):
        on_event(interval("measure", index, now, item, clients))
    on_event({"type": "phase", "phase": "drain", **now})
    total = item * seconds
    took = figures(total, clients * 10**9 // item)
    return {
        "outcome": "completed",
        "window": {
            "start_mono_ns": now["mono_ns"],
            "start_utc_ns": now["utc_ns"],
            "duration_ns": seconds * 10**9,
        },
        "operations": [
            {
                "name": "transaction",
                "kind": "transaction",
                "attempted": total + clients,
                "carried_in": clients,
                "succeeded": total,
                "failed": 0,
                "in_flight": clients,
                "retried": 0,
                "response": took,
                "service": took,
                "failed_response": None,
            },
        ],
        "queries": {"total": total * 3, "read": total, "write": 0, "other": total * 2},
        "errors": [],
        "lifetime": {"transactions": total, "failed": 0, "queries": total * 3, "rows_changed": 0},
        "client": {
            "threads": [{"cpu_ns": 1, "wall_ns": 10, "busy": 0.1, "connections": clients, "requests": total}],
            "cpu_ns": 1,
            "max_rss_bytes": 1,
            "lateness": None,
            "connects": clients,
            "reconnects": 0,
            "reconnecting_ns": 0,
        },
        "hlog": [],
        "hlog_header": ["#[Histogram log format version 1.3]"],
    }


def interval(phase: str, index: int, now: dict[str, int], count: int, clients: int) -> dict[str, Any]:
    return {
        "type": "interval",
        "phase": phase,
        "index": index,
        "start_mono_ns": now["mono_ns"] + index * 10**9,
        "start_utc_ns": now["utc_ns"] + index * 10**9,
        "duration_ns": 10**9,
        "in_flight": clients,
        "connected": clients,
        "operations": [
            {
                "name": "transaction",
                "kind": "transaction",
                "started": count,
                "succeeded": count,
                "failed": 0,
                "retried": 0,
                "response": figures(count),
                "service": figures(count),
            }
        ],
        "hlog": ["Tag=transaction/response,0.000,1.000,10.0,HISTFAAAA"],
    }


def figures(count: int, each_ns: int = 10_000_000) -> dict[str, int]:
    names = ("mean", "min", "max", "p50", "p90", "p95", "p99", "p999", "p9999")
    return {"count": count, "stdev_ns": 0, **{f"{name}_ns": each_ns for name in names}}


def broken(finding: str, advice: str = "Mend it.") -> TargetError:
    return TargetError(finding, advice=advice)

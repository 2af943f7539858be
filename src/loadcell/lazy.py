"""Lazy modules: each module listed here is loaded at the first use of one of its names, not when it is
imported.

A command starts without the modules it does not use (altair alone takes half a second), and imports still
stand at the top of each file. Importers write `from package import module` and `module.name`; `from module
import name` loads it.
"""

from __future__ import annotations

import sys
import threading
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # these take twice as long to import as all else that `--help` needs
    from collections.abc import Sequence
    from importlib.abc import Loader, MetaPathFinder
else:
    Loader = MetaPathFinder = object

#: Modules, no packages: a submodule could be imported before its package is loaded.
LAZY = frozenset(
    {
        "loadcell.analysis.compare.metrics",
        "loadcell.analysis.history.changes",
        "loadcell.analysis.host_remarks",
        "loadcell.cli.adhoc.act",
        "loadcell.cli.check_report",
        "loadcell.cli.host_baseline",
        "loadcell.cli.language",
        "loadcell.cli.messages",
        "loadcell.design.estimate",
        "loadcell.design.order",
        "loadcell.execution.anonymise",
        "loadcell.execution.interrupts",
        "loadcell.execution.outcome",
        "loadcell.execution.progress",
        "loadcell.execution.progress_live",
        "loadcell.execution.resume",
        "loadcell.execution.runner",
        "loadcell.ingest.arrange",
        "loadcell.ingest.columns",
        "loadcell.ingest.base",
        "loadcell.ingest.text",
        "loadcell.ingest.inputs",
        "loadcell.ingest.messages",
        "loadcell.ingest.read",
        "loadcell.ingest.csv_table",
        "loadcell.ingest.write_run",
        "loadcell.linux.inventory",
        "loadcell.monitors.host",
        "loadcell.model.catalogue",
        "loadcell.model.json",
        "loadcell.model.latency",
        "loadcell.model.message",
        "loadcell.model.trial_record",
        "loadcell.parts",
        "loadcell.plan.load",
        "loadcell.plan.model",
        "loadcell.plan.paths",
        "loadcell.plan.problems",
        "loadcell.plan.ready",
        "loadcell.plan.schema",
        "loadcell.plan.secrets",
        "loadcell.plan.units",
        "loadcell.report.adhoc_summary",
        "loadcell.report.blocks",
        "loadcell.report.brief",
        "loadcell.report.build",
        "loadcell.report.comparison.build",
        "loadcell.report.comparison.charts",
        "loadcell.report.comparison.gather",
        "loadcell.report.context",
        "loadcell.report.evidence",
        "loadcell.report.history.build",
        "loadcell.report.history.chart",
        "loadcell.report.history.gather",
        "loadcell.report.host",
        "loadcell.report.hosts.charts",
        "loadcell.report.hosts.comparison",
        "loadcell.report.hosts.page",
        "loadcell.report.hosts.gather",
        "loadcell.report.prewarm",
        "loadcell.report.render.html",
        "loadcell.report.render.json",
        "loadcell.report.render.markdown",
        "loadcell.report.render.terminal",
        "loadcell.report.sections.reproduce",
        "loadcell.report.sections.summary",
        "loadcell.report.texts",
        "loadcell.stats.distributions",
        "loadcell.store.csv_tables",
        "loadcell.store.errors",
        "loadcell.store.find",
        "loadcell.store.frames",
        "loadcell.store.layout",
        "loadcell.store.query",
        "loadcell.store.read",
        "loadcell.systems.duckdb.load",
        "loadcell.systems.host.probe_server",
        "loadcell.systems.mysql.driver",
        "loadcell.systems.postgres.driver",
        "loadcell.systems.redis.client",
        "loadcell.workloads.kv",
        "loadcell.workloads.pgbench",
        "loadcell.workloads.sysbench",
    }
)
_LOCK = threading.RLock()
_pending: dict[str, Loader] = {}


class LazyModule(ModuleType):
    """A module that is loaded when a name is looked up that it does not have yet."""

    def __getattr__(self, name: str) -> object:
        """Load the module. Raises AttributeError, and what loading it raises."""
        load(self)
        if name in self.__dict__:
            return self.__dict__[name]
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name, obj=self)


class _LazyLoader(Loader):
    """Creates a module and leaves its execution to its first use."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return LazyModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        _pending[module.__name__] = self._loader


class _LazyFinder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in LAZY:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _LazyLoader(spec.loader)
        return spec


def load(*modules: ModuleType) -> None:
    """Load lazy modules now, by one thread at a time; a module that failed to load is tried again."""
    for module in modules:
        with _LOCK:
            loader = _pending.pop(module.__name__, None)
            if loader is not None:
                try:
                    loader.exec_module(module)
                except BaseException:
                    _pending[module.__name__] = loader
                    raise


def install() -> None:
    """Make the listed modules lazy from now on; once."""
    if not any(isinstance(finder, _LazyFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _LazyFinder())

"""Lazy modules: each module listed here is loaded at the first use of one of its names, not when it is
imported.

A command starts without the modules it does not use (altair alone takes half a second), and imports still
stand at the top of each file (ruff's rule PLC0415). Importers write `from package import module` and
`module.name`; `from module import name` loads it.
"""

from __future__ import annotations

import sys
from _thread import RLock
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
        "loadcell.analysis.capacity",
        "loadcell.analysis.compare.metrics",
        "loadcell.analysis.compare.percentiles",
        "loadcell.analysis.history",
        "loadcell.analysis.host_remarks",
        "loadcell.analysis.server",
        "loadcell.analysis.series",
        "loadcell.cli.adhoc.plan",
        "loadcell.cli.check_report",
        "loadcell.cli.doctor_live",
        "loadcell.cli.doctor_watch",
        "loadcell.cli.language",
        "loadcell.cli.messages",
        "loadcell.cli.output",
        "loadcell.design.estimate",
        "loadcell.design.order",
        "loadcell.execution.anonymise",
        "loadcell.execution.interrupts",
        "loadcell.execution.outcome",
        "loadcell.execution.progress",
        "loadcell.execution.progress_live",
        "loadcell.execution.resume",
        "loadcell.execution.runner",
        "loadcell.incidents.application_logs",
        "loadcell.incidents.event_spans",
        "loadcell.incidents.gc_logs",
        "loadcell.ingest.columns",
        "loadcell.ingest.base",
        "loadcell.ingest.text",
        "loadcell.ingest.inputs",
        "loadcell.ingest.read",
        "loadcell.ingest.csv_table",
        "loadcell.ingest.write_run",
        "loadcell.linux.inventory",
        "loadcell.linux.process",
        "loadcell.monitors.host",
        "loadcell.model.catalogue",
        "loadcell.model.engine_messages",
        "loadcell.model.json",
        "loadcell.model.latency",
        "loadcell.model.load_result",
        "loadcell.model.message",
        "loadcell.model.run_record",
        "loadcell.model.terminal",
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
        "loadcell.profilers.class_histogram",
        "loadcell.pytest_plugin.gate",
        "loadcell.pytest_plugin.messages",
        "loadcell.pytest_plugin.record",
        "loadcell.pytest_plugin.runs",
        "loadcell.pytest_plugin.sampling",
        "loadcell.pytest_plugin.table",
        "loadcell.pytest_plugin.tracing",
        "loadcell.pytest_plugin.wording",
        "loadcell.report.adhoc_summary",
        "loadcell.report.blocks",
        "loadcell.report.brief",
        "loadcell.report.build",
        "loadcell.report.charts.collections",
        "loadcell.report.charts.history",
        "loadcell.report.charts.log_entries",
        "loadcell.report.charts.style",
        "loadcell.report.comparison.build",
        "loadcell.report.comparison.charts",
        "loadcell.report.comparison.gather",
        "loadcell.report.context",
        "loadcell.report.history",
        "loadcell.report.host",
        "loadcell.report.hosts.charts",
        "loadcell.report.hosts.comparison",
        "loadcell.report.hosts.page",
        "loadcell.report.hosts.gather",
        "loadcell.report.publish",
        "loadcell.report.render.html",
        "loadcell.report.render.json",
        "loadcell.report.render.markdown",
        "loadcell.report.render.terminal",
        "loadcell.report.sections.capacity",
        "loadcell.report.sections.environment",
        "loadcell.report.sections.summary",
        "loadcell.report.texts",
        "loadcell.stats.change_points",
        "loadcell.stats.distributions",
        "loadcell.store.trial_files",
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
        "click.shell_completion",
        "rich.console",
        "rich.padding",
        "rich.progress",
        "rich.table",
        "rich.text",
    }
)
#: Names that pytest looks up in all objects of a plugin, the modules of its package included.
_ASKED_BY_PYTEST = frozenset({"_mock_name", "_pytestfixturefunction"})
_LOCK = RLock()
_pending: set[str] = set()


class LazyModule(ModuleType):
    """A module that is loaded when a name is looked up that it does not have yet."""

    def __getattr__(self, name: str) -> object:
        """Load the module. Raises AttributeError, and what loading it raises."""
        # Whoever looks through all modules asks for `__file__` and the like.
        if not name.startswith("__") and name not in _ASKED_BY_PYTEST:
            load(self)
            if name in self.__dict__:
                return self.__dict__[name]
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name, obj=self)


class _LazyLoader(Loader):
    """Creates a module empty; where it is is looked up at its first use."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return LazyModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        _pending.add(module.__name__)


class _LazyFinder(MetaPathFinder):
    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, _LazyLoader()) if fullname in LAZY else None


def load(*modules: ModuleType) -> None:
    """Load lazy modules now, by one thread at a time; a module that failed to load is tried again."""
    for module in modules:
        name = module.__name__
        with _LOCK:
            if name in _pending:
                _pending.remove(name)
                try:
                    _execute(module)
                except BaseException:
                    _pending.add(name)
                    raise


def _execute(module: ModuleType) -> None:
    package = sys.modules.get(module.__name__.rpartition(".")[0])
    spec = PathFinder.find_spec(module.__name__, package.__path__ if package else None)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"No module named {module.__name__!r}", name=module.__name__)
    module.__spec__, module.__loader__ = spec, spec.loader
    module.__file__ = spec.origin
    spec.loader.exec_module(module)


def install() -> None:
    """Make the listed modules lazy from now on; once."""
    if not any(isinstance(finder, _LazyFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _LazyFinder())

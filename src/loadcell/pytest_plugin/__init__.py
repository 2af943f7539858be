"""Plugin of pytest: `pytest --loadcell` measures the tests of a suite as an experiment.

Without the option it only declares options, markers and fixtures, and no other module of it is loaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from loadcell.pytest_plugin import options

if TYPE_CHECKING:
    from collections.abc import Generator

    from loadcell.pytest_plugin.fixtures import FunctionFixture

#: Name of the plugin of a session that measures.
_SESSION = "loadcell-session"
_MARKERS = (
    "loadcell: measured by `pytest --loadcell --loadcell-marked`",
    "benchmark(group, min_time, max_time, min_rounds, timer, disable_gc, warmup, warmup_iterations): "
    "settings of the fixture `benchmark`",
)


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare the options."""
    options.add(parser, pluginmanager)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare the hooks of pytest-benchmark, which a suite may implement; they are not called."""
    if not options.is_benchmark_present(pluginmanager):
        from loadcell.pytest_plugin import benchmark_hooks  # noqa: PLC0415

        pluginmanager.add_hookspecs(benchmark_hooks)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, Any, Any]:
    """Run the tests of a measurement in one process, whatever pytest-xdist was asked for."""
    if options.value_of(config, "--loadcell"):
        from loadcell.pytest_plugin import serial  # noqa: PLC0415

        serial.apply(config)
    return (yield)


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers, and the plugin of the session where it is asked for."""
    for marker in _MARKERS:
        config.addinivalue_line("markers", marker)
    if not options.is_benchmark_present(config.pluginmanager):
        config.pluginmanager.register(BenchmarkFixture(), "loadcell-benchmark")
    if options.value_of(config, "--loadcell"):
        from loadcell.pytest_plugin import plugin  # noqa: PLC0415

        plugin.register(config, _SESSION)


@pytest.fixture
def loadcell(request: pytest.FixtureRequest) -> FunctionFixture:
    """Measure a function: `loadcell(function, *args, **kwargs)` returns its result."""
    return _fixture(request)


class BenchmarkFixture:
    """The fixture `benchmark`, and the selection of tests that use it, in place of pytest-benchmark."""

    @pytest.fixture
    def benchmark(self, request: pytest.FixtureRequest) -> FunctionFixture:
        """Measure a function: `benchmark(function, *args, **kwargs)` returns its result."""
        return _fixture(request)

    @pytest.fixture
    def benchmark_weave(self, benchmark: FunctionFixture) -> Any:
        """The method `weave` of `benchmark`."""
        return benchmark.weave

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Skip what `--benchmark-skip` and `--benchmark-only` exclude."""
        uses_it = "benchmark" in getattr(item, "fixturenames", ())
        if uses_it and options.value_of(item.config, "--benchmark-skip"):
            pytest.skip("--benchmark-skip")
        if not uses_it and options.value_of(item.config, "--benchmark-only"):
            pytest.skip("--benchmark-only")


def _fixture(request: pytest.FixtureRequest) -> FunctionFixture:
    from loadcell.pytest_plugin import fixtures, settings  # noqa: PLC0415 - few tests use it

    session = request.config.pluginmanager.get_plugin(_SESSION)
    node: Any = request.node
    if session is None or session.disabled:
        return fixtures.FunctionFixture(node, None, settings.BenchmarkSettings())
    return fixtures.FunctionFixture(node, session.stage, session.settings.benchmark)

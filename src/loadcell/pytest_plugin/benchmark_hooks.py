"""Hooks of pytest-benchmark, by its documentation: a suite with any of them loads, and none is called."""

from __future__ import annotations

from typing import Any


def pytest_benchmark_scale_unit(
    config: Any, unit: Any, benchmarks: Any, best: Any, worst: Any, sort: Any
) -> Any:
    """Unit of a table."""


def pytest_benchmark_generate_machine_info(config: Any) -> Any:
    """Facts of the machine."""


def pytest_benchmark_update_machine_info(config: Any, machine_info: Any) -> Any:
    """More facts of the machine."""


def pytest_benchmark_generate_commit_info(config: Any) -> Any:
    """Facts of the commit."""


def pytest_benchmark_update_commit_info(config: Any, commit_info: Any) -> Any:
    """More facts of the commit."""


def pytest_benchmark_group_stats(config: Any, benchmarks: Any, group_by: Any) -> Any:
    """Groups of a table."""


def pytest_benchmark_generate_json(
    config: Any, benchmarks: Any, include_data: Any, machine_info: Any, commit_info: Any
) -> Any:
    """The file of results."""


def pytest_benchmark_update_json(config: Any, benchmarks: Any, output_json: Any) -> Any:
    """Changes to the file of results."""


def pytest_benchmark_compare_machine_info(
    config: Any, benchmarksession: Any, machine_info: Any, compared_benchmark: Any
) -> Any:
    """Comparison of machines."""

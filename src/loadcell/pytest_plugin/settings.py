"""Settings of a session, from the options, each checked before the first test."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from loadcell.model.message import MessageError
from loadcell.pytest_plugin import messages
from loadcell.pytest_plugin.fixtures import timer_named
from loadcell.pytest_plugin.options import WITHOUT_EFFECT, value_of

#: Repeats of every test: from 6 on there is an interval of 95 %, and 10 make it narrow enough for most.
REPEATS = 10
#: Runs in a row of a session that is compared: fewer allow no verdict.
COMPARED_RUNS = 3
RESULTS = "results"


@dataclass(frozen=True, slots=True)
class BenchmarkSettings:
    """Settings of fixtures, by the options of pytest-benchmark; limits are those of all repeats together."""

    repeats: int = 1
    min_time: float = 0.0
    max_time: float = 1.0
    min_rounds: int = 5
    timer: Callable[[], float] | None = None
    warmup: bool = False
    warmup_iterations: int = 100_000
    disable_gc: bool = False


@dataclass(frozen=True, slots=True)
class Gate:
    """The baseline of a comparison, and the least change for which the session fails; None for none."""

    baseline: str
    least_effect: float | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a session that measures."""

    repeats: int
    runs: int
    seed: int
    name: str
    results: Path
    labels: tuple[str, ...]
    benchmark: BenchmarkSettings
    only_marked: bool = False
    traces_memory: bool = True
    gate: Gate | None = None
    profiled: int = 0
    group_by: str = "group"
    unused: tuple[str, ...] = ()


class OptionError(MessageError):
    """An option that cannot be used."""


def of_config(config: pytest.Config) -> Settings:
    """Settings of the options. Raises OptionError."""
    repeats = _count(config, "--loadcell-repeats", REPEATS)
    gate = _gate(config)
    seed = value_of(config, "--loadcell-seed")
    root = Path(config.invocation_params.dir)
    return Settings(
        repeats=repeats,
        runs=_count(config, "--loadcell-runs", 1 if gate is None else COMPARED_RUNS),
        seed=secrets.randbelow(2**32) if seed is None else _count(config, "--loadcell-seed", 0, least=0),
        name=_name(value_of(config, "--loadcell-name") or f"{config.rootpath.name}-tests"),
        results=root / (value_of(config, "--loadcell-results") or RESULTS),
        labels=tuple(value_of(config, "--loadcell-label") or ()),
        benchmark=benchmark_settings(config, repeats),
        only_marked=bool(value_of(config, "--loadcell-marked")),
        traces_memory=not value_of(config, "--loadcell-no-memory"),
        gate=gate,
        profiled=_count(config, "--loadcell-profile", 0, least=0),
        group_by=value_of(config, "--benchmark-group-by") or "group",
        unused=unused_options(config),
    )


def benchmark_settings(config: pytest.Config, repeats: int = 1) -> BenchmarkSettings:
    """Settings of the fixtures. Raises OptionError."""
    plain = BenchmarkSettings()
    timer = value_of(config, "--benchmark-timer")
    warmup = str(value_of(config, "--benchmark-warmup") or "off").lower()
    return BenchmarkSettings(
        repeats=repeats,
        min_time=_seconds(config, "--benchmark-min-time", plain.min_time),
        max_time=_seconds(config, "--benchmark-max-time", plain.max_time),
        min_rounds=_count(config, "--benchmark-min-rounds", plain.min_rounds),
        timer=None if timer is None else _timer(timer),
        warmup=warmup in {"on", "true", "yes", "1"},
        warmup_iterations=_count(config, "--benchmark-warmup-iterations", plain.warmup_iterations, least=0),
        disable_gc=bool(value_of(config, "--benchmark-disable-gc")),
    )


def unused_options(config: pytest.Config) -> tuple[str, ...]:
    """Options of pytest-benchmark that are given and have no effect."""
    return tuple(option.name for option in WITHOUT_EFFECT if value_of(config, option.name))


def _gate(config: pytest.Config) -> Gate | None:
    baseline, percent = value_of(config, "--loadcell-compare"), value_of(config, "--loadcell-fail")
    if baseline is None:
        if percent is not None:
            raise OptionError(messages.FAIL_WITHOUT_COMPARE())
        return None
    return Gate(str(baseline), None if percent is None else _share("--loadcell-fail", str(percent)))


def _share(option: str, text: str) -> float:
    """`5%` as 0.05."""
    try:
        value = float(text.removesuffix("%")) / 100 if text.endswith("%") else -1.0
    except ValueError:
        value = -1.0
    if not 0 < value < 1:
        raise _refused(option, text, "5%")
    return value


def _count(config: pytest.Config, option: str, default: int, least: int = 1) -> int:
    text = value_of(config, option)
    if text is None:
        return default
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise _refused(option, text, str(max(default, least)))
    return number


def _seconds(config: pytest.Config, option: str, default: float) -> float:
    text = value_of(config, option)
    if text is None:
        return default
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise _refused(option, text, str(default))
    return seconds


def _timer(name: str) -> Callable[[], float]:
    try:
        return timer_named(name)
    except (ImportError, AttributeError, ValueError):
        raise _refused("--benchmark-timer", name, "time.perf_counter") from None


def _name(name: str) -> str:
    if not name.isprintable() or "/" in name or name.startswith(".") or not name.strip():
        raise _refused("--loadcell-name", name, "tests")
    return name


def _refused(option: str, text: Any, example: str) -> OptionError:
    return OptionError(messages.OPTION_VALUE(option=option, value=repr(text), example=example))

"""Options of the command line: those of loadcell, and those of pytest-benchmark where that is absent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pytest

#: Message code of the help of options without effect.
NO_EFFECT = "pytest.option.no-effect"
Action = Literal["store", "store_true", "append"]


@dataclass(frozen=True, slots=True)
class Option:
    """An option: its name, the word for its value, and where no value is necessary the value without one.

    `meaning` is the message code of its help; None of an option that is accepted without effect.
    """

    name: str
    metavar: str | None = None
    meaning: str | None = None
    action: Action = "store"
    optional: Any = None
    convert: type | None = None

    @property
    def dest(self) -> str:
        """Its attribute among parsed options."""
        return self.name.removeprefix("--").replace("-", "_")

    def text(self, texts: Mapping[str, Mapping[str, str]] | None, language: str) -> str:
        """Its help; empty without texts."""
        return "" if texts is None else texts[self.meaning or NO_EFFECT][language]

    def settings(self, texts: Mapping[str, Mapping[str, str]] | None, language: str) -> dict[str, object]:
        """Keyword arguments for the parser."""
        text = self.text(texts, language).replace("%", "%%")
        settings: dict[str, object] = {
            "action": self.action,
            "dest": self.dest,
            "default": None,
            "help": text,
        }
        if self.action != "store_true":
            settings["metavar"] = self.metavar
        if self.optional is not None:
            settings |= {"nargs": "?", "const": self.optional}
        if self.convert is not None:
            settings["type"] = self.convert
        return settings


LOADCELL = (
    Option("--loadcell", meaning="pytest.option.loadcell", action="store_true"),
    Option("--loadcell-marked", meaning="pytest.option.marked", action="store_true"),
    Option("--loadcell-repeats", "N", "pytest.option.repeats"),
    Option("--loadcell-runs", "N", "pytest.option.runs"),
    Option("--loadcell-seed", "N", "pytest.option.seed"),
    Option("--loadcell-name", "NAME", "pytest.option.name"),
    Option("--loadcell-results", "DIR", "pytest.option.results"),
    Option("--loadcell-label", "NAME=VALUE", "pytest.option.label", "append"),
    Option("--loadcell-compare", "BASELINE", "pytest.option.compare"),
    Option("--loadcell-fail", "PERCENT", "pytest.option.fail"),
    Option("--loadcell-profile", "N", "pytest.option.profile", optional="3"),
    Option("--loadcell-no-memory", meaning="pytest.option.no-memory", action="store_true"),
)

#: Those that pytest-benchmark documents and that mean something here.
_EFFECTIVE = (
    Option("--benchmark-min-time", "SECONDS", "pytest.option.benchmark-min-time"),
    Option("--benchmark-max-time", "SECONDS", "pytest.option.benchmark-max-time"),
    Option("--benchmark-min-rounds", "N", "pytest.option.benchmark-min-rounds"),
    Option("--benchmark-timer", "FUNCTION", "pytest.option.benchmark-timer"),
    Option("--benchmark-warmup", "KIND", "pytest.option.benchmark-warmup", optional="on"),
    Option("--benchmark-warmup-iterations", "N", "pytest.option.benchmark-warmup-iterations"),
    Option("--benchmark-disable-gc", meaning="pytest.option.benchmark-disable-gc", action="store_true"),
    Option("--benchmark-group-by", "LABEL", "pytest.option.benchmark-group-by"),
    Option("--benchmark-skip", meaning="pytest.option.benchmark-skip", action="store_true"),
    Option("--benchmark-only", meaning="pytest.option.benchmark-only", action="store_true"),
    Option("--benchmark-disable", meaning="pytest.option.benchmark-disable", action="store_true"),
    Option("--benchmark-enable", meaning="pytest.option.benchmark-enable", action="store_true"),
)
#: The others.
WITHOUT_EFFECT = (
    Option("--benchmark-sort", "COLUMN"),
    Option("--benchmark-columns", "LABELS"),
    Option("--benchmark-name", "FORMAT"),
    Option("--benchmark-calibration-precision", "N"),
    Option("--benchmark-verbose", action="store_true"),
    Option("--benchmark-quiet", action="store_true"),
    Option("--benchmark-time-unit", "UNIT"),
    Option("--benchmark-save", "NAME"),
    Option("--benchmark-autosave", action="store_true"),
    Option("--benchmark-save-data", action="store_true"),
    Option("--benchmark-json", "PATH"),
    Option("--benchmark-compare", "NUMBER", optional="last"),
    Option("--benchmark-compare-fail", "EXPRESSION", action="append"),
    Option("--benchmark-cprofile", "COLUMN"),
    Option("--benchmark-cprofile-loops", "LOOPS"),
    Option("--benchmark-cprofile-top", "COUNT"),
    Option("--benchmark-cprofile-dump", "PREFIX", optional="benchmark"),
    Option("--benchmark-storage", "URI"),
    Option("--benchmark-netrc", "FILE", optional="~/.netrc"),
    Option("--benchmark-histogram", "PREFIX", optional="benchmark"),
)
BENCHMARK = (*_EFFECTIVE, *WITHOUT_EFFECT)
ALL = (*LOADCELL, *BENCHMARK)
#: The plugin whose options and fixture these are, by its name among plugins and its module.
_BENCHMARK_PLUGIN, _BENCHMARK_MODULE = "benchmark", "pytest_benchmark"
_INI_KEYS = frozenset(option.dest for option in BENCHMARK)
_HELP = frozenset({"-h", "--help"})


def value_of(config: pytest.Config, name: str) -> Any:
    """Value of an option, or else of the configuration file's key of the same name; None without either."""
    dest = name.removeprefix("--").replace("-", "_")
    value = getattr(config.option, dest, None)
    if value is None and name.startswith("--benchmark-") and dest in _inis(config):
        value = config.getini(dest) or None
    return value


def _inis(config: pytest.Config) -> frozenset[str]:
    return frozenset() if is_benchmark_present(config.pluginmanager) else _INI_KEYS


def is_benchmark_present(plugins: pytest.PytestPluginManager) -> bool:
    """True if pytest-benchmark has its options and fixture itself, or is to be loaded later."""
    if plugins.hasplugin(_BENCHMARK_PLUGIN) or plugins.hasplugin(f"{_BENCHMARK_MODULE}.plugin"):
        return True
    return not plugins.is_blocked(_BENCHMARK_PLUGIN) and _is_installed()


@cache
def _is_installed() -> bool:
    return find_spec(_BENCHMARK_MODULE) is not None


def add(parser: pytest.Parser, plugins: pytest.PytestPluginManager) -> None:
    """Declare all options; their help is read only if the user asks for it."""
    config: Any = plugins.get_plugin("pytestconfig")
    texts, language = None, "en"
    if config is not None and _HELP.intersection(map(str, config.invocation_params.args)):
        texts, language = _texts()
    group = parser.getgroup("loadcell")
    for option in LOADCELL:
        group.addoption(option.name, **option.settings(texts, language))
    if is_benchmark_present(plugins):
        return
    group = parser.getgroup("benchmark")
    for option in BENCHMARK:
        group.addoption(option.name, **option.settings(texts, language))
        kind: Any = (
            "bool" if option.action == "store_true" else "args" if option.action == "append" else "string"
        )
        parser.addini(option.dest, option.text(texts, language), type=kind, default=None)


def _texts() -> tuple[Mapping[str, Mapping[str, str]], str]:
    from loadcell.cli import locales  # noqa: PLC0415 - of `--help` alone
    from loadcell.model import catalogue  # noqa: PLC0415

    return catalogue.texts(), locales.of_environment()

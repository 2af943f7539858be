"""The subject of a run in the plan's words: targets, workloads, factors and scripts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from loadcell.analysis.systems import planned_parts
from loadcell.analysis.treatments import short_keys
from loadcell.model.json import JsonObject
from loadcell.model.run_record import FactorRecord, LevelRecord
from loadcell.report.blocks import Block, Code
from loadcell.report.context import ReportContext

#: Options and levels that are shown of one part or factor; the plan below has all.
_MOST_OPTIONS = 8
_MOST_LEVELS = 12
#: The option that holds settings by names of the server's own.
_SETTINGS = "settings"
#: The option that holds the texts of scripts by name.
_SCRIPTS = "script_texts"
#: Options that say what the one request is, and nothing where several are listed.
_OF_ONE_REQUEST = ("method", "path", "body")


#: Options that have a meaning only with one distribution of keys.
_OF_DISTRIBUTIONS = {
    "hot_data": "hotspot",
    "hot_operations": "hotspot",
    "deviation": "gaussian",
    "percentile": "exponential",
    "fraction": "exponential",
}


#: Switches without which a result cannot be interpreted: others are reported only when on.
_ALWAYS_REPORTED = ("sync",)


def _as_written(value: Any) -> str:
    """As a plan has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def parts(context: ReportContext) -> list[tuple[str, str]]:
    """Target and workload by name, with options that are the same in all treatments that have them."""
    texts, run = context.texts, context.stored.run
    entries = []
    for section, title in (("target", "method.target"), ("workload", "method.workload")):
        for part in planned_parts(run, section):
            name = texts(title)
            if part.label:
                name = texts("mark.detail", text=name, detail=part.label)
            entries.append((name, described(part.name, part.options[0], _varied(part.options))))
    settings = run.treatments[0].settings if run.treatments else {}
    for name, group in (settings.get("workloads") or {}).items():
        workload = next((key for key in group if key not in ("share", "load")), "")
        entries.append((texts("method.group", name=name), described(workload, group.get(workload))))
    return entries


def factors(context: ReportContext) -> list[tuple[str, str]]:
    """Each factor with its levels, and what these set."""
    run = context.stored.run
    short = short_keys([factor.key for factor in run.factors])
    return [
        (context.texts("method.factor", name=short[factor.key]), _levels(factor, context))
        for factor in run.factors
        if factor.levels
    ]


def _levels(factor: FactorRecord, context: ReportContext) -> str:
    texts = context.texts
    shown = [_level(level, context) for level in factor.levels[:_MOST_LEVELS]]
    if len(factor.levels) > _MOST_LEVELS:
        shown.append(texts("table.more", count=len(factor.levels) - _MOST_LEVELS))
    named = any(level.sets for level in factor.levels)
    return texts("mark.semicolon" if named else "mark.list").join(shown)


def _level(level: LevelRecord, context: ReportContext) -> str:
    """`64MB`; with what it sets where it has a name."""
    settings = level.sets or (level.value if isinstance(level.value, dict) else {})
    options = [f"{path} {_as_written(value)}".rstrip() for path, value in _flat(settings)]
    if not options or (level.sets is None and level.label.startswith("{")):
        return level.label  # which is all of its value already
    return context.texts("mark.detail", text=level.label, detail=", ".join(options[:_MOST_OPTIONS]))


def scripts(context: ReportContext) -> Iterator[Block]:
    """Texts of the scripts that treatments ran, which are no part of the plan's text."""
    seen: dict[tuple[str, str], None] = {}
    for part in planned_parts(context.stored.run, "workload"):
        for options in part.options:
            held = options.get(_SCRIPTS)
            if isinstance(held, Mapping):
                seen.update(dict.fromkeys((str(name), str(text)) for name, text in held.items()))
    for name, text in seen:
        yield Code(context.texts("table.script", name=name), text.rstrip("\n"), "sql")


def _flat(options: JsonObject, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted paths with their single values; what is empty is left as a path."""
    for key, value in options.items():
        if isinstance(value, dict) and value:
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", "" if value in ({}, None) else value


def _varied(options: Sequence[JsonObject]) -> set[str]:
    """Options, and settings by their path, that are not the same in all treatments: none of their values
    holds for the whole run.
    """
    keys = {key for others in options for key in _differing(options[0], others)} - {_SETTINGS}
    settings = [treatment.get(_SETTINGS) or {} for treatment in options]
    return keys | {f"{_SETTINGS}.{key}" for others in settings for key in _differing(settings[0], others)}


def _differing(options: JsonObject, others: JsonObject) -> set[str]:
    """Keys whose values differ."""
    return {key for key in options.keys() | others.keys() if options.get(key) != others.get(key)}


def described(name: str, options: Any, varied: Set[str] = frozenset()) -> str:
    """A part in a line: its name, and its options without the `varied` ones."""
    if not isinstance(options, dict):
        return str(name)
    distribution = options.get("distribution")
    unused = {key for key, needs in _OF_DISTRIBUTIONS.items() if distribution not in (None, needs)}
    options = {key: value for key, value in options.items() if key not in varied | unused}
    listed = options.get("requests")
    shown = [f"requests {', '.join(map(str, listed))}"] if isinstance(listed, dict) and listed else []
    shown += [
        f"{key} {_as_written(value)}"
        for key, value in options.items()
        if isinstance(value, str | int)
        and (key in _ALWAYS_REPORTED or not isinstance(value, bool))
        and not (shown and key in _OF_ONE_REQUEST)
    ]
    settings = options.get(_SETTINGS)
    values = [
        f"{path} {_as_written(value)}"
        for path, value in _flat({_SETTINGS: settings} if isinstance(settings, dict) and settings else {})
        if path not in varied
    ]
    shown = [*shown[:_MOST_OPTIONS], *values[:_MOST_OPTIONS]]
    return f"{name}: {', '.join(shown)}" if shown else str(name)

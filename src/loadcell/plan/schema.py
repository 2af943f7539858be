"""The plan language as a JSON Schema (draft 2020-12), made from the models, so that editors complete and
check plans.

A schema cannot say everything that loading checks (paths of factors, units that fit, what a part finds out
itself): what it refuses is wrong, what it lets pass may still be.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from loadcell.model import json
from loadcell.model.json import JsonObject
from loadcell.model.metrics import declared
from loadcell.plan.affinity import Affinity
from loadcell.plan.expect import COMPARATORS
from loadcell.plan.faults import FaultTiming
from loadcell.plan.labels import ABOUT, LABELS, LONGEST_VALUE, MOST
from loadcell.plan.model import GroupLoad, Head, Limits, Load
from loadcell.plan.parts import Parts
from loadcell.plan.paths import settings
from loadcell.plan.profile import profile_kinds
from loadcell.plan.search import SearchOptions

_REFERENCE = "#/$defs/{model}"


def plan_schema(parts: Parts) -> JsonObject:
    """The schema of a plan file for the installed parts."""
    everything: list[type[Any]] = [
        *parts.targets.values(),
        *parts.workloads.values(),
        *parts.monitors.values(),
        *parts.faults.values(),
    ]
    models: list[type[BaseModel]] = list(
        dict.fromkeys(
            [
                *(Head, Load, GroupLoad, Affinity, Limits, SearchOptions, FaultTiming),
                *profile_kinds().values(),
                *(part.Options for part in everything),
            ]
        )
    )
    references, definitions = models_json_schema(
        [(model, "validation") for model in models], ref_template=_REFERENCE
    )
    schemas = {model: references[(model, "validation")] for model in models}
    defs = json.unwrapped(definitions.get("$defs", {}))
    head = defs.pop(schemas[Head]["$ref"].rpartition("/")[2])
    defs["levels"] = _levels()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "loadcell plan",
        "type": "object",
        "additionalProperties": False,
        "required": ["target"],
        "oneOf": [{"required": ["workload"]}, {"required": ["workloads"]}],
        "properties": {
            **head["properties"],
            "design": _design(head["properties"]["design"], schemas),
            "target": _one_of(parts.targets, schemas, "The system under test: one target, with its options."),
            "workload": _one_of(
                parts.workloads, schemas, "What is done to it: one workload, with its options."
            ),
            "workloads": _groups(parts, schemas),
            "load": {"description": _first_line(Load), **schemas[Load]},
            "affinity": {"description": _first_line(Affinity), **schemas[Affinity]},
            "factors": _factors(parts),
            "cross": {
                "description": "In a one-at-a-time design: factors combined with everything, or names of "
                "factors that are.",
                "anyOf": [_factors(parts), {"type": "array", "items": {"type": "string"}}],
            },
            "faults": _faults(parts.faults, schemas, defs),
            "monitors": _monitors(parts.monitors, schemas),
            "limits": {"description": _first_line(Limits), **schemas[Limits]},
            "expect": _expect(),
            "profile": _profile(schemas),
            LABELS: _labels("Name and text of labels, shown in lists and reports."),
            ABOUT: _labels("Facts that loadcell cannot see, such as firmware: name and text."),
        },
        "$defs": defs,
    }


def _design(named: JsonObject, schemas: Mapping[type[BaseModel], JsonObject]) -> JsonObject:
    """One of the designs that are only named, or a search with its settings."""
    search = {
        "type": "object",
        "required": ["search"],
        "additionalProperties": False,
        "properties": {"search": {"description": _first_line(SearchOptions), **schemas[SearchOptions]}},
    }
    return {"description": named["description"], "anyOf": [{"enum": named["enum"]}, search]}


def _labels(description: str) -> JsonObject:
    value = {"type": ["string", "number", "boolean"], "maxLength": LONGEST_VALUE}
    return {
        "description": description,
        "type": ["object", "null"],
        "maxProperties": MOST,
        "additionalProperties": value,
    }


def _profile(schemas: Mapping[type[BaseModel], JsonObject]) -> JsonObject:
    """Named, or with its options."""
    options = {
        "type": "object",
        "minProperties": 1,
        "additionalProperties": False,
        "properties": {
            name: {"description": _first_line(kind), "anyOf": [schemas[kind], {"type": "null"}]}
            for name, kind in profile_kinds().items()
        },
    }
    description = " ".join(_first_line(kind) for kind in profile_kinds().values())
    return {"description": description, "anyOf": [{"enum": list(profile_kinds())}, options]}


def _first_line(model: type[Any]) -> str:
    return (inspect.getdoc(model) or "").split("\n\n")[0].replace("\n", " ")


def _named(part: type[Any], schemas: Mapping[type[BaseModel], JsonObject]) -> JsonObject:
    """A part's options, or nothing after its name when all are as by default."""
    return {"description": part.summary, "anyOf": [schemas[part.Options], {"type": "null"}]}


def _one_of(
    installed: Mapping[str, type[Any]], schemas: Mapping[type[BaseModel], JsonObject], description: str
) -> JsonObject:
    return {
        "description": description,
        "type": "object",
        "additionalProperties": False,
        "minProperties": 1,
        "maxProperties": 1,
        "properties": {name: _named(part, schemas) for name, part in installed.items()},
    }


def _groups(parts: Parts, schemas: Mapping[type[BaseModel], JsonObject]) -> JsonObject:
    """By name, or as a list with names."""
    members = {
        **{name: _named(part, schemas) for name, part in parts.workloads.items()},
        "share": {
            "description": "Its part of the plan's load, whose parts are all shares together.",
            "type": "number",
            "exclusiveMinimum": 0,
        },
        "load": {"description": _first_line(GroupLoad), **schemas[GroupLoad]},
    }
    group = {"type": "object", "additionalProperties": False, "properties": members}
    listed = {**group, "properties": {"name": {"type": "string"}, **members}, "required": ["name"]}
    return {
        "description": "Client groups that work side by side, each with one workload and a share or a load.",
        "anyOf": [
            {"type": "object", "minProperties": 1, "additionalProperties": group},
            {"type": "array", "minItems": 1, "items": listed},
        ],
    }


def _faults(
    installed: Mapping[str, type[Any]], schemas: Mapping[type[BaseModel], JsonObject], defs: JsonObject
) -> JsonObject:
    """Entries with one action, whose subject may stand alone, and its timing."""
    timing = defs.pop(schemas[FaultTiming]["$ref"].rpartition("/")[2])
    actions = {
        name: {"description": part.summary, "anyOf": [schemas[part.Options], {"type": "string"}]}
        for name, part in installed.items()
    }
    return {
        "description": "What is broken while a load runs: an action with its subject, and when.",
        "type": ["array", "null"],
        "items": {
            "type": "object",
            "additionalProperties": False,
            "properties": {**actions, **timing["properties"]},
            "oneOf": [{"required": [name]} for name in installed],
        },
    }


def _monitors(
    installed: Mapping[str, type[Any]], schemas: Mapping[type[BaseModel], JsonObject]
) -> JsonObject:
    names = [{"const": name, "description": part.summary} for name, part in installed.items()]
    return {
        "description": "What is watched while a trial runs: names, or names with options. Default: all that "
        "are installed.",
        "type": "array",
        "items": {"anyOf": [*names, _one_of(installed, schemas, "A monitor with its options.")]},
    }


def _factors(parts: Parts) -> JsonObject:
    """Dotted paths complete; any other key may be a setting of a free-form mapping, or a name for named
    levels.
    """
    levels = {"$ref": _REFERENCE.format(model="levels")}
    return {
        "description": "What is varied: a setting's dotted path with its levels, or a name with named "
        "levels.",
        "type": "object",
        "properties": dict.fromkeys(settings(parts), levels),
        "additionalProperties": levels,
    }


def _levels() -> JsonObject:
    quantity = {"type": ["number", "string"]}
    ends = {"from": quantity, "to": quantity}
    return {
        "anyOf": [
            {"description": "Levels one by one.", "type": "array", "minItems": 1, "uniqueItems": True},
            {
                "description": "From, to, and the step between levels.",
                "type": "object",
                "properties": {**ends, "step": quantity},
                "required": ["from", "to", "step"],
                "additionalProperties": False,
            },
            {
                "description": "From, to, and what each level is multiplied by to give the next.",
                "type": "object",
                "properties": {**ends, "times": {"type": "number", "exclusiveMinimum": 0}},
                "required": ["from", "to", "times"],
                "additionalProperties": False,
            },
            {
                "description": "Named levels, each with the settings it makes (dotted path: value), or "
                "with a list, such as `faults`.",
                "type": "object",
                "minProperties": 1,
                "additionalProperties": {"type": ["object", "array"]},
            },
        ]
    }


def _expect() -> JsonObject:
    metrics = declared()
    names = "|".join(sorted((name.replace(".", r"\.") for name in metrics), key=len, reverse=True))
    comparators = "|".join(sorted(COMPARATORS, key=len, reverse=True))
    meanings = "; ".join(f"{metric.key}: {metric.meaning}" for metric in metrics.values())
    return {
        "description": "What every trial has to meet, or the run exits with status 1; of a client group "
        f"with its name and a dot in front. Metrics: {meanings}.",
        "type": "array",
        "items": {
            "type": "string",
            "pattern": rf"^\s*([A-Za-z][\w-]*\.)?({names})\s*({comparators})\s*\S+(\s*\S+)?\s*$",
            "examples": ["errors == 0", "latency.p99 < 20ms", "throughput >= 1000/s", "error_rate < 1%"],
        },
    }

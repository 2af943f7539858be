"""Dotted paths to settings: `load.clients`, `target.postgres.settings.shared_buffers`.

A path is checked against the models, so that a factor or `--set` on a setting that does not exist is a
mistake with a place, not a silent no-op. Under a free-form mapping (`settings` above) any name is a setting.
"""

from __future__ import annotations

import itertools
import types
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel
from typing_extensions import TypeAliasType

from loadcell.model.message import Message, MessageCode
from loadcell.plan.affinity import Affinity
from loadcell.plan.model import GroupLoad, Limits, Load
from loadcell.plan.parts import NamedOptions, Parts, part_name
from loadcell.plan.problems import UNKNOWN_SETTING, SettingError, listed, nearest, shown

ALLOWED_PATH_START = MessageCode("allowed.path-start", sections=list)
UNKNOWN_TARGET = MessageCode("plan.unknown-target", name=str, names=list)
UNKNOWN_WORKLOAD = MessageCode("plan.unknown-workload", name=str, names=list)
UNKNOWN_MONITOR = MessageCode("plan.unknown-monitor", name=str, names=list)
NO_SETTING_OF_TREATMENTS = MessageCode("plan.no-setting-of-treatments", path=str, allowed=Message)
SINGLE_VALUE = MessageCode("plan.single-value", path=str)

#: the sections of a plan whose settings a treatment has; all else says how the experiment is done
SECTIONS = ("target", "workload", "workloads", "load", "affinity", "faults", "monitors", "limits")


#: The message on an unknown name, by the section that holds it.
UNKNOWN_PART = {
    "target": UNKNOWN_TARGET,
    "workload": UNKNOWN_WORKLOAD,
    "workloads": UNKNOWN_WORKLOAD,
    "monitors": UNKNOWN_MONITOR,
}


def locate(path: str, parts: Parts) -> tuple[str, ...]:
    """The keys a dotted path leads along. Raises SettingError when no such setting exists.

    The last key may hold dots itself, where a free-form mapping takes names with dots
    (`pg_stat_statements.track`).
    """
    section, *keys = path.split(".")
    if section not in SECTIONS:
        likely = f"{section}.{'.'.join(keys)}".rstrip(".")
        allowed = ALLOWED_PATH_START(sections=SECTIONS)
        raise SettingError(
            NO_SETTING_OF_TREATMENTS(path=shown(path), allowed=allowed), _anywhere(likely, parts)
        )
    if section == "workloads":  # whose names are the plan's own
        return _step(of_group(parts), keys[1:], (section, *keys[:1]))
    return _step(_section(section, parts), keys, (section,))


def settings(
    parts: Parts,
    target: str | None = None,
    workload: str | None = None,
    groups: Mapping[str, str] | None = None,
) -> list[str]:
    """Dotted paths of all settings, free-form mappings by their own path; of one target and workload when
    named.

    `groups` are a plan's client groups by name, each with its workload: they have settings of their own.
    """
    paths: list[str] = []
    for section in SECTIONS:
        if section == "workloads":
            for name, group in (groups or {}).items():
                for key, below in of_group(parts).items():
                    if key in (group, "share", "load"):
                        paths.extend(_leaves(below, (section, name, key)))
            continue
        tree = _section(section, parts)
        if isinstance(tree, Mapping):
            only = {"target": target, "workload": workload}.get(section)
            for name, model in tree.items():
                if only in (None, name):
                    paths.extend(_leaves(model, (section, name)))
        else:
            paths.extend(_leaves(tree, (section,)))
    return paths


class OptionModels(Mapping[str, Any]):
    """Models of the options of parts by name, and then `others`; of a part that is not asked for, the module
    need not be imported. With `instances`, a name may be that of a named one (`prometheus:app`).
    """

    def __init__(self, parts: Mapping[str, type[Any]], *, instances: bool = False, **others: object) -> None:
        self._parts, self._instances, self._others = parts, instances, others

    def __getitem__(self, name: str) -> Any:
        if name in self._others:
            return self._others[name]
        model = self._parts[part_name(name) if self._instances else name].Options
        if self._instances and part_name(name) != name and not issubclass(model, NamedOptions):
            raise KeyError(name)
        return model

    def __iter__(self) -> Iterator[str]:
        return itertools.chain(self._parts, self._others)

    def __len__(self) -> int:
        return len(self._parts) + len(self._others)


def of_group(parts: Parts) -> OptionModels:
    """Settings of a client group: a workload, and its share of the load."""
    return OptionModels(parts.workloads, share=float, load=GroupLoad)


def fields_at(annotation: Any, keys: tuple[str | int, ...]) -> list[str]:
    """The names a model allows below `keys`, [] where any name or none is allowed."""
    for key in keys:
        for kind in _alternatives(annotation):
            if _is_model(kind) and key in _fields(kind):
                annotation = _fields(kind)[str(key)]
                break
            below = _item_type(kind) if isinstance(key, int) else _value_type(kind)
            if below is not None:
                annotation = below
                break
    return [name for kind in _alternatives(annotation) if _is_model(kind) for name in _fields(kind)]


def _section(section: str, parts: Parts) -> Any:
    """Contents of a section: a model, or models by name."""
    fixed: dict[str, object] = {"load": Load, "affinity": Affinity, "faults": list, "limits": Limits}
    if section in fixed:
        return fixed[section]
    installed = {"target": parts.targets, "workload": parts.workloads, "monitors": parts.monitors}[section]
    return OptionModels(installed, instances=section == "monitors")


def _step(tree: Any, segments: list[str], done: tuple[str, ...]) -> tuple[str, ...]:
    """Follow `segments` below `tree`; `done` is the way so far."""
    if not segments:
        return done
    head, tail = segments[0], segments[1:]
    so_far = ".".join(done)
    if isinstance(tree, Mapping):
        if head in tree:
            return _step(tree[head], tail, (*done, head))
        message = (
            UNKNOWN_SETTING(name=shown(head), section=so_far, settings=listed(tree))
            if "." in so_far
            else UNKNOWN_PART[so_far](name=shown(head), names=listed(tree))
        )
        raise SettingError(message, _joined(so_far, nearest(head, tree), tail))
    names: list[str] = []
    for kind in _alternatives(tree):
        if kind is Any:
            return (*done, ".".join(segments))
        if _is_model(kind):
            fields = _fields(kind)
            if head in fields:
                return _step(fields[head], tail, (*done, head))
            names.extend(fields)
        elif (value := _value_type(kind)) is not None:
            if any(_is_model(k) or _value_type(k) is not None for k in _alternatives(value)):
                return _step(value, tail, (*done, head))
            return (*done, ".".join(segments))
    if not names:
        raise SettingError(SINGLE_VALUE(path=so_far), so_far)
    raise SettingError(
        UNKNOWN_SETTING(name=shown(head), section=so_far, settings=names),
        _joined(so_far, nearest(head, names), tail),
    )


def _joined(so_far: str, name: str | None, segments: list[str]) -> str | None:
    return ".".join((so_far, name, *segments)) if name else None


def _anywhere(path: str, parts: Parts) -> str | None:
    """The setting whose whole path, or whose last name, is most like what was written."""
    every = settings(parts)
    last = path.rpartition(".")[2]
    same = [candidate for candidate in every if candidate.rpartition(".")[2] == last]
    return same[0] if same else nearest(path, every)


def _leaves(annotation: Any, done: tuple[str, ...]) -> Iterator[str]:
    models = [kind for kind in _alternatives(annotation) if _is_model(kind)]
    if not models:
        yield ".".join(done)
    for model in models:
        for name, below in _fields(model).items():
            yield from _leaves(below, (*done, name))


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _fields(model: Any) -> dict[str, object]:
    return {info.alias or name: info.annotation for name, info in model.model_fields.items()}


def _value_type(kind: Any) -> Any | None:
    """The type of a mapping's values, None when `kind` is no mapping."""
    origin = get_origin(kind) or kind
    if isinstance(origin, type) and issubclass(origin, Mapping):
        arguments = get_args(kind)
        return arguments[1] if len(arguments) == 2 else Any
    return None


def _item_type(kind: Any) -> Any | None:
    """The type of a list's items, None when `kind` is no list."""
    origin, arguments = get_origin(kind), get_args(kind)
    return arguments[0] if origin in (list, tuple) and arguments else None


def _alternatives(annotation: Any) -> Iterator[Any]:
    """The members of a union, the type within Annotated, the meaning of an alias; None left out."""
    origin = get_origin(annotation)
    if isinstance(annotation, TypeAliasType):
        yield from _alternatives(annotation.__value__)
    elif origin is Annotated:
        yield from _alternatives(get_args(annotation)[0])
    elif origin in (Union, types.UnionType):
        for member in get_args(annotation):
            yield from _alternatives(member)
    elif annotation is not type(None):
        yield annotation

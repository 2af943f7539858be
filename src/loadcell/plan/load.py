"""From a plan file to a `LoadedPlan`: everything checked, every mistake found in one go."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

from loadcell.model import metrics
from loadcell.model.message import Message, MessageCode
from loadcell.plan import groups, labels, search, secrets
from loadcell.plan.expect import Expectation
from loadcell.plan.factors import Factor, read_factors
from loadcell.plan.files import PlanFiles
from loadcell.plan.model import Bilingual, DesignName, Head, Limits, OrderName, Resolved
from loadcell.plan.nodes import Items, Keys, Scalar, at, plain, scalars
from loadcell.plan.overrides import apply_sets, chosen_levels
from loadcell.plan.parts import Options, Parts
from loadcell.plan.paths import SECTIONS, settings
from loadcell.plan.problems import (
    INVALID,
    Mark,
    PlanError,
    Problem,
    SettingError,
    in_order,
    nearest,
    shown,
)
from loadcell.plan.profile import Profile, misplaced, read_profiles, slowed, strangers
from loadcell.plan.reading import read_model
from loadcell.plan.resolve import Resolver, with_monitors_by_name
from loadcell.plan.search import Search, is_search, names, read_search, useless
from loadcell.plan.source import PLAN_NUL_BYTE, compose, read_text
from loadcell.plan.treatment import Arrangement, Table, Treatment, arrange

ALLOWED_EXPECTATIONS = MessageCode("allowed.expectations")
ALLOWED_EXPECTATION_TEXT = MessageCode("allowed.expectation-text")
UNKNOWN_KEY = MessageCode("plan.unknown-key", key=str, keys=list)
PLAN_EMPTY = MessageCode("plan.empty", keys=list)
PLAN_NO_MAPPING = MessageCode("plan.no-mapping", value=str, keys=list)

#: the keys a plan may have
KEYS = (
    *("title", "question", labels.LABELS, labels.ABOUT),
    *SECTIONS[:5],
    *("factors", "cross", "design", "repeats", "order", "seed"),
    *SECTIONS[5:],
    *("expect", "profile"),
)
#: up to here every treatment is checked when the plan is loaded; of more, this many spread evenly over all
CHECKED_AT_ONCE = 1_000


@dataclass(frozen=True)
class LoadedPlan:
    """A plan with its factors, and its treatments for the asking.

    `directory` is where files are that it names (absolute), and `files` are those that its options have asked
    for so far; `text` is the file as written; `name` is safe in a path; `labels` are those of the plan and of
    the command line; `base` is the plan's own settings without any factor (in a full design whose plan leaves
    a setting to a factor: with that factor's first level); in a `search` the last factor is the one searched,
    and its treatments are those that may be measured; `seed` is None when it is to be drawn for each run;
    `profiles` are taken after the ordinary trials; `sets` and `only` are what the command line
    changed; `title_zh` and `question_zh` are the Chinese texts of a plan that has both languages.
    """

    path: Path
    directory: Path
    text: str
    name: str
    title: str
    question: str
    title_zh: str | None
    question_zh: str | None
    base: Resolved
    factors: tuple[Factor, ...]
    design: DesignName | Literal["search"]
    search: Search | None
    repeats: int
    order: OrderName
    seed: int | None
    expect: tuple[Expectation, ...]
    profiles: tuple[Profile, ...]
    sets: tuple[str, ...]
    only: tuple[str, ...]
    labels: Mapping[str, str]
    about: Mapping[str, str]
    files: PlanFiles
    _table: Table = field(repr=False)

    def title_in(self, language: str) -> str:
        """The title in a language, or the only one."""
        return (self.title_zh if language == "zh" else None) or self.title

    def question_in(self, language: str) -> str:
        """The question in a language, or the only one; empty without any."""
        return (self.question_zh if language == "zh" else None) or self.question

    @property
    def monitors(self) -> Mapping[str, Options]:
        """Monitors by name, with the options the plan itself gives them."""
        return self.base.monitors

    @property
    def limits(self) -> Limits:
        """The plan's own time limits."""
        return self.base.limits

    @property
    def treatment_count(self) -> int:
        """Number of treatments there are, without building any."""
        return len(self._table)

    def size(self) -> int:
        """Number of trials a run has, without building any."""
        return self.treatment_count * self.repeats

    def treatment(self, index: int) -> Treatment:
        """The treatment with this number (from 0) in the order of the plan.

        Raises PlanError when it proves to be wrong.
        """
        treatment, problems = self._table.build(index)
        if treatment is None:
            raise PlanError(in_order(problems))
        return treatment

    @cached_property
    def treatments(self) -> tuple[Treatment, ...]:
        """Every treatment, in the order of the plan.

        Raises PlanError when one of very many proves to be wrong.
        """
        problems: list[Problem] = []
        built: list[Treatment] = []
        for index in range(self.treatment_count):
            treatment, problem = self._table.build(index)
            problems.extend(problem)
            if treatment is not None:
                built.append(treatment)
        if problems:
            raise PlanError(in_order(problems))
        return tuple(built)


def load_plan(
    path: Path,
    parts: Parts,
    *,
    sets: Sequence[str] = (),
    only: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    directory: Path | None = None,
    added_labels: Sequence[str] = (),
    copies: Mapping[str, Path] | None = None,
    name: str | None = None,
    begun: bool = False,
) -> LoadedPlan:
    """Read and check a plan. Raises PlanError with all mistakes.

    `sets`, `only` and `added_labels` are the texts after `--set`, `--only` and `--label`; `env` holds the
    secrets (default: the process's environment); files that the plan names are looked for from `directory`
    (default: the plan's own), or are `copies`, by their names; `name` is the plan's (default: the file's).
    `begun`: it is that of a run, in which trials with more clients than the target accepts have failed.
    """
    return load_text(
        read_text(path),
        path,
        parts,
        sets=sets,
        only=only,
        env=env,
        directory=directory,
        added_labels=added_labels,
        copies=copies,
        name=name,
        begun=begun,
    )


def load_text(
    text: str,
    path: Path,
    parts: Parts,
    *,
    sets: Sequence[str] = (),
    only: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    placed: bool = True,
    directory: Path | None = None,
    added_labels: Sequence[str] = (),
    copies: Mapping[str, Path] | None = None,
    name: str | None = None,
    begun: bool = False,
) -> LoadedPlan:
    """Check a plan that is no file, or none yet: `path` is what it is called, and `directory` (default: the
    path's) where it names files from.

    Not `placed`: nobody sees the text, so mistakes are not given as its lines.
    """
    problems: list[Problem] = []
    files = PlanFiles((directory or path.parent).absolute(), copies or {})
    root = _tree(text, path, problems, placed)
    problems.extend(_unknown_keys(root, parts))
    root = groups.by_name(root.without(*(key for key in root.entries if key not in KEYS)), problems)
    root = apply_sets(root, sets, parts, problems)
    problems.extend(_nul_bytes(root))
    problems.extend(secrets.problems_of(root, os.environ if env is None else env))
    searching = is_search(root)
    labels_of_plan, about = (labels.read(root, key, problems) for key in (labels.LABELS, labels.ABOUT))
    problems.extend(labels.problems_of_options(added_labels))
    head = _head(root.without("design") if searching else root, problems)
    expect = tuple(_expectations(root, problems))
    profiles = read_profiles(root, problems, files)
    before = len(problems)
    factors = read_factors(root, parts, problems)
    search = read_search(root, factors, parts, problems) if searching else None
    misread = len(problems) > before
    if search is not None:
        problems.extend(useless(search[0].key, sets, only))
    others = [text for text in only if search is None or not names(search[0].key, text)]
    chosen = chosen_levels(others, factors, problems)
    if search is not None:
        factors = (*factors, search[1])
    root = with_monitors_by_name(root, parts, problems)

    plan = arrange(
        root, factors, head.design if head else "full", chosen, Resolver(parts, expect, files, begun=begun)
    )
    problems.extend(_settled(plan, misread))
    problems.extend(strangers(profiles, root, plan.table.names))
    if profiles:
        checked = _checked_treatments(plan)
        under = {treatment.id: treatment.resolved.target.slowed_by for treatment in checked}
        problems.extend(slowed(profiles, root, under))
        workloads = {
            treatment.id: [group.workload_name for group in treatment.resolved.client_groups]
            for treatment in checked
        }
        problems.extend(misplaced(profiles, root, workloads))
    if problems or head is None or plan.base is None:
        raise PlanError(in_order(problems))
    name = name or _slug(path.stem)
    loaded = LoadedPlan(
        path=path,
        directory=files.directory,
        text=text,
        name=name,
        title=_text(head.title) or name,
        question=_text(head.question),
        title_zh=_in_chinese(head.title),
        question_zh=_in_chinese(head.question),
        base=plan.base,
        factors=plan.factors,
        design=head.design if search is None else "search",
        search=None if search is None else search[0],
        repeats=head.repeats,
        order=head.order,
        seed=head.seed,
        expect=expect,
        profiles=profiles,
        sets=tuple(sets),
        only=tuple(only),
        labels={**labels_of_plan, **labels.of_options(added_labels)},
        about=about,
        files=files,
        _table=plan.table,
    )
    if (problem := _too_few_requests(loaded, root)) is not None:
        raise PlanError([problem])
    return loaded


def _too_few_requests(plan: LoadedPlan, root: Keys) -> Problem | None:
    """The first lowest level of a search that has too few requests for its bounds."""
    if plan.search is None:
        return None
    for index in range(0, plan.treatment_count, len(plan.search.labels)):
        message = search.too_few(plan.search, plan.treatment(index).resolved.load)
        if message is not None:
            node = at(root, ("design", "search"))
            mark = node.mark_of("between") if isinstance(node, Keys) else root.mark
            return Problem(mark, "design.search.between", message)
    return None


def _checked_treatments(plan: Arrangement) -> list[Treatment]:
    """The treatments, as far as they are checked before a run."""
    built = (plan.table.build(index)[0] for index in range(min(len(plan.table), CHECKED_AT_ONCE)))
    return [treatment for treatment in built if treatment is not None]


def _nul_bytes(root: Keys) -> Iterator[Problem]:
    """Values with a NUL byte (an escape in YAML): no program, file or variable takes one."""
    for path, scalar in scalars(root):
        if isinstance(scalar.value, str) and "\0" in scalar.value:
            yield Problem(scalar.mark, ".".join(path), PLAN_NUL_BYTE())


def _tree(text: str, path: Path, problems: list[Problem], placed: bool) -> Keys:
    root = compose(text, str(path), problems, placed=placed)
    if isinstance(root, Keys):
        return root
    mark = root.mark if root is not None else Mark(str(path))
    code = PLAN_EMPTY if root is None else PLAN_NO_MAPPING
    raise PlanError([*problems, Problem(mark, "", code.pick(value=shown(root and plain(root)), keys=KEYS))])


def _settled(plan: Arrangement, misread: bool) -> Iterator[Problem]:
    """Mistakes in the settings; settings that an unreadable factor would have given are not missed.

    A mistake of many treatments is given once, in the words of the last: levels mostly rise. One that each
    level of a factor makes in the same words is given at the first.
    """
    latest: dict[tuple[Mark, str, str], list[Problem]] = {}
    reported: set[tuple[str, Message]] = set()
    for problems in (plan.problems, *plan.table.check(CHECKED_AT_ONCE)):
        alike: dict[tuple[Mark, str, str], list[Problem]] = {}
        for problem in problems:
            if not (misread and problem.missing):
                alike.setdefault((problem.mark, problem.path, problem.message.code), []).append(problem)
        for key, mistakes in alike.items():
            if key in latest or not reported.issuperset((item.path, item.message) for item in mistakes):
                latest[key] = mistakes
        reported.update((item.path, item.message) for mistakes in alike.values() for item in mistakes)
    for problems in latest.values():
        yield from problems


def _slug(stem: str) -> str:
    """A name for directories from a file's name."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-.") or "plan"


def _unknown_keys(root: Keys, parts: Parts) -> Iterator[Problem]:
    for key, entry in root.entries.items():
        if key not in KEYS:
            deeper = [path for path in settings(parts) if path.rpartition(".")[2] == key]
            near = deeper[0] if deeper else nearest(key, KEYS)
            yield Problem(entry.mark, key, UNKNOWN_KEY(key=shown(key), keys=KEYS), near)


def _head(root: Keys, problems: list[Problem]) -> Head | None:
    head = root.without(*(key for key in root.entries if key not in Head.model_fields))
    return read_model(Head, head, (), root.mark, problems)


def _text(text: str | Bilingual) -> str:
    """The only text, or the English one of two."""
    return text.en if isinstance(text, Bilingual) else text


def _in_chinese(text: str | Bilingual) -> str | None:
    return text.zh if isinstance(text, Bilingual) else None


def _figures(root: Keys) -> tuple[str, ...]:
    """Names that the plan gives to metrics of its workload (`figures`) and of its monitors (`metrics`), where
    these take such names.
    """
    monitors = root.get("monitors")
    parts = [(root.get("workload"), "figures"), (monitors, "metrics")]
    parts += [(node, "metrics") for node in (monitors.nodes if isinstance(monitors, Items) else ())]
    named = [
        entry.node.get(key)
        for section, key in parts
        if isinstance(section, Keys)
        for entry in section.entries.values()
        if isinstance(entry.node, Keys)
    ]
    return tuple(
        name
        for node in named
        if isinstance(node, Keys)
        for name in node.entries
        if metrics.find(name) is None
    )


def _expectations(root: Keys, problems: list[Problem]) -> Iterator[Expectation]:
    node = root.get("expect")
    if node is None or plain(node) is None:
        return
    if not isinstance(node, Items):
        message = INVALID(value=shown(plain(node)), allowed=ALLOWED_EXPECTATIONS())
        problems.append(Problem(node.mark, "expect", message))
        return
    for item in node.nodes:
        try:
            if not isinstance(item, Scalar):
                raise SettingError(INVALID(value=shown(plain(item)), allowed=ALLOWED_EXPECTATION_TEXT()))
            yield Expectation.parse(item.text, groups.names(root), _figures(root))
        except SettingError as error:
            problems.append(error.at(item.mark, "expect"))


__all__ = ["KEYS", "LoadedPlan", "load_plan", "load_text"]

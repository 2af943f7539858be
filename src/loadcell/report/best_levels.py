"""`loadcell recommend`: the best level of each factor of one or several runs, with its evidence."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from loadcell.analysis.analyse import analyse
from loadcell.analysis.best_levels import (
    Choice,
    Combination,
    Comparison,
    Level,
    Step,
    choices,
    combined,
    is_usable,
)
from loadcell.analysis.compare.differences import DISTURBED_SIDE, KINDS
from loadcell.analysis.disturbances import WAITING, noticed_in
from loadcell.analysis.jvm_evidence import SizedRun
from loadcell.analysis.jvm_sizing import Machine, Sizing, size, target_memory
from loadcell.analysis.level_criteria import (
    CRITERIA,
    CRITERION_NAMES,
    MAXIMUM,
    TAIL,
    Criterion,
    failed_share,
)
from loadcell.analysis.treatments import Treatment, unit_of
from loadcell.analysis.validity import check_advice
from loadcell.model import numbers
from loadcell.model.json import JsonObject
from loadcell.model.message import Count, Labels, Message, MessageCode, Severity, Share
from loadcell.report import jvm_sizing
from loadcell.report.blocks import Block, Cell, Code, Column, Paragraph, Remark, Report, Section, Table, Tone
from loadcell.report.publish import Document
from loadcell.report.sections.environment import run_again
from loadcell.report.texts import Texts
from loadcell.store.layout import StoreError, quoted
from loadcell.store.read import StoredRun, read_run

NO_FACTOR = MessageCode("best-level.no-factor", run=str)
_BEST = MessageCode("best-level.best", factor=str, level=str)
_LEFT = MessageCode("best-level.left", factor=str, levels=list)
_ALL_LEFT = MessageCode("best-level.all-left", factor=str, levels=list)
_LOWEST = MessageCode("best-level.lowest-p99", level=str, p99=str)
_FEWEST = MessageCode("best-level.fewest-unusable", level=str, count=Count, of=Count)
_FIRST = MessageCode("best-level.first", level=str)
_NONE = MessageCode("best-level.none", factor=str)
_ONLY_USABLE = MessageCode("best-level.only-usable")
_EXCLUDED = MessageCode("best-level.excluded", criterion=str, level=str, value=str, levels=list, values=list)
_FAILED = MessageCode("best-level.failed", level=str, failed_share=Share, trial=str)
_BROKEN = MessageCode("best-level.broken", level=str, count=Count, of=Count, trial=str, why=Message)
_BROKEN_SILENT = MessageCode("best-level.broken.silent", level=str, count=Count, of=Count, trial=str)
_NO_REPEATS = MessageCode("best-level.no-repeats")
_ONE_REPEAT = MessageCode("best-level.one-repeat", factors=list)
_DISTURBED = MessageCode("best-level.disturbed", levels=list, kinds=list)
_WAITED = MessageCode("best-level.waited", levels=list, advice=Message)
_FEW_REQUESTS = MessageCode("best-level.few-requests", levels=list)
_NO_TAIL = MessageCode("best-level.no-p99", levels=list)
_LEFT_OUT = MessageCode("best-level.left-out", combinations=list, criteria=list)
_NOT_COMPARED = MessageCode("best-level.not-compared", criteria=list)
_AVERAGED = MessageCode("best-level.averaged", factors=list)
_UNUSABLE_COMBINED = MessageCode("best-level.unusable-combination", treatment=str)
_RESULT = Labels("best-level.result", ("best", "left", "worse", "unusable", "none"))
_METHOD = MessageCode("best-level.method", limit_share=Share)


@dataclass(frozen=True)
class Recommended:
    """The choices of one run. `unusable` names the treatment of all best levels if it was not usable."""

    stored: StoredRun
    choices: tuple[Choice, ...]
    treatments: tuple[Treatment, ...]
    unusable: str | None


def gather(directories: Sequence[Path], most_failed: float) -> tuple[Recommended, ...]:
    """The choices of each run. Raises StoreError if none of them has a factor to choose a level of."""
    runs = []
    for directory in directories:
        stored = read_run(directory)
        treatments = analyse(stored.run, stored.trials).treatments
        chosen = choices(treatments, most_failed)
        combination = combined(chosen, treatments)
        if combination is None or is_usable(combination, most_failed):
            runs.append(Recommended(stored, chosen, treatments, None))
        else:
            runs.append(Recommended(stored, chosen, treatments, combination.label))
    if not any(run.choices for run in runs):
        raise StoreError(NO_FACTOR(run=", ".join(run.stored.id for run in runs)))
    return tuple(runs)


def sized(runs: Sequence[Recommended], machine: Machine, tested_bytes: int | None = None) -> Sizing:
    """The sizing for a machine by all runs. `tested_bytes` replaces the memory of the tested machine.

    Raises SizingError.
    """
    measured = []
    for run in runs:
        memory_bytes = tested_bytes or target_memory(run.stored.environment)
        measured.append(SizedRun(run.stored.id, run.choices, run.treatments, memory_bytes))
    return size(measured, machine)


def document(
    runs: Sequence[Recommended], most_failed: float, lang: str, sizing: Sizing | None = None
) -> Document:
    """The recommendation in every form."""
    return Document(
        "recommendation",
        lambda _: _report(runs, most_failed, lang, sizing),
        lambda _: _report(runs, most_failed, lang, sizing),
        lambda: {
            "runs": [_data(run) for run in runs],
            **({} if sizing is None else {"sizing": jvm_sizing.document(sizing)}),
        },
    )


def _report(runs: Sequence[Recommended], most_failed: float, lang: str, sizing: Sizing | None) -> Report:
    texts = Texts(lang, unit_of(record for run in runs for record in run.stored.trials))
    sections = [
        section
        for number, run in enumerate(runs, 1)
        for section in _sections(run, number, texts, len(runs) > 1)
    ]
    if sizing is not None:
        sections.append(jvm_sizing.section(sizing, texts))
    sections.append(
        Section("method", "", [Paragraph(texts.message(_METHOD(limit_share=most_failed)), quiet=True)])
    )
    names = [run.stored.id for run in runs]
    return Report(
        language=lang,
        title=texts("best-level.title"),
        question=texts("mark.list").join(names),
        run_id=names[0],
        badges=[],
        sections=sections,
        kind="best-level.kind",
        unit=texts.unit,
    )


def _sections(run: Recommended, number: int, texts: Texts, several: bool) -> Iterator[Section]:
    for choice in run.choices:
        title = f"{choice.name} ({run.stored.id})" if several else choice.name
        yield Section(f"factor-{number}-{choice.name}", title, _blocks(choice, texts))
    if chosen := [choice for choice in run.choices if choice.remaining]:
        again = run_again(run.stored.path, run.stored.run)
        command = [Code(texts("best-level.command"), f"{again} {_only(run, chosen)}")] if again else []
        settings = {path: value for choice in chosen for path, value in choice.remaining[0].values.items()}
        lines = "\n".join(
            f"{path}: {json.dumps(value, ensure_ascii=False)}" for path, value in settings.items()
        )
        settings_block = Code(texts("best-level.settings"), lines, "yaml")
        warned = run.unusable and texts.message(_UNUSABLE_COMBINED(treatment=run.unusable))
        remarks = [Remark("problem", warned)] if warned else []
        yield Section(f"command-{number}", "", [*remarks, *command, settings_block])


def _only(run: Recommended, chosen: Sequence[Choice]) -> str:
    """Options for the best levels, and those of the run for other factors, which they would replace."""
    names = {name for choice in chosen for name in (choice.key, choice.name)}
    retained = [word for word in run.stored.run.only if word.partition("=")[0].strip() not in names]
    words = [*retained, *(f"{choice.name}={choice.remaining[0].label}" for choice in chosen)]
    return " ".join(f"--only {quoted(word)}" for word in words)


def _blocks(choice: Choice, texts: Texts) -> list[Block]:
    return [_table(choice, texts), *(Remark(severity, text) for severity, text in _statements(choice, texts))]


def _statements(choice: Choice, texts: Texts) -> Iterator[tuple[Severity, str]]:
    yield _answer(choice, texts)
    for step in choice.steps:
        yield "info", texts.message(_excluded(choice, step, texts))
    for level in choice.unusable:
        yield "caution" if level.usable else "problem", texts.message(_unusable(level))
    yield from (("caution", texts.message(message)) for message in _restrictions(choice, texts))
    if choice.repeats < 2 and not choice.repeated and len(choice.remaining) > 1:
        yield "caution", texts.message(_NO_REPEATS())
    elif choice.repeats == 1 and choice.averaged:
        yield "caution", texts.message(_ONE_REPEAT(factors=choice.averaged))
    if choice.averaged:
        yield "caution", texts.message(_AVERAGED(factors=choice.averaged))
    yield from (("caution", texts.message(message)) for message in _disturbances(choice))


def _disturbances(choice: Choice) -> Iterator[Message]:
    """Disturbances of the machine by level, as a comparison of runs has them by side."""
    by_level = [(level.label, noticed_in(level.trials)) for level in choice.levels]
    kinds = sum((Counter(noticed.kinds) for _, noticed in by_level), Counter[str]())
    if kinds:
        levels = [
            DISTURBED_SIDE(side=label, count=item.count, of=item.of) for label, item in by_level if item.count
        ]
        yield _DISTURBED(levels=levels, kinds=[KINDS[check]() for check, _ in kinds.most_common()])
    if any(noticed.waited for _, noticed in by_level):
        levels = [
            DISTURBED_SIDE(side=label, count=item.waited, of=item.of)
            for label, item in by_level
            if item.waited
        ]
        yield _WAITED(levels=levels, advice=check_advice(WAITING))


def _answer(choice: Choice, texts: Texts) -> tuple[Severity, str]:
    if not choice.remaining:
        return "problem", texts.message(_NONE(factor=choice.name))
    first = choice.remaining[0]
    if choice.best is not None:
        sentence = texts.message(_BEST(factor=choice.name, level=first.label))
        if choice.steps:
            return "good", sentence
        return "good", texts.joined(sentence, texts.message(_ONLY_USABLE()))
    code = _ALL_LEFT if len(choice.remaining) == len(choice.levels) else _LEFT
    sentence = texts.message(code(factor=choice.name, levels=[level.label for level in choice.remaining]))
    return "caution", texts.joined(sentence, texts.message(_named_first(choice)))


def _named_first(choice: Choice) -> Message:
    """Why the first of several levels is the first."""
    first = choice.remaining[0]
    value = choice.value(first, TAIL)
    if value is not None and choice.has_lowest_tail(first, choice.remaining):
        return _LOWEST(level=first.label, p99=_written(TAIL, value))
    if first.unusable < max(level.unusable for level in choice.remaining):
        return _FEWEST(level=first.label, count=first.unusable, of=first.treatments)
    return _FIRST(level=first.label)


def _restrictions(choice: Choice, texts: Texts) -> Iterator[Message]:
    """Levels without a p99, and combinations of the other factors that are not compared."""
    if few := [level.label for level in choice.levels if level.has_few_requests]:
        yield _FEW_REQUESTS(levels=few)
    if lacking := [level.label for level in choice.levels if level.lacks_tail]:
        yield _NO_TAIL(levels=lacking)
    if sum(level.usable for level in choice.levels) < 2:
        return
    left_out: dict[tuple[Combination, ...], list[str]] = {}
    undecided = []
    for comparison in _shown(choice):
        name = texts(CRITERION_NAMES(comparison.criterion.name))
        if not comparison.decides:
            undecided.append(name)
        elif missing := tuple(item for item in choice.combinations if item not in comparison.combinations):
            left_out.setdefault(missing, []).append(name)
    for combinations, names in left_out.items():
        labels = [" + ".join(combination) for combination in combinations]
        yield _LEFT_OUT(combinations=labels, criteria=names)
    if undecided:
        yield _NOT_COMPARED(criteria=undecided)


def _shown(choice: Choice) -> list[Comparison]:
    """Comparisons of criteria of which a level has values."""
    return [
        item
        for item in choice.comparisons
        if any(level.combinations(item.criterion) for level in choice.levels)
    ]


def _excluded(choice: Choice, step: Step, texts: Texts) -> Message:
    criterion = step.criterion
    value = choice.value(step.best, criterion) or 0.0
    return _EXCLUDED(
        criterion=texts(CRITERION_NAMES(criterion.name)),
        level=step.best.label,
        value=_written(criterion, value),
        levels=[level.label for level in step.excluded],
        values=[_written(criterion, choice.value(level, criterion) or 0.0) for level in step.excluded],
    )


def _unusable(level: Level) -> Message:
    """Why treatments of a level are unusable: trials without a result, or too many failures."""
    if not level.broken:
        worst = max(level.trials, key=lambda trial: failed_share(trial) or 0.0)
        return _FAILED(level=level.label, failed_share=failed_share(worst) or 0.0, trial=worst.name)
    numbers_of = {"level": level.label, "count": len(level.broken), "of": len(level.trials)}
    trial = level.broken[0]
    if trial.why is None:
        return _BROKEN_SILENT(trial=trial.name, **numbers_of)
    return _BROKEN(trial=trial.name, why=trial.why, **numbers_of)


def _written(criterion: Criterion, value: float) -> str:
    """A value with its unit: shares in percent, response times in milliseconds."""
    return numbers.milliseconds(value) if criterion in (TAIL, MAXIMUM) else numbers.share(value)


def _table(choice: Choice, texts: Texts) -> Table:
    criteria = [item.criterion for item in _shown(choice)]
    columns = [
        Column(choice.name),
        Column(texts("best-level.column.trials"), figure=True),
        *(Column(texts(CRITERION_NAMES(criterion.name)), figure=True) for criterion in criteria),
        Column(texts("best-level.column.result")),
    ]
    rows = [
        [
            Cell(level.label, strong=level is choice.best),
            Cell(texts("mark.of", part=len(level.counting), whole=len(level.trials))),
            *(_value(choice, level, criterion, texts) for criterion in criteria),
            _result(choice, level, texts),
        ]
        for level in choice.levels
    ]
    return Table(f"table-{choice.name}", "", columns, rows, only=True)


def _value(choice: Choice, level: Level, criterion: Criterion, texts: Texts) -> Cell:
    value = choice.value(level, criterion)
    return Cell(texts("mark.none")) if value is None else Cell(_written(criterion, value), sort=value)


def _result(choice: Choice, level: Level, texts: Texts) -> Cell:
    result, tone = _judged(choice, level)
    step = next((step for step in choice.steps if level in step.excluded), None)
    criterion = "" if step is None else texts(CRITERION_NAMES(step.criterion.name))
    return Cell(texts(_RESULT(result), criterion=criterion), tone=tone)


def _judged(choice: Choice, level: Level) -> tuple[str, Tone]:
    """Result of a level in its choice, and its tone."""
    if not level.usable:
        return ("unusable", "problem") if level.unusable else ("none", "caution")
    if level is choice.best:
        return "best", "good"
    return ("left", "") if level in choice.remaining else ("worse", "caution")


def _data(run: Recommended) -> JsonObject:
    """For scripts: levels with their values, and the criterion that excluded each."""
    return {"run": run.stored.id, "factors": [_factor(choice) for choice in run.choices]}


def _factor(choice: Choice) -> JsonObject:
    excluded = {level: step.criterion.name for step in choice.steps for level in step.excluded}
    return {
        "factor": choice.key,
        "best": None if choice.best is None else choice.best.label,
        "not_distinguishable": [level.label for level in choice.remaining] if choice.best is None else [],
        "averaged_over": list(choice.averaged),
        "levels": [
            {
                "level": level.label,
                "settings": dict(level.values),
                "trials": len(level.trials),
                "counting": len(level.counting),
                "result": _judged(choice, level)[0],
                "excluded_by": excluded.get(level),
                **{criterion.name: choice.value(level, criterion) for criterion in CRITERIA},
            }
            for level in choice.levels
        ],
    }

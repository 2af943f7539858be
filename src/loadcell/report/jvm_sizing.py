"""The sizing of `loadcell recommend --memory --shards`: formula, values, and evidence per term."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction

from loadcell.analysis.jvm_evidence import VERDICTS, Term, Verdict
from loadcell.analysis.jvm_memory import (
    CACHE,
    COLLECTOR,
    DIRECT,
    HEAP,
    NEW_RATIO,
    OFF_HEAP,
    TERM_NAMES,
    VERSION,
    YOUNG,
    TermKind,
    Values,
    bare,
    flags_of,
)
from loadcell.analysis.jvm_sizing import MOST_TIMES, Sizing
from loadcell.model import numbers
from loadcell.model.json import JsonObject, JsonValue
from loadcell.model.jvm_caches import CACHE_BYTES, CACHE_PERCENT, OFF_HEAP_BYTES, SHARDS
from loadcell.model.jvm_pointers import USUAL
from loadcell.model.message import Bytes, Count, Factor, Message, MessageCode, Severity, Share
from loadcell.plan.units import Size
from loadcell.report.blocks import Cell, Code, Column, Paragraph, Remark, Section, Table, Tone
from loadcell.report.texts import Texts

_BEST = MessageCode(
    "sizing.best", term=str, levels=list, level=str, factor=str, count=Count, others=Count, run=str
)
_LEFT = MessageCode(
    "sizing.left", term=str, levels=list, level=str, factor=str, count=Count, others=Count, run=str
)
_LEFT_FEWEST = MessageCode(
    "sizing.left-fewest", term=str, levels=list, level=str, factor=str, count=Count, others=Count, run=str
)
_UNUSABLE_TREATMENTS = MessageCode(
    "sizing.unusable-treatments", term=str, level=str, count=Count, of=Count, run=str
)
_PASSED_OVER = MessageCode("sizing.passed-over", term=str, levels=list, count=Count, factor=str, run=str)
_NEXT = MessageCode("sizing.next", term=str, level=str, factor=str, count=Count, others=Count, run=str)
_ONLY_LASTING = MessageCode(
    "sizing.only-lasting", term=str, level=str, factor=str, count=Count, others=Count, run=str
)
_NO_REPEATS_LASTING = MessageCode("sizing.no-repeats-lasting", term=str, level=str, factor=str, run=str)
_NO_REPEATS = MessageCode("sizing.no-repeats", term=str, level=str, factor=str, run=str)
_NO_REPEATS_FEWEST = MessageCode("sizing.no-repeats-fewest", term=str, level=str, factor=str, run=str)
_UNUSABLE = MessageCode("sizing.unusable", term=str, factor=str, run=str)
_CONSTANT = MessageCode("sizing.constant", term=str, settings=list, run=str)
_CONSTANT_SHARE = MessageCode("sizing.constant-share", term=str, settings=list, run=str)
_ALSO = MessageCode("sizing.also", term=str, terms=list, factor=str, run=str)
_OTHERS = MessageCode("sizing.others", term=str, run=str, runs=list)
_OTHER_CONSTANT = MessageCode("sizing.other-constant", term=str, run=str, runs=list)
_UNSET = MessageCode("sizing.unset", terms=list)
_NO_OFF_HEAP = MessageCode("sizing.no-off-heap", version=str)
_SIZE_FLAGS = MessageCode("sizing.size-flags", flags=list, tested_bytes=Bytes)
_AVOIDED = MessageCode(
    "sizing.avoided",
    part_share=Share,
    computed_bytes=Bytes,
    limit_bytes=Bytes,
    pays_off_bytes=Bytes,
    largest_bytes=Bytes,
    heap_bytes=Bytes,
)
_NEVER_COMPRESSED = MessageCode("sizing.never-compressed", heap_bytes=Bytes, settings=list)
_COMPRESSED = MessageCode("sizing.compressed", heap_bytes=Bytes, settings=list, limit_bytes=Bytes)
_CACHES_EXCEED = MessageCode("sizing.caches-exceed", cache_bytes=Bytes, heap_bytes=Bytes)
_TESTED = MessageCode("sizing.tested", part_share=Share, memory_bytes=Bytes, run=str)
_LARGER = MessageCode("sizing.larger", heap_bytes=Bytes, tested_bytes=Bytes, larger_times=Factor)
_MORE_SHARDS = MessageCode("sizing.more-shards", shards=Count, tested=Count)
_SMALL_USE = MessageCode("sizing.small-use", used_share=Share, unused_bytes=Bytes)
_TOO_MUCH = MessageCode("sizing.too-much", wanted_bytes=Bytes, memory_bytes=Bytes)
_LITTLE = MessageCode("sizing.little", remaining_bytes=Bytes, memory_bytes=Bytes)

#: Tests that used a smaller share of their machine's memory leave most of a machine unused.
_LEAST_USED = 0.25
#: Less of the memory for the operating system is remarked on.
_LEAST_REMAINING = 0.1
_TONES: dict[Verdict, Tone] = {"best": "good", "unusable": "problem", "unset": ""}
_SEVERITIES: dict[Verdict, Severity] = {"best": "info", "constant": "info", "unusable": "problem"}
_TARGET = "target.jvm."


def section(sizing: Sizing, texts: Texts) -> Section:
    """The values with their formula, the evidence, and the settings to copy."""
    machine = sizing.machine
    title = texts("sizing.title", memory_bytes=machine.memory_bytes, shards=machine.shards)
    remarks = [Remark(severity, text) for severity, text in _statements(sizing, texts)]
    values = settings(sizing)
    lines = "\n".join(f"{_TARGET}{path}: {json.dumps(value, ensure_ascii=False)}" for path, value in values)
    settings_block = [Code(texts("sizing.settings"), lines, "yaml")] if values else []
    note = Paragraph(texts("sizing.method"), quiet=True)
    return Section("sizing", title, [_table(sizing, texts), *remarks, *settings_block, note])


def settings(sizing: Sizing) -> Values:
    """Settings below `target.jvm` for the machine; none if they need more than its memory or heap."""
    if not sizing.fits:
        return ()
    young, version = (sizing.term(kind).settings for kind in (YOUNG, VERSION))
    values: list[tuple[str, JsonValue]] = [("heap", Size(sizing.heap_bytes).text)]
    if sizing.young_bytes is not None:
        ratio = [(path, value) for path, value in young if path == f"flags.{NEW_RATIO}"]
        values += ratio if len(ratio) == len(young) else [("young", Size(sizing.young_bytes).text)]
    if sizing.direct_bytes is not None:
        values.append(("direct", Size(sizing.direct_bytes).text))
    values += [*sizing.term(COLLECTOR).needed, *sizing.collector, *version]
    if (cache := sizing.cache) is not None or sizing.off_heap_shard_bytes is not None:
        values.append((f"properties.{SHARDS}", sizing.machine.shards))
    if cache is not None and cache.percent is not None:
        values.append((f"properties.{CACHE_PERCENT}", cache.percent))
    elif cache is not None:
        values.append((f"properties.{CACHE_BYTES}", cache.shard_bytes))
    if sizing.off_heap_shard_bytes is not None:
        values.append((f"properties.{OFF_HEAP_BYTES}", sizing.off_heap_shard_bytes))
    return tuple(values)


def document(sizing: Sizing) -> JsonObject:
    """For scripts: sizes in bytes, coefficients, and the trials of each term."""
    shares, cache = sizing.shares, sizing.cache
    coefficients = {
        HEAP: shares.heap,
        YOUNG: shares.young,
        CACHE: shares.cache,
        OFF_HEAP: shares.off_heap,
        DIRECT: shares.direct,
    }
    return {
        "memory_bytes": sizing.machine.memory_bytes,
        "shards": sizing.machine.shards,
        "heap_bytes": sizing.heap_bytes,
        "computed_heap_bytes": sizing.computed_heap_bytes,
        "young_bytes": sizing.young_bytes,
        "cache_bytes": None if cache is None else cache.total_bytes,
        "cache_shard_bytes": None if cache is None else cache.shard_bytes,
        "cache_percent": None if cache is None else cache.percent,
        "off_heap_bytes": sizing.off_heap_bytes,
        "off_heap_shard_bytes": sizing.off_heap_shard_bytes,
        "direct_bytes": sizing.direct_bytes,
        "remaining_bytes": sizing.remaining_bytes,
        "fits": sizing.fits,
        "largest_heap_tested_bytes": sizing.tested.heap_bytes,
        "tested_memory_bytes": sizing.tested.memory_bytes,
        "most_shards_tested": sizing.tested.shards,
        "settings": {f"{_TARGET}{path}": value for path, value in settings(sizing)},
        "terms": [
            {
                "term": term.kind.name,
                "coefficient": None
                if (value := coefficients.get(term.kind)) is None
                else round(float(value), 6),
                **_evidence(term),
            }
            for term in sizing.terms
        ],
    }


def _evidence(term: Term) -> JsonObject:
    choice, level = term.choice, term.level
    return {
        "evidence": term.verdict,
        "run": term.run and term.run.name,
        "tested": {f"{_TARGET}{path}": value for path, value in term.settings},
        "factor": choice and choice.key,
        "level": level and level.label,
        "also_varied": [kind.name for kind in term.also],
        "levels": [] if choice is None else [item.label for item in choice.levels],
        "not_distinguishable": []
        if choice is None or choice.best is not None
        else [item.label for item in choice.remaining],
        "passed_over": [item.label for item in term.passed_over],
        "trials": [] if level is None else [trial.name for trial in level.counting],
        "trials_of_other_levels": _of_others(term),
    }


def _of_others(term: Term) -> int:
    """Number of trials of the other levels that count."""
    levels = () if term.choice is None else term.choice.levels
    return sum(len(level.counting) for level in levels if level is not term.level)


def _table(sizing: Sizing, texts: Texts) -> Table:
    columns = [
        Column(texts("sizing.column.term")),
        Column(texts("sizing.column.value"), figure=True),
        Column(texts("sizing.column.formula"), code=True),
        Column(texts("sizing.column.evidence")),
    ]
    return Table("table-sizing", "", columns, list(_rows(sizing, texts)), only=True)


def _rows(sizing: Sizing, texts: Texts) -> Iterator[list[Cell]]:
    shares, outside = sizing.shares, "(memory − heap)"
    yield _row(sizing, HEAP, sizing.heap_bytes, f"{_written(shares.heap)} × memory", texts)
    if shares.young is not None:
        yield _row(sizing, YOUNG, sizing.young_bytes, f"{_written(shares.young)} × heap", texts)
    if shares.cache is not None and (cache := sizing.cache) is not None:
        formula = f"{_written(shares.cache)} × heap"
        yield _row(sizing, CACHE, cache.total_bytes, formula, texts)
        yield _derived(texts("sizing.cache-of-shard"), cache.shard_bytes, f"{formula} / shards")
    if shares.off_heap is not None:
        formula = f"{_written(shares.off_heap)} × {outside}"
        yield _row(sizing, OFF_HEAP, sizing.off_heap_bytes, formula, texts)
        yield _derived(texts("sizing.off-heap-of-shard"), sizing.off_heap_shard_bytes, f"{formula} / shards")
    if shares.direct is not None:
        yield _row(sizing, DIRECT, sizing.direct_bytes, f"{_written(shares.direct)} × {outside}", texts)
    taken = {"direct": sizing.direct_bytes, "off-heap": sizing.off_heap_bytes}
    formula = " − ".join(["memory", "heap", *(name for name, size in taken.items() if size is not None)])
    yield _derived(texts("sizing.remaining"), sizing.remaining_bytes, formula)
    for kind, values in ((COLLECTOR, sizing.collector), (VERSION, sizing.term(VERSION).settings)):
        if values:
            yield _named(sizing.term(kind), values, texts)


def _name(kind: TermKind, texts: Texts) -> str:
    return texts(TERM_NAMES(kind.name))


def _written(share: Fraction) -> str:
    return numbers.short(float(share))


def _row(sizing: Sizing, kind: TermKind, size_bytes: int | None, formula: str, texts: Texts) -> list[Cell]:
    verdict = sizing.term(kind).verdict
    return [
        Cell(_name(kind, texts)),
        Cell(texts("mark.none") if size_bytes is None else numbers.size(size_bytes), sort=size_bytes),
        Cell(formula),
        _verdict(verdict, texts),
    ]


def _derived(name: str, size_bytes: int | None, formula: str) -> list[Cell]:
    return [Cell(name), Cell(numbers.size(size_bytes or 0), sort=size_bytes), Cell(formula), Cell("")]


def _named(term: Term, values: Values, texts: Texts) -> list[Cell]:
    """A row of a term that is no size."""
    written = texts("mark.list").join(_setting(path, value) for path, value in values)
    return [Cell(_name(term.kind, texts)), Cell(written), Cell(""), _verdict(term.verdict, texts)]


def _setting(path: str, value: JsonValue) -> str:
    """The collector or a version by its name, a flag with its own."""
    return f"{bare(path)}={_text(value)}" if flags_of(((path, value),)) else _text(value)


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _verdict(verdict: Verdict, texts: Texts) -> Cell:
    return Cell(texts(VERDICTS(verdict)), tone=_TONES.get(verdict, "caution"))


def _statements(sizing: Sizing, texts: Texts) -> Iterator[tuple[Severity, str]]:
    for term in sizing.terms:
        if (message := _supported(term, texts)) is not None:
            yield _SEVERITIES.get(term.verdict, "caution"), texts.message(message)
        if (level := term.level) is not None and level.unusable and term.run is not None:
            message = _UNUSABLE_TREATMENTS(
                term=_name(term.kind, texts),
                level=level.label,
                count=level.unusable,
                of=level.treatments,
                run=term.run.name,
            )
            yield "caution", texts.message(message)
        if term.passed_over and term.choice is not None and term.run is not None:
            message = _PASSED_OVER(
                term=_name(term.kind, texts),
                levels=[level.label for level in term.passed_over],
                count=len(term.passed_over),
                factor=term.choice.name,
                run=term.run.name,
            )
            yield "caution", texts.message(message)
        if term.also and term.choice is not None and term.run is not None:
            name, also = _name(term.kind, texts), [_name(kind, texts) for kind in term.also]
            message = _ALSO(term=name, terms=also, factor=term.choice.name, run=term.run.name)
            yield "caution", texts.message(message)
        if term.others and term.run is not None:
            name = _name(term.kind, texts)
            code = _OTHERS if term.choice else _OTHER_CONSTANT
            yield "caution", texts.message(code(term=name, run=term.run.name, runs=list(term.others)))
    unset = [_name(term.kind, texts) for term in sizing.terms if term.verdict == "unset"]
    if unset:
        yield "caution", texts.message(_UNSET(terms=unset))
    run = sizing.term(HEAP).run
    tested = _TESTED(
        part_share=float(sizing.shares.heap),
        memory_bytes=sizing.tested.memory_bytes,
        run="" if run is None else run.name,
    )
    yield "info", texts.message(tested)
    yield from ((severity, texts.message(message)) for severity, message in _of_settings(sizing))
    yield from (("caution", texts.message(message)) for message in _limits(sizing))


def _supported(term: Term, texts: Texts) -> Message | None:
    """The trials that support a term; None where nothing sets it."""
    name, run = _name(term.kind, texts), term.run
    if run is None:
        return None
    choice, level = term.choice, term.level
    if choice is None:
        settings = [f"{path}: {_text(value)}" for path, value in term.settings]
        code = _CONSTANT_SHARE if term.mixed else _CONSTANT
        return code(term=name, settings=settings, run=run.name)
    if level is None:
        return _UNUSABLE(term=name, factor=choice.name, run=run.name)
    lasting = [item for item in choice.remaining if item not in term.passed_over]
    lowest = choice.has_lowest_tail(level, lasting)
    if term.verdict == "no-repeats":
        code = _NO_REPEATS if lowest else _NO_REPEATS_FEWEST
        code = _NO_REPEATS_LASTING if term.passed_over else code
        return code(term=name, level=level.label, factor=choice.name, run=run.name)
    code, levels = _LEFT if lowest else _LEFT_FEWEST, lasting
    if term.verdict == "best":
        code, levels = _BEST, list(choice.levels)
    elif term.verdict == "next":
        code = _NEXT
    elif len(lasting) == 1:
        code = _ONLY_LASTING
    return code.pick(
        term=name,
        level=level.label,
        levels=[item.label for item in levels],
        factor=choice.name,
        count=len(level.counting),
        others=_of_others(term),
        run=run.name,
    )


def _of_settings(sizing: Sizing) -> Iterator[tuple[Severity, Message]]:
    """Settings that depend on others, and sizes that do not fit."""
    heap, cache, tested = sizing.heap_bytes, sizing.cache, sizing.tested
    yield from (("caution" if sizing.avoided else "info", message) for message in _pointers(sizing))
    if sizing.size_flags:
        flags = [_setting(path, value) for path, value in sizing.size_flags]
        yield "caution", _SIZE_FLAGS(flags=flags, tested_bytes=tested.heap_bytes)
    if sizing.lacks_off_heap:
        [(_, version)] = sizing.term(VERSION).settings
        yield "caution", _NO_OFF_HEAP(version=str(version))
    if cache is not None and not sizing.caches_fit:
        yield "problem", _CACHES_EXCEED(cache_bytes=cache.total_bytes, heap_bytes=heap)
    if sizing.remaining_bytes < 0:
        memory = sizing.machine.memory_bytes
        yield "problem", _TOO_MUCH(wanted_bytes=memory - sizing.remaining_bytes, memory_bytes=memory)


def _pointers(sizing: Sizing) -> Iterator[Message]:
    """Why the heap is or is not one of 32 to 40 GiB."""
    pointers, heap = sizing.pointers, sizing.heap_bytes
    if pointers is not None and sizing.avoided:
        yield _AVOIDED(
            part_share=float(sizing.shares.heap),
            computed_bytes=sizing.computed_heap_bytes,
            limit_bytes=pointers.limit_bytes,
            pays_off_bytes=pointers.pays_off_bytes,
            largest_bytes=pointers.largest_bytes,
            heap_bytes=heap,
        )
    elif USUAL.avoids(heap):
        settings = [_setting(path, value) for path, value in sizing.collector]
        if pointers is None:
            yield _NEVER_COMPRESSED(heap_bytes=heap, settings=settings)
        else:
            yield _COMPRESSED(heap_bytes=heap, settings=settings, limit_bytes=pointers.limit_bytes)


def _limits(sizing: Sizing) -> Iterator[Message]:
    """Limits of the measurements, and of the machine."""
    memory, heap, tested = sizing.machine.memory_bytes, sizing.heap_bytes, sizing.tested
    if heap > MOST_TIMES * tested.heap_bytes:
        yield _LARGER(heap_bytes=heap, tested_bytes=tested.heap_bytes, larger_times=heap / tested.heap_bytes)
    if sizing.machine.shards > MOST_TIMES * tested.shards:
        yield _MORE_SHARDS(shards=sizing.machine.shards, tested=tested.shards)
    if sizing.fits and tested.used < _LEAST_USED:
        yield _SMALL_USE(used_share=float(tested.used), unused_bytes=sizing.remaining_bytes)
    if 0 <= sizing.remaining_bytes < _LEAST_REMAINING * memory:
        yield _LITTLE(remaining_bytes=sizing.remaining_bytes, memory_bytes=memory)

"""The sizing of a JVM for another machine: shares of the best levels, with the trials behind each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, cast

import pytest

from analysis.runs import run_of
from loadcell.analysis.analyse import analyse
from loadcell.analysis.best_levels import choices
from loadcell.analysis.jvm_evidence import SizedRun
from loadcell.analysis.jvm_memory import (
    CACHE,
    COLLECTOR,
    DIRECT,
    HEAP,
    OFF_HEAP,
    VERSION,
    YOUNG,
    is_size_flag,
)
from loadcell.analysis.jvm_sizing import (
    GIB,
    MIB,
    Machine,
    Sizing,
    SizingError,
    bounded_heap,
    size,
    target_memory,
)
from loadcell.report.blocks import Remark
from loadcell.report.jvm_sizing import document, section, settings
from loadcell.report.texts import Texts

#: The machine and settings of the report, with less direct memory: 64 GB, a heap of 25 GB, 10 GB of it young.
MEMORY = 64 * GIB
REPORT: Mapping[str, Any] = {
    "heap": "25GiB",
    "young": "10GiB",
    "direct": "20GiB",
    "collector": "CMS",
    "properties": {"shards": 4, "je.maxMemoryPercent": 10, "je.maxOffHeapMemory": 2_684_354_560},
}
FAR = {"5": [90, 95, 85], "10": [20, 21, 19], "20": [120, 125, 122]}
NEAR = {"5": [30, 20, 25], "10": [24, 29, 21]}


def jvm_run(
    p99s: Mapping[str, Sequence[float | None]],
    of_level: Mapping[str, Mapping[str, Any]],
    key: str = "factor",
    base: Mapping[str, Any] = REPORT,
    memory: int | None = MEMORY,
    name: str = "run",
    levels: Mapping[str, Mapping[str, str]] | None = None,
) -> SizedRun:
    """A run of one factor whose levels change these options of the JVM (`properties` one by one)."""
    run, records = run_of(
        {label: [None if value is None else value * 10 for value in row] for label, row in p99s.items()},
        levels=levels or {label: {key: label} for label in p99s},
    )
    described = tuple(
        replace(
            item,
            values={f"target.jvm.{path}": value for path, value in of_level.get(item.id, {}).items()},
            settings={"target": {"jvm": _options(base, of_level.get(item.id, {}))}},
        )
        for item in run.treatments
    )
    treatments = analyse(replace(run, treatments=described), records).treatments
    return SizedRun(name, choices(treatments), treatments, memory)


def _options(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    options = {**base, "properties": dict(base.get("properties", {})), "flags": dict(base.get("flags", {}))}
    for path, value in changes.items():
        section, _, name = path.partition(".")
        if name:
            options[section][name] = value
        else:
            options[section] = value
    return options


def caches(**more: Any) -> SizedRun:
    """A run of the report's plan A: 10% of the heap for each of four shards is best."""
    levels = {label: {"properties.je.maxMemoryPercent": int(label)} for label in FAR}
    return jvm_run(FAR, levels, **more)


def sized(*runs: SizedRun, memory: int = MEMORY, shards: int = 4) -> Sizing:
    return size(runs, Machine(memory, shards))


def remarks(sizing: Sizing) -> list[str]:
    return [block.text for block in section(sizing, Texts("en")).blocks if isinstance(block, Remark)]


def test_the_tested_machine_gets_the_tested_memory() -> None:
    sizing = sized(caches())
    assert (sizing.heap_bytes, sizing.young_bytes, sizing.direct_bytes) == (25 * GIB, 10 * GIB, 20 * GIB)
    assert sizing.cache is not None
    assert (sizing.cache.percent, sizing.cache.shard_bytes, sizing.cache.total_bytes) == (
        10,
        25 * GIB // 10,
        10 * GIB,
    )
    assert (sizing.off_heap_shard_bytes, sizing.off_heap_bytes) == (2560 * MIB, 10 * GIB)
    assert sizing.remaining_bytes == 9 * GIB


def test_a_machine_of_half_the_memory_with_twice_the_shards() -> None:
    sizing = sized(caches(), memory=32 * GIB, shards=8)
    assert sizing.heap_bytes == 12 * GIB, "12.5 GiB, rounded down"
    assert sizing.shares.heap == Fraction(25, 64)
    assert sizing.young_bytes == int(12 * GIB * 0.4) // MIB * MIB
    assert sizing.cache is not None
    assert (sizing.cache.percent, sizing.cache.total_bytes) == (5, 12 * GIB * 5 // 100 * 8)
    assert sizing.off_heap_shard_bytes == 20 * GIB * 10 // 39 // 8 // MIB * MIB
    assert sizing.direct_bytes == 20 * GIB * 20 // 39 // MIB * MIB
    assert sizing.off_heap_bytes is not None
    assert sizing.remaining_bytes == 20 * GIB - sizing.direct_bytes - sizing.off_heap_bytes


@pytest.mark.parametrize(
    ("computed", "heap"),
    [(31.9, 31), (32, 31), (36, 31), (39.99, 31), (40, 40), (50.5, 50), (4.7, 4), (0.5, 0.5)],
)
def test_no_heap_is_from_32_to_40_gib(computed: float, heap: float) -> None:
    assert bounded_heap(int(computed * GIB)) == int(heap * GIB)


@pytest.mark.parametrize(
    ("options", "heap"),
    [
        ({"collector": "G1"}, 31),
        ({"collector": "ZGC"}, 36),
        ({"flags.UseZGC": True, "collector": None}, 36),
        ({"flags.UseCompressedOops": False}, 36),
        ({"flags.ObjectAlignmentInBytes": 16}, 36),
    ],
)
def test_the_rule_for_heaps_is_that_of_the_collector_and_its_flags(
    options: Mapping[str, Any], heap: int
) -> None:
    sizing = sized(caches(base=_options(REPORT, options)), memory=36 * 64 // 25 * GIB + GIB)
    assert sizing.heap_bytes == heap * GIB
    assert sizing.avoided is (heap == 31)


def test_with_another_alignment_other_heaps_are_avoided() -> None:
    base = _options(REPORT, {"flags.ObjectAlignmentInBytes": 16})
    assert sized(caches(base=base), memory=180 * GIB).heap_bytes == 63 * GIB


def test_no_machine_gets_a_heap_without_compressed_pointers_below_40_gib() -> None:
    run = caches()
    heaps = {memory: sized(run, memory=memory * GIB).heap_bytes / GIB for memory in range(1, 200)}
    assert not [heap for heap in heaps.values() if 32 <= heap < 40]
    assert {heaps[memory] for memory in range(82, 103)} == {31}
    assert sized(run, memory=90 * GIB).avoided
    assert not sized(run, memory=103 * GIB).avoided


def test_each_term_has_the_trials_of_the_run_that_varied_it() -> None:
    sizes = {"20": {"heap": "20GiB"}, "25": {"heap": "25GiB"}}
    heaps = jvm_run({"20": [20, 21, 19], "25": [60, 66, 61]}, sizes, name="heaps")
    collectors = jvm_run(
        {"CMS": [30, 31, 30], "G1": [30, 31, 30.1]},
        {"CMS": {"collector": "CMS"}, "G1": {"collector": "G1", "flags.MaxGCPauseMillis": 50}},
        name="collectors",
    )
    sizing = sized(heaps, caches(name="caches"), collectors)
    heap, cache = sizing.term(HEAP), sizing.term(CACHE)
    assert heap.run is not None
    assert heap.level is not None
    assert (heap.verdict, heap.run.name, heap.level.label) == ("best", "heaps", "20")
    assert len(heap.level.counting) == 3
    assert sizing.heap_bytes == 20 * GIB
    assert cache.run is not None
    assert (cache.verdict, cache.run.name, cache.settings[0]) == (
        "best",
        "caches",
        ("properties.je.maxMemoryPercent", 10),
    )
    assert sizing.term(COLLECTOR).verdict == "left"
    constant = sizing.term(DIRECT)
    assert (constant.verdict, constant.choice, constant.settings) == (
        "constant",
        None,
        (("direct", "20GiB"),),
    )
    assert sizing.term(VERSION).verdict == "unset"


def test_levels_that_do_not_differ_are_not_distinguishable() -> None:
    levels = {label: {"properties.je.maxMemoryPercent": int(label)} for label in NEAR}
    term = sized(jvm_run(NEAR, levels)).term(CACHE)
    assert term.verdict == "left"
    assert term.level is not None
    assert term.level.label == "10", "the lower median"
    once = {label: [row[0]] for label, row in NEAR.items()}
    assert sized(jvm_run(once, levels)).term(CACHE).verdict == "no-repeats"


def test_caches_that_exceed_the_heap_are_passed_over() -> None:
    p99s = {"10": [30, 20, 25], "30": [24, 29, 21], "20": [26, 29, 24]}
    levels = {label: {"properties.je.maxMemoryPercent": int(label)} for label in p99s}
    sizing = sized(jvm_run(p99s, levels))
    term = sizing.term(CACHE)
    assert term.level is not None
    assert (term.level.label, [level.label for level in term.passed_over]) == ("10", ["30"])
    assert sizing.cache is not None
    assert sizing.cache.total_bytes == 10 * GIB
    [remark] = [text for text in remarks(sizing) if "no room in the heap" in text]
    assert "30 of factor did at least as well, but is left out" in remark
    entry = next(item for item in _terms(sizing) if item["term"] == "cache")
    assert (entry["passed_over"], entry["evidence"]) == (["30"], "left")


def _terms(sizing: Sizing) -> list[dict[str, Any]]:
    return list(cast(list[dict[str, Any]], document(sizing)["terms"]))


def _percent(p99s: Mapping[str, Sequence[float | None]]) -> Sizing:
    """A sizing by a run that varied the share of the cache of each of four shards."""
    return sized(jvm_run(p99s, {label: {"properties.je.maxMemoryPercent": int(label)} for label in p99s}))


def test_a_sole_best_level_that_exhausts_the_heap_is_replaced_by_the_next_one() -> None:
    sizing = _percent({"5": [90, 95, 85], "10": [60, 61, 59], "30": [20, 21, 19]})
    term = sizing.term(CACHE)
    assert term.level is not None
    assert (term.level.label, term.verdict) == ("10", "next")
    assert [level.label for level in term.passed_over] == ["30"]
    assert sizing.fits
    texts = remarks(sizing)
    assert any("30 of factor did at least as well, but is left out" in text for text in texts)
    assert any("10 is the best level of factor that lasts" in text for text in texts)


@pytest.mark.parametrize("percent", [25, 30])
def test_constant_caches_that_leave_no_room_in_the_heap_have_no_settings(percent: int) -> None:
    base = _options(REPORT, {"properties.je.maxMemoryPercent": percent})
    for shards in (4, 12):
        sizing = sized(jvm_run({"20": [20, 21]}, {}, base=base), shards=shards)
        assert (sizing.fits, settings(sizing)) == (False, ())
        assert any("leave no room in the heap of 25 GiB" in text for text in remarks(sizing))
    assert sized(jvm_run({"20": [20, 21]}, {}, base=base), shards=1).fits, "at most 90% of the heap"


def test_one_level_left_after_others_are_passed_over_is_stated() -> None:
    texts = remarks(_percent({"10": [30, 20, 25], "30": [24, 29, 21], "40": [26, 29, 24]}))
    assert any("not distinguishable. Only the caches of 10 leave room in the heap" in text for text in texts)
    assert not any("10 of factor are not distinguishable" in text for text in texts)
    assert any("of factor did at least as well, but are left out" in text for text in texts)


def test_without_repeats_a_passed_over_level_may_have_the_lower_tail() -> None:
    texts = remarks(_percent({"10": [30], "30": [20]}))
    assert any("Of those whose caches leave room in the heap, 10 is the first" in text for text in texts)
    assert not any("has the lowest p99" in text for text in texts)


def test_other_levels_are_judged_at_the_best_ones_of_other_factors() -> None:
    p99s = {
        "small-100": [90, 95, 85], "small-200": [91, 94, 86],
        "large-100": [20, 21, 19], "large-200": [20.2, 21.1, 19.1],
    }  # fmt: skip
    heaps, sizes = {"small": "512MiB", "large": "2GiB"}, {"100": 100_000_000, "200": 200_000_000}
    of_level = {
        f"{heap}-{cache}": {"heap": heaps[heap], "properties.je.maxMemory": sizes[cache]}
        for heap in heaps
        for cache in sizes
    }
    levels = {name: dict(zip(("heap", "cache"), name.split("-"), strict=True)) for name in p99s}
    run = jvm_run(p99s, of_level, levels=levels, base={"properties": {"shards": 4}})
    term = sized(run).term(CACHE)
    assert term.level is not None
    assert (term.level.label, term.verdict, term.passed_over) == ("100", "left", ())
    heap, _ = run.choices
    assert heap.best is not None
    assert heap.best.label == "large"


def test_a_term_without_a_usable_level_has_no_value() -> None:
    broken: dict[str, list[float | None]] = {"5": [None, None], "10": [None, None]}
    levels = {label: {"properties.je.maxMemoryPercent": int(label)} for label in broken}
    sizing = sized(caches(base={**REPORT, "properties": {"shards": 4}}, name="good"))
    assert sizing.term(CACHE).verdict == "best"
    heaps = jvm_run({"25": [20, 21]}, {}, base={**REPORT, "properties": {}}, name="heap")
    with pytest.raises(SizingError, match="has a result"):
        sized(jvm_run(broken, levels, name="broken"))
    assert sized(heaps).cache is None


def test_the_run_with_distinguishable_levels_is_preferred() -> None:
    levels = {label: {"properties.je.maxMemoryPercent": int(label)} for label in NEAR}
    sizing = sized(jvm_run(NEAR, levels, name="first"), caches(name="second"))
    term = sizing.term(CACHE)
    assert term.run is not None
    assert (term.run.name, term.others) == ("second", ("first",))
    assert sizing.term(DIRECT).others == ()


def test_runs_with_another_constant_are_named() -> None:
    sizing = sized(caches(name="first"), caches(base={**REPORT, "direct": "10GiB"}, name="second"))
    assert sizing.term(DIRECT).others == ("second",)
    assert sizing.direct_bytes == 20 * GIB


def test_the_cache_outside_the_heap_may_be_a_share_of_the_heap() -> None:
    base = {**REPORT, "properties": {"shards": 4, "offHeap": "40%"}}
    levels = {"2": {"properties.offHeap": "2%"}, "40": {"properties.offHeap": "40%"}}
    sizing = sized(jvm_run({"2": [90, 95, 85], "40": [20, 21, 19]}, levels, base=base))
    assert sizing.off_heap_bytes == 10 * GIB
    assert sizing.term(OFF_HEAP).verdict == "best"


def test_direct_memory_does_not_contain_the_caches_outside_the_heap() -> None:
    sizing = sized(caches(base={**REPORT, "direct": "4GiB"}))
    assert (sizing.direct_bytes, sizing.off_heap_bytes) == (4 * GIB, 10 * GIB)
    assert sizing.remaining_bytes == (64 - 25 - 4 - 10) * GIB
    assert sizing.tested.used == Fraction(25 + 4 + 10, 64)


def test_more_memory_than_the_machine_has_is_not_hidden() -> None:
    sizing = sized(caches(base={**REPORT, "direct": "30GiB"}))
    assert sizing.remaining_bytes == -GIB


@pytest.mark.parametrize(("percent", "stated"), [(10, True), (30, False)])
def test_unused_memory_is_stated_of_a_sizing_that_fits(percent: int, stated: bool) -> None:
    base = {"heap": "2GiB", "properties": {"shards": 4, "je.maxMemoryPercent": percent}}
    texts = remarks(sized(jvm_run({"20": [20, 21]}, {}, base=base)))
    assert any("unused" in text for text in texts) is stated


SHARDS: Mapping[str, Mapping[str, Any]] = {
    "1": {"properties.shards": 1, "properties.je.maxMemoryPercent": 40},
    "4": {"properties.shards": 4, "properties.je.maxMemoryPercent": 10},
    "8": {"properties.shards": 8, "properties.je.maxMemoryPercent": 5},
}
OF_SHARDS = {"1": [90, 95, 85], "4": [20, 21, 19], "8": [120, 125, 122]}
VERSIONS: Mapping[str, Mapping[str, Any]] = {
    "5.0.73": {"version": "5.0.73"},
    "18.3.12": {"version": "18.3.12", "properties.offHeap": "40%"},
}
SMALL: Mapping[str, Any] = {"heap": "25GiB", "properties": {"shards": 4, "je.maxMemoryPercent": 10}}


def test_shards_with_equal_caches_in_all_do_not_test_the_caches() -> None:
    base = {"heap": "25GiB", "properties": {"offHeap": "40%"}}
    sizing = sized(jvm_run(OF_SHARDS, SHARDS, base=base))
    for kind in (CACHE, OFF_HEAP):
        assert sizing.term(kind).verdict == "constant"
    assert (
        "Caches in the heap: not tested. Settings differ, but no factor varied their share. Those at the "
        "best levels: properties.je.maxMemoryPercent: 10, properties.shards: 4 (run)."
    ) in remarks(sizing)
    assert sizing.shares.cache == Fraction(40, 100)


def test_shards_with_equal_caches_each_do_test_the_caches() -> None:
    levels = {label: {"properties.shards": int(label)} for label in SHARDS}
    term = sized(jvm_run(OF_SHARDS, levels, base=SMALL)).term(CACHE)
    assert term.verdict == "best"
    assert term.memory is not None
    assert term.memory.cache_share == Fraction(40, 100)


def test_a_level_that_does_not_set_a_term_does_not_test_it() -> None:
    sizing = sized(jvm_run({"5.0.73": [90, 95, 85], "18.3.12": [20, 21, 19]}, VERSIONS, base=SMALL))
    assert sizing.term(VERSION).verdict == "best"
    assert (sizing.term(OFF_HEAP).verdict, sizing.term(OFF_HEAP).settings[0]) == (
        "constant",
        ("properties.offHeap", "40%"),
    )


def test_version_5_gets_no_caches_outside_the_heap() -> None:
    versions = jvm_run({"5.0.73": [20, 21, 19], "18.3.12": [90, 95, 85]}, VERSIONS, base=SMALL)
    off_heap = {label: {"properties.offHeap": f"{label}%"} for label in ("2", "40")}
    sizes = jvm_run({"2": [90, 95, 85], "40": [20, 21, 19]}, off_heap, base=SMALL, name="sizes")
    sizing = sized(versions, sizes)
    assert sizing.term(OFF_HEAP).verdict == "best"
    assert (sizing.lacks_off_heap, sizing.off_heap_shard_bytes) == (True, None)
    assert not [path for path, _ in settings(sizing) if "ffHeap" in path]
    assert not sized(sizes).lacks_off_heap


def test_a_factor_of_one_term_is_preferred_to_one_of_several() -> None:
    both = {
        "5": {"properties.je.maxMemoryPercent": 5, "direct": "5GiB"},
        "10": {"properties.je.maxMemoryPercent": 10, "direct": "10GiB"},
    }
    several = jvm_run({"5": [20, 21, 19], "10": [90, 95, 85]}, both, name="several")
    levels = {label: {"properties.je.maxMemoryPercent": int(label)} for label in NEAR}
    sizing = sized(several, jvm_run(NEAR, levels, name="alone"))
    cache, direct = sizing.term(CACHE), sizing.term(DIRECT)
    assert cache.run is not None
    assert (cache.run.name, cache.verdict, cache.also, cache.others) == ("alone", "left", (), ("several",))
    assert direct.run is not None
    assert (direct.run.name, direct.also) == ("several", (CACHE,))
    assert (
        "Direct memory: the levels of factor also differ in Caches in the heap, so their effects cannot be "
        "separated (several)."
    ) in remarks(sizing)


def test_a_collector_comes_with_its_jdk_and_without_flags_of_sizes() -> None:
    levels = {
        "G1": {"collector": "G1"},
        "CMS": {"collector": "CMS", "java": "/opt/jdk-11", "flags.NewSize": 1 << 20, "flags.UseNUMA": True},
    }
    base = {**SMALL, "collector": None}
    sizing = sized(jvm_run({"G1": [90, 95, 85], "CMS": [20, 21, 19]}, levels, base=base))
    assert dict(settings(sizing)) == {
        "heap": "25GiB",
        "java": "/opt/jdk-11",
        "collector": "CMS",
        "flags.UseNUMA": True,
        "properties.shards": 4,
        "properties.je.maxMemoryPercent": 10,
    }
    assert sizing.size_flags == (("flags.NewSize", 1 << 20),)


@pytest.mark.parametrize(
    ("path", "value", "is_size"),
    [
        ("flags.G1HeapRegionSize", "2m", True),
        ("flags.MaxNewSize", 1073741824, True),
        ("flags.HeapBaseMinAddress", "2g", True),
        ("flags.MaxGCPauseMillis", 50, False),
        ("flags.ObjectAlignmentInBytes", 16, False),
        ("collector", "G1", False),
    ],
)
def test_a_flag_is_a_size_by_its_name_or_unit(path: str, value: Any, is_size: bool) -> None:
    assert is_size_flag(path, value) is is_size


def test_the_young_generation_may_be_a_ratio() -> None:
    base = {**REPORT, "young": None, "flags": {"NewRatio": 2}}
    sizing = sized(caches(base=base))
    assert sizing.shares.young == Fraction(1, 3)
    assert sizing.term(YOUNG).settings == (("flags.NewRatio", 2),)
    assert sizing.term(COLLECTOR).settings == (("collector", "CMS"),)


@pytest.mark.parametrize(
    ("shards", "cache"), [(100, (None, 102 * MIB)), (3, (None, 3413 * MIB)), (40, (1, GIB // 4))]
)
def test_a_cache_of_no_whole_percent_gets_a_size(shards: int, cache: tuple[int | None, int]) -> None:
    sizing = sized(caches(), shards=shards)
    assert sizing.cache is not None
    assert (sizing.cache.percent, sizing.cache.shard_bytes) == cache


def test_tests_on_a_part_of_the_machine_are_stated() -> None:
    small = {**REPORT, "heap": "512MiB", "young": None, "direct": "512MiB"}
    sizing = sized(caches(base={**small, "properties": {"shards": 4}}, memory=16 * GIB))
    assert sizing.tested.used == Fraction(1, 16)
    assert (sizing.heap_bytes, sizing.tested.heap_bytes) == (2 * GIB, 512 * MIB)


def test_no_heap_or_no_machine_is_an_error() -> None:
    with pytest.raises(SizingError, match="`heap`"):
        sized(caches(base={"properties": {}}))
    with pytest.raises(SizingError, match="memory of the target's machine"):
        sized(caches(memory=None))
    with pytest.raises(SizingError, match="does not fit"):
        sized(caches(memory=16 * GIB))


def test_the_memory_of_the_target_is_the_limit_of_its_cgroup() -> None:
    host = {"role": "client+target", "memory_bytes": MEMORY}
    assert target_memory({"hosts": [host]}) == MEMORY
    assert target_memory({"hosts": [{**host, "container": {"memory_bytes": GIB}}]}) == GIB
    assert target_memory({"hosts": [{**host, "role": "client"}]}) is None
    assert target_memory({}) is None


def test_failed_trials_of_the_chosen_level_are_stated() -> None:
    levels = {label: {"properties.je.maxMemoryPercent": int(label)} for label in FAR}
    healthy = jvm_run(FAR, levels)
    choice = healthy.choices[0]
    damaged = {level: replace(level, unusable=1, treatments=3) for level in choice.levels}
    changed = replace(
        choice,
        levels=tuple(damaged.values()),
        remaining=tuple(damaged[level] for level in choice.remaining),
    )
    texts = remarks(sized(replace(healthy, choices=[changed])))
    assert any("Caches in the heap: 1 of 3 treatments of 10 were unusable" in text for text in texts)
    assert not any("were unusable" in text for text in remarks(sized(healthy)))

"""Which treatments can be compared, and what is not reported where they cannot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from analysis.runs import findings_by_code, run_of
from loadcell.analysis.analyse import Analysis, analyse
from loadcell.analysis.treatments import quantity_of
from loadcell.analysis.trials import of_run
from loadcell.model import extensions
from loadcell.model.extensions import HOST
from loadcell.model.run_record import TreatmentRecord
from loadcell.parts import installed
from loadcell.plan.parts import Options
from loadcell.plan.workload import Workload, installed_workload, quantities_of

KV, YCSB = {"workload": {"kv": {"read": 0.9}}}, {"workload": {"ycsb": {"mix": "A"}}}


def probe(kind: str, **options: Any) -> dict[str, Any]:
    """Settings as a record has them: what is not probed is null."""
    every = dict.fromkeys(("cpu", "memory", "latency", "disk", "network"))
    return {"workload": {"probe": {**every, kind: options}}, "load": {"clients": 1}}


def tool(**options: Any) -> dict[str, Any]:
    return {"workload": {"tool": {"env": {"A": "b"}, **options}}}


def groups(**workloads: dict[str, Any]) -> dict[str, Any]:
    return {
        "workloads": {name: {**settings["workload"], "share": "50%"} for name, settings in workloads.items()}
    }


@pytest.mark.parametrize(
    ("first", "other"),
    [
        (
            probe("memory", test="sysbench", size="256MiB", block="1KiB"),
            probe("memory", test="sysbench", size="256MiB", block="4MiB"),
        ),
        (probe("latency", size="8KiB"), probe("latency", size="4MiB")),
        (
            probe("network", test="rr", block="128KiB", request="1B"),
            probe("network", test="rr", block="64KiB", request="4KiB"),
        ),
        (probe("disk", access="read", block="4KiB"), probe("disk", access="read", block="1MiB")),
        (probe("cpu"), {**probe("cpu"), "load": {"clients": 8}}),
        (KV, {"workload": {"kv": {"read": 0.1}}}),
        (tool(sysbench="cpu --cpu-max-prime=100"), tool(sysbench="cpu --cpu-max-prime=9")),
        (tool(command="gzip -1 file"), tool(command="zstd -1 file")),
        (groups(a=KV, b=YCSB), groups(a=YCSB, b=KV)),
        ({}, {}),
    ],
)
def test_one_thing_under_two_conditions(first: Mapping[str, Any], other: Mapping[str, Any]) -> None:
    assert quantities_of(dict(first)) == quantities_of(dict(other))


@pytest.mark.parametrize(
    ("first", "other"),
    [
        (probe("memory", test="copy"), probe("memory", test="triad")),
        (probe("memory", test="copy", size="8KiB"), probe("memory", test="copy", size="4MiB")),
        (probe("network", test="stream", block="64KiB"), probe("network", test="stream", block="128KiB")),
        (probe("disk", access="randread"), probe("disk", access="read")),
        (probe("cpu"), probe("latency", size="4KiB")),
        (KV, YCSB),
        (tool(sysbench="cpu run"), tool(sysbench=["memory", "run"])),
        (tool(sysbench="cpu run"), tool(mbw="256")),
        ({"tool": {"pgbench": {"clients": 1}}}, {"tool": {"sysbench": {"version": "1.0.20"}}}),
        (KV, groups(a=KV, b=YCSB)),
    ],
)
def test_two_things(first: Mapping[str, Any], other: Mapping[str, Any]) -> None:
    assert quantities_of(dict(first)) != quantities_of(dict(other))


class Copies(Workload[Options]):
    """A workload of an extension: throughput of one of two directions."""

    name = "copies"
    summary = "copies in a direction"
    Options = Options
    needs = frozenset({HOST})

    @staticmethod
    def quantity(options: Mapping[str, object]) -> tuple[str, ...]:
        return (str(options["direction"]),)

    def data(self) -> None:
        return None

    @property
    def changes_data(self) -> bool:
        return False

    def engine(self) -> dict[str, Any]:
        return {}


def test_a_workload_declares_its_quantities(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint("copies", f"{__name__}:Copies", extensions.WORKLOADS)
    monkeypatch.setattr(extensions, "entries", lambda _: {"copies": entry})
    installed_workload.cache_clear()
    up, wide, down = (
        {"workload": {"copies": {"direction": direction, "width": width}}}
        for direction, width in (("up", 1), ("up", 2), ("down", 1))
    )
    assert quantities_of(up) == quantities_of(wide) == ["copies up"]
    assert quantities_of(down) == ["copies down"]
    installed_workload.cache_clear()


def test_workloads_of_records_are_found_by_their_names() -> None:
    installed_workload.cache_clear()
    for name, part in installed().workloads.items():
        assert installed_workload(name) is part
    assert not [name for name in ("gone", "composite", "../probe", "") if installed_workload(name)]
    assert quantities_of({"workload": {"gone": {"a": 1}}}) == ["gone"]


def test_values_in_two_units_are_two_things() -> None:
    run, records = run_of({"1": [100.0]})
    described = TreatmentRecord("1", settings=dict(KV))
    moved, counted = (
        quantity_of(described, of_run(run, [replace(record, unit=unit) for record in records]))
        for unit in ("MiB", "operation")
    )
    assert moved != counted


def analysed(
    first: Mapping[str, Any], second: Mapping[str, Any], units: tuple[str, str] = ("operation", "operation")
) -> Analysis:
    """Two treatments of these settings, by two levels of another factor."""
    names = {
        f"{level}-{clients}": {"probe": level, "load.clients": clients}
        for level in "ab"
        for clients in (1, 2, 4)
    }
    speeds = {"a": 1e6, "b": 1e3}
    run, records = run_of(
        {name: [speeds[name[0]] * item["load.clients"]] * 2 for name, item in names.items()}, levels=names
    )
    treatments = tuple(
        replace(entry, settings=first if entry.id.startswith("a") else second) for entry in run.treatments
    )
    records = [
        replace(record, unit=units[0 if record.treatment.startswith("a") else 1]) for record in records
    ]
    return analyse(replace(run, treatments=treatments), records)


RANKS = {"found.highest", "found.tied", "found.lowest", "found.recommend", "found.effects", "found.alike"}


def ranked(analysis: Analysis) -> set[str]:
    """Texts of a ranking, a choice or an effect."""
    return {
        key
        for key in findings_by_code(analysis)
        if any(key == name or key.startswith(f"{name}.") for name in RANKS)
    }


def test_unlike_things_are_not_ranked_and_nothing_is_computed_between_them() -> None:
    analysis = analysed(probe("memory", test="copy"), probe("disk", access="read"))
    assert not analysis.comparable
    assert findings_by_code(analysis)["found.unlike"] == {"count": 2}
    assert ranked(analysis) == set()
    assert (analysis.recommendation, analysis.effects.mains, analysis.effects.changes) == (None, (), ())
    assert [item.throughput.median for item in analysis.treatments][:2] == [1e6, 2e6]
    assert len(analysis.saturation) == 2, (
        "each along its own line of rising load, where one thing is measured"
    )


def test_neither_are_values_in_unlike_units() -> None:
    assert not analysed(KV, KV, ("operation", "MiB")).comparable


def test_one_thing_under_several_conditions_is_ranked_as_ever() -> None:
    copies = [probe("memory", test="sysbench", block=size) for size in ("8KiB", "4MiB")]
    analysis = analysed(*copies)
    assert analysis.comparable
    assert "found.unlike" not in findings_by_code(analysis)
    assert {"found.highest", "found.lowest", "found.recommend"} <= ranked(analysis)
    assert analysis.effects.mains


def test_what_was_not_measured_does_not_count() -> None:
    run, records = run_of(
        {"a": [5.0, 6.0], "b": [None, None]}, levels={"a": {"probe": "a"}, "b": {"probe": "b"}}
    )
    treatments = tuple(
        replace(entry, settings=settings)
        for entry, settings in zip(run.treatments, (probe("cpu"), probe("latency")), strict=True)
    )
    analysis = analyse(replace(run, treatments=treatments), records)
    assert analysis.comparable
    assert "found.throughput" in findings_by_code(analysis)


def test_no_workload_is_imported_where_all_treatments_have_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> None:
        raise AssertionError(name)

    with monkeypatch.context() as patched:
        patched.setattr("loadcell.plan.workload.installed_workload", refuse)
        assert analysed(KV, {**KV, "target": {"redis": {"port": 1}}}).comparable
        assert not analysed(KV, KV, ("operation", "MiB")).comparable
        with pytest.raises(AssertionError, match="kv"):
            analysed(KV, {"workload": {"kv": {"read": 0.1}}})

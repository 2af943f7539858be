"""Resources by treatment, in every format, both languages, and on a terminal of 80 columns."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from fake_runs import Shape, write_run
from loadcell.analysis.analyse import analyse
from loadcell.model.json import document
from loadcell.model.resources import (
    CpuShares,
    DiskUse,
    HostUse,
    LinkUse,
    PressureStall,
    ProcessUse,
    Resources,
    ThreadUse,
)
from loadcell.report import brief
from loadcell.report.blocks import unfolded
from loadcell.report.build import build
from loadcell.report.render import html, markdown, terminal
from loadcell.store.read import StoredRun, read_run

MIB = 2**20
USED = Resources(
    10.0,
    HostUse(
        1024,
        CpuShares(0.875, 0.7, 0.175, 0.01, 0.0),
        cpu_max=0.93,
        busiest_core=0.99,
        context_switches_per_s=1_234_567.0,
        pressure=PressureStall(0.31, 0.42, 0.2, 0.0, 0.0),
        memory_traffic_bytes_per_s=151.0 * 2**30,
        memory_peak_bytes_per_s=204.8e9,
    ),
    target=ProcessUse(
        200,
        400,
        812.5,
        901.25,
        3 * 2**30,
        4 * 2**30,
        busiest_threads=(ThreadUse("walwriter", 5, 5, 0.97, 0.01),),
    ),
    client=ProcessUse(1, 256, 83.5, 90.5, 64 * MIB),
    disks=tuple(
        DiskUse(f"nvme{number}n1", 0.8 - number / 1000, 12.5, 10.0, 900.0, MIB, 512.0 * MIB, 0.2, 1.75)
        for number in range(8)
    ),
    links=(LinkUse("eth0", 123.0 * MIB, 456.0 * MIB, 0.0),),
)


def stored(path: Path, used: Resources | None) -> StoredRun:
    """A run whose trials have used that."""
    run = write_run(path, Shape(monitors=False, intervals=False, repeats=2))
    for file in run.glob("trials/*/trial.json"):
        record = json.loads(file.read_text(encoding="utf-8"))
        record.pop("resources", None)
        if used is not None:
            record["resources"] = document(used)
        file.write_text(json.dumps(record), encoding="utf-8")
    return read_run(run)


def printed(run: StoredRun, lang: str, width: int) -> str:
    out = io.StringIO()
    terminal.render(
        brief.of_run(run, lang), Console(file=out, width=width, color_system=None, force_terminal=True)
    )
    return out.getvalue()


@pytest.mark.parametrize(("lang", "heading"), [("en", "Resources"), ("zh", "资源使用")])
def test_pages_have_cpu_memory_disk_network_and_pressure(tmp_path: Path, lang: str, heading: str) -> None:
    report = build(stored(tmp_path / "run", USED), lang)
    everywhere = ("88%", "4 GiB", "80%", "1.73 ms")
    of_pages = (
        *everywhere, "93%", "99%", "97%", "1,234,567", "nvme0n1", "12.5", "512 MiB/s", "456 MiB/s", "31%",
        "42%", "151 GiB/s",
    )  # fmt: skip
    for page, values in ((html.render(report), of_pages), (markdown.render(report), everywhere)):
        assert heading in page
        assert [value for value in values if value not in page] == []


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_terminal_of_80_columns_has_room_for_what_matters_most(tmp_path: Path, lang: str) -> None:
    run = stored(tmp_path / "run", USED)
    narrow, wide = printed(run, lang, 80), printed(run, lang, 160)
    assert max(cell_len(line) for line in narrow.splitlines() if str(tmp_path) not in line) <= 80
    assert "4 GiB" in narrow
    assert "1,234,567" not in narrow
    assert "1,234,567" in wide
    assert "456 MiB/s" in wide


def test_json_has_the_metrics_of_each_treatment(tmp_path: Path) -> None:
    run = stored(tmp_path / "run", USED)
    for used in analyse(run.run, run.trials).document()["resources"].values():
        assert used["host.cpu"] == 0.875
        assert used["target.memory"] == 4 * 2**30
        assert used["client.cores.max"] == 90.5
        assert used["disk.queue"] == 12.5


def test_values_of_disks_are_of_one_device(tmp_path: Path) -> None:
    """The busiest disk of the last trials is another one, which is ten times as fast."""

    def disk(name: str, utilisation: float, written: float) -> DiskUse:
        return DiskUse(name, utilisation, 1.0, 0.0, 10.0, 0.0, written, None, 1.0)

    run = stored(tmp_path / "run", None)
    for file in run.path.glob("trials/*/trial.json"):
        record = json.loads(file.read_text(encoding="utf-8"))
        sda, sdb = disk("sda", 0.5, 10.0), disk("sdb", 0.9 if record["repeat"] == 2 else 0.1, 100.0)
        disks = tuple(sorted((sda, sdb), key=lambda item: -item.utilisation))
        record["resources"] = document(replace(USED, disks=disks))
        file.write_text(json.dumps(record), encoding="utf-8")
    run = read_run(run.path)
    for used in analyse(run.run, run.trials).document()["resources"].values():
        assert (used["disk.write"], used["disk.utilisation"]) == (10, 0.5)


def test_imported_and_older_runs_have_no_table(tmp_path: Path) -> None:
    run = stored(tmp_path / "run", None)
    assert "resources" not in {section.id for section in build(run).sections}
    assert "Target cores" not in printed(run, "en", 80)


def test_columns_of_a_network_without_traffic_are_left_out(tmp_path: Path) -> None:
    quiet = Resources(1.0, USED.host, USED.target, links=(LinkUse("eth0", 0.0, 0.0, 0.0),))
    sections = build(stored(tmp_path / "run", quiet)).sections
    [resources] = [section for section in sections if section.id == "resources"]
    titles = {column.title for table in unfolded(resources.blocks) for column in table.columns}  # type: ignore[union-attr]
    assert "Busiest thread" in titles
    assert not titles & {"Received", "Sent", "Load generator, cores"}

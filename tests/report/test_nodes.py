"""Disks, interfaces and NUMA nodes of a machine on its page and in the report of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import fake_runs
import machines
from fake_runs import Shape, write_run
from linux import trees
from loadcell.linux import cpu, disks, inventory
from loadcell.report.blocks import Chart, Details, Table
from loadcell.report.build import build
from loadcell.report.charts import nodes
from loadcell.report.host import parts
from loadcell.report.hosts import page
from loadcell.report.hosts.gather import source
from loadcell.report.pictures import VEGA_LITE, Painter
from loadcell.report.render import html, markdown
from loadcell.report.texts import Texts
from loadcell.store.read import read_run

EN, ZH = Texts("en"), Texts("zh")


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A machine with four nodes and devices on two of them."""
    root = tmp_path_factory.mktemp("root")
    trees.processors(root, 8, sockets=2, nodes=4)
    trees.storage_and_network(root)
    return {
        "numa_nodes": 4,
        "numa": cpu.numa(root),
        "disks": disks.disks(root),
        "network": inventory.interfaces(root),
    }


def test_the_picture_has_every_distance_and_the_devices_of_each_node(host: dict[str, Any]) -> None:
    picture = nodes.of_host(host, EN)
    assert picture is not None
    distances = {(row["from"], row["to"]): row["distance"] for row in picture.data["nodes"]}
    assert len(distances) == 16
    assert (distances[0, 0], distances[0, 1], distances[0, 2], distances[3, 2]) == (10, 12, 20, 12)
    assert picture.captions[1:] == ["Devices of node 0: eth0.", "Devices of node 1: nvme0n1."]
    chinese = nodes.of_host(host, ZH)
    assert chinese is not None
    assert chinese.title == "NUMA 节点及其距离"


def test_the_picture_is_drawn_with_every_number(host: dict[str, Any]) -> None:
    picture = nodes.of_host(host, EN)
    assert picture is not None
    with Painter(VEGA_LITE) as painter:
        painter.hand_over([markdown.drawing(picture)])
        [svg] = painter.pictures()
    assert [svg.count(f">{distance}<") for distance in (10, 12, 20)] == [4, 4, 8]


@pytest.mark.parametrize("count", [1, 33])
def test_one_node_and_very_many_have_no_picture(tmp_path: Path, count: int) -> None:
    trees.processors(tmp_path, count, sockets=1, nodes=count)
    assert nodes.of_host({"numa": cpu.numa(tmp_path)}, EN) is None
    assert nodes.of_host({}, EN) is None


def test_nodes_without_distances_have_no_picture(host: dict[str, Any]) -> None:
    assert nodes.of_host({"numa": [{**node, "distances": []} for node in host["numa"]]}, EN) is None


def test_the_machine_lists_sectors_requests_nodes_and_partitions(host: dict[str, Any]) -> None:
    rows = {name: value for part in parts(host, EN) for name, value in part.rows}
    assert rows["nvme0n1"] == (
        "894 GiB, logical sector 512 B, physical sector 4 KiB, minimum I/O 4 KiB, optimal I/O 128 KiB, "
        "NUMA node 1"
    )
    assert rows["nvme0n1p2"] == "2 GiB, partition of nvme0n1"
    assert "NUMA node 0" in rows["eth0"]
    chinese = {name: value for part in parts(host, ZH) for name, value in part.rows}
    assert chinese["nvme0n1p2"] == "2 GiB，nvme0n1 的分区"
    assert "逻辑扇区 512 B" in chinese["nvme0n1"]


def test_the_page_of_a_machine_has_the_picture(tmp_path: Path, host: dict[str, Any]) -> None:
    machines.write_baseline(tmp_path / "a", host={**machines.HOST, **host})
    report = page.build(source(str(tmp_path / "a")), "en")
    assert "chart-nodes" in {chart.id for chart in report.charts()}
    assert "Devices of node 1: nvme0n1." in html.render(report)


def test_the_report_of_a_run_has_the_picture_and_the_disks(
    tmp_path: Path, host: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fake_runs, "HOST", {**fake_runs.HOST, **host})
    path = write_run(tmp_path / "run", Shape(repeats=1))
    report = build(read_run(path), "en")
    [environment] = [section for section in report.sections if section.id == "environment"]
    [more] = [block for block in environment.blocks if isinstance(block, Details)]
    assert any(isinstance(block, Chart) and block.id == "chart-nodes" for block in more.blocks)
    [table] = [block for block in more.blocks if isinstance(block, Table) and block.id == "table-host-1"]
    rows = {row[0].text: row[1].text for row in table.rows}
    assert "physical sector 4 KiB" in rows["Disks nvme0n1"]
    assert "nvme0n1p2" in rows["Disks nvme0n1"]

"""Addresses of this machine and routes to others, and the disk of a path."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from loadcell.linux.disks import disk_of
from loadcell.linux.local_addresses import interface_to, is_local
from truth.bottlenecks.network import shaped_network


def test_the_loopback_leads_to_this_machine() -> None:
    assert is_local("127.0.0.1")
    assert interface_to("127.0.0.1") == "lo"
    assert interface_to("no-such-host.invalid") is None


@pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")
def test_the_interface_of_the_route_leads_to_another_host() -> None:
    with shaped_network(100) as network:
        interface = interface_to(network.address)
        assert interface is not None
        assert interface.startswith("lct")


def test_the_disk_of_a_path_is_that_of_its_partition(tmp_path: Path) -> None:
    number = tmp_path.stat().st_dev
    disk = tmp_path / "sys/devices/pci0/sdz"
    partition = disk / "sdz2"
    partition.mkdir(parents=True)
    block = tmp_path / "sys/dev/block"
    block.mkdir(parents=True)
    assert disk_of(tmp_path, tmp_path) is None, "no such device"
    link = block / f"{os.major(number)}:{os.minor(number)}"
    link.symlink_to(partition)
    assert disk_of(tmp_path, tmp_path) == "sdz2", "a disk"
    (partition / "partition").write_text("2\n")
    assert disk_of(tmp_path, tmp_path) == "sdz"
    assert disk_of(tmp_path / "none", tmp_path) is None

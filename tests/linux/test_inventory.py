"""Inventories of machines: layouts that were recorded, ones that are larger than most, and ones that
withhold answers.
"""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from linux import trees
from linux.fuse import mounted
from loadcell.analysis import host_remarks
from loadcell.linux import cpu, disks, inventory, system
from loadcell.linux.time_limits import AT_ONCE, UnavailableError, ask
from nobody import nobody


def test_a_kunpeng_is_known_by_its_parts_and_laid_out_as_lscpu_says(tmp_path: Path) -> None:
    trees.kunpeng(tmp_path)
    result = cpu.cpu(tmp_path)
    assert result["model"] == "HiSilicon Kunpeng-920 (TSV110)"
    assert (result["sockets"], result["cores"], result["threads"], result["max_mhz"]) == (2, 128, 128, 2600)
    nodes = cpu.numa(tmp_path) or []
    assert [node["cpus"].split(",")[0] for node in nodes] == ["0", "32", "64", "96"]
    assert nodes[0]["distances"] == [10, 12, 20, 20]
    assert nodes[0]["memory_bytes"] == 64 * 2**30
    caches = {(item["level"], item["type"]): item for item in cpu.caches(tmp_path) or ()}
    assert (
        caches[1, "data"]["count"] * caches[1, "data"]["size_bytes"] == 8 * 2**20
    )  # as the report's lscpu has it
    assert caches[2, "unified"]["count"] * caches[2, "unified"]["size_bytes"] == 64 * 2**20
    assert caches[3, "unified"]["count"] * caches[3, "unified"]["size_bytes"] == 128 * 2**20
    assert cpu.simd(tmp_path) == ["aes", "asimd", "sha2", "crc32", "atomics"]


def test_1024_processors_of_which_some_are_off(tmp_path: Path) -> None:
    trees.processors(tmp_path, 1024, sockets=8, nodes=8, threads_per_core=2, offline="5,1023")
    result = cpu.cpu(tmp_path)
    assert (result["sockets"], result["cores"], result["threads"]) == (8, 512, 1022)
    assert (result["online"], result["offline"]) == ("0-4,6-1022", "5,1023")
    nodes = cpu.numa(tmp_path) or []
    assert [len(node["distances"]) for node in nodes] == [8] * 8
    shared = [item for item in cpu.caches(tmp_path) or () if item["level"] == 3]
    assert sum(item["count"] for item in shared) == 8
    assert {item["threads"] for item in shared} == {127, 128}


def test_a_machine_that_shows_nothing_has_no_answers_and_no_guesses(tmp_path: Path) -> None:
    result = inventory.collect(tmp_path)
    assert result["unavailable"]["dimms"] == "there is no /sys/firmware"
    assert "no cpufreq" in result["unavailable"]["max_mhz"]
    stored = {
        "caches",
        "governor",
        "turbo",
        "thp",
        "clocksource",
        "memory_bytes",
        "virtualisation",
        "disks",
        "filesystems",
        "network",
        "mitigations",
        "simd",
        "settings",
        "kernel_command_line",
        "load_at_start",
    }
    assert not {*stored, "numa"} & set(result)
    assert stored < set(result["unavailable"]), "each with its reason"
    assert result["unavailable"]["disks"] == "there is no /sys/block"
    assert "no cpufreq" in result["unavailable"]["governor"]
    assert result["cpu"]["model"] is None or isinstance(result["cpu"]["model"], str)


def test_a_link_that_is_up_and_states_no_speed_is_named(tmp_path: Path) -> None:
    for name, state, speed in (
        ("eth0", "up", "-1"),
        ("eth1", "up", "25000"),
        ("eth2", "down", "-1"),
        ("lo", "up", "-1"),
    ):
        trees.write(tmp_path, f"sys/class/net/{name}/operstate", state)
        trees.write(tmp_path, f"sys/class/net/{name}/speed", speed)
    result = inventory.collect(tmp_path)
    assert result["unavailable"]["network_speed"].startswith("eth0 reports no speed")
    assert {item["name"]: item.get("speed_mbits") for item in result["network"]} == {
        "eth0": None,
        "eth1": 25000,
        "eth2": None,
    }


def test_whether_the_clock_may_rise_is_known_or_it_is_reported_who_does_not_say(tmp_path: Path) -> None:
    trees.write(tmp_path, "sys/devices/system/cpu/cpu0/cpufreq/scaling_driver", "cppc_cpufreq")
    with pytest.raises(UnavailableError, match=r"the clock driver \(cppc_cpufreq\) does not report it"):
        cpu.turbo(tmp_path)
    trees.write(tmp_path, "sys/devices/system/cpu/cpufreq/boost", "0")
    assert cpu.turbo(tmp_path) is False
    trees.write(tmp_path, "sys/devices/system/cpu/intel_pstate/no_turbo", "0")
    assert cpu.turbo(tmp_path) is True


@pytest.mark.parametrize(
    ("vendor", "cpuinfo", "virtualisation"),
    [
        ("QEMU", "processor\t: 0", "kvm"),
        ("", "flags\t\t: fpu hypervisor avx2", "unknown hypervisor"),
        ("", "flags\t\t: fpu avx2", "none"),
        ("Huawei", "Features\t: fp asimd", "none"),
        ("", "Features\t: fp asimd", None),  # Arm's processors never tell
        ("", "", None),
    ],
)
def test_whether_it_is_a_virtual_machine_is_never_guessed(
    tmp_path: Path, vendor: str, cpuinfo: str, virtualisation: str | None
) -> None:
    trees.write(tmp_path, "proc/cpuinfo", cpuinfo)
    if vendor:
        trees.write(tmp_path, "sys/class/dmi/id/sys_vendor", vendor)
    result = inventory.collect(tmp_path)
    assert result.get("virtualisation") == virtualisation
    assert ("virtualisation" in result["unavailable"]) == (virtualisation is None)


def test_a_containers_root_is_reported_though_it_is_an_overlay(tmp_path: Path) -> None:
    trees.write(
        tmp_path, "proc/self/mountinfo",
        "1 0 0:30 / / rw,relatime - overlay overlay rw,lowerdir=/a\n2 1 0:31 / /dev/shm rw - tmpfs shm rw",
    )  # fmt: skip
    assert [(mount["mount"], mount["type"]) for mount in disks.mounts(tmp_path)] == [("/", "overlay")]


def test_memory_modules_are_read_from_the_firmwares_table(tmp_path: Path) -> None:
    trees.dmi(tmp_path, (16384, 3200, 2933), (0, 0, 0), (65536, 2933, 2933))
    first, second = inventory.collect(tmp_path)["dimms"]
    assert (first["locator"], first["size_bytes"], first["kind"]) == ("DIMM0", 16 * 2**30, "DDR4")
    assert (first["speed_mts"], first["configured_mts"], first["part"]) == (3200, 2933, "M393A4K40")
    assert (second["locator"], second["size_bytes"]) == ("DIMM2", 64 * 2**30)


@pytest.mark.parametrize("length", [0, 1, 3, 7, 20, 50, 90])
def test_a_table_that_is_cut_off_is_no_reason_to_fail(tmp_path: Path, length: int) -> None:
    trees.dmi(tmp_path, (16384, 3200, 2933), (16384, 3200, 2933))
    path = tmp_path / "sys/firmware/dmi/tables/DMI"
    path.write_bytes(path.read_bytes()[:length])
    result = inventory.collect(tmp_path)
    assert result.get("dimms") or "no memory module" in result["unavailable"]["dimms"]


def test_the_smallest_quota_of_all_groups_counts(tmp_path: Path) -> None:
    trees.write(tmp_path, "proc/self/cgroup", "0::/pod/container")
    trees.write(tmp_path, "sys/fs/cgroup/pod/cpu.max", "150000 100000")
    trees.write(tmp_path, "sys/fs/cgroup/pod/container/cpu.max", "max 100000")
    trees.write(tmp_path, "sys/fs/cgroup/pod/container/memory.max", str(2**30))
    assert system.container(tmp_path) == {"cpus": 1.5, "memory_bytes": 2**30}


def test_quotas_of_the_first_version_of_control_groups(tmp_path: Path) -> None:
    trees.write(tmp_path, "proc/self/cgroup", "3:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc")
    trees.write(tmp_path, "sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us", "50000")
    trees.write(tmp_path, "sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_period_us", "100000")
    trees.write(tmp_path, "sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "9223372036854771712")
    assert system.container(tmp_path) == {"cpus": 0.5}


def test_5000_mounts_are_read_and_only_those_that_store_are_reported(tmp_path: Path) -> None:
    rows = [f"{number} 1 0:{number} / /run/m{number} rw - tmpfs tmpfs rw" for number in range(5000)]
    rows.append(r"9999 1 8:1 / /data\040one rw,noatime shared:1 - xfs /dev/sda1 rw,logbsize=256k")
    rows.append("10000 1 8:1 / /again rw - xfs /dev/sda1 rw")
    trees.write(tmp_path, "proc/self/mountinfo", "\n".join(rows))
    (mount,) = disks.mounts(tmp_path)
    assert mount["mount"] == "/data one"
    assert mount["options"] == "logbsize=256k,noatime,rw"


@pytest.fixture
def fuse(tmp_path: Path) -> Iterator[tuple[Path, subprocess.Popen[str]]]:
    """A mounted FUSE file system, and the process that serves it."""
    path = tmp_path / "mount point"
    with mounted("fuse_server", path) as server:
        yield path, server


def test_a_mount_whose_server_is_stopped_is_named_and_holds_nothing_up(
    fuse: tuple[Path, subprocess.Popen[str]],
) -> None:
    path, server = fuse
    alive = {filesystem["mount"]: filesystem for filesystem in disks.filesystems(Path("/"))}[str(path)]
    assert (alive["size_bytes"], alive["free_bytes"]) == (1000 * 4096, 500 * 4096)
    server.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    result = inventory.collect()
    took_s = time.monotonic() - began
    mounts = {filesystem["mount"]: filesystem for filesystem in result["filesystems"]}
    assert mounts[str(path)]["answers"] is False
    assert "size_bytes" not in mounts[str(path)]
    assert mounts["/"]["size_bytes"] > 0
    assert any(
        finding.message.arguments.get("mount") == str(path) for finding in host_remarks.findings(result)
    )
    assert took_s < 30  # it waits for about one second; without a limit it would wait for ever


def test_of_5000_mounts_that_hang_some_are_asked_and_all_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [f"{number} 1 0:{number} / /nfs/{number} rw - nfs4 nas:/{number} rw" for number in range(5000)]
    trees.write(tmp_path, "proc/self/mountinfo", "\n".join(rows))
    never = threading.Event()
    monkeypatch.setattr(disks, "_space", lambda path: never.wait())
    monkeypatch.setattr(disks, "_ANSWER_S", 0.2)
    try:
        result = disks.filesystems(tmp_path)
    finally:
        never.set()
    assert len(result) == 5000
    silent = [item for item in result if item.get("answers") is False]
    assert 0 < len(silent) <= AT_ONCE
    assert all("size_bytes" not in item for item in result)


def test_of_5000_mounts_that_answer_every_size_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [f"{number} 1 8:{number} / / rw - xfs /dev/sd{number} rw" for number in range(5000)]
    trees.write(tmp_path, "proc/self/mountinfo", "\n".join(rows))
    monkeypatch.setattr(disks, "_ANSWER_S", 60)
    assert all(filesystem["size_bytes"] > 0 for filesystem in disks.filesystems(tmp_path))


def test_a_question_without_end_costs_its_limit_and_has_a_reason() -> None:
    never = threading.Event()
    try:
        answers = ask(
            {"quick": lambda: 1, "endless": never.wait, "broken": lambda: 1 / 0, "nothing": lambda: None}, 0.3
        )
    finally:
        never.set()
    assert answers.values == {"quick": 1}
    assert answers.unavailable["endless"].text == "no response within 0.3 s"
    assert "ZeroDivisionError" in answers.unavailable["broken"].text


def test_names_of_pci_devices_come_from_the_distributions_list(tmp_path: Path) -> None:
    trees.write(
        tmp_path,
        "usr/share/misc/pci.ids",
        "19e5  Huawei Technologies Co., Ltd.\n\t1822  Hi1822 Family\n8086  Intel",
    )
    trees.write(tmp_path, "sys/class/net/eth9/device/vendor", "0x19e5")
    trees.write(tmp_path, "sys/class/net/eth9/device/device", "0x1822")
    trees.write(tmp_path, "sys/class/net/eth9/mtu", "1500")
    trees.write(tmp_path, "sys/class/net/eth9/speed", "-1")
    (interface,) = inventory.interfaces(tmp_path)
    assert interface["device"] == "Huawei Technologies Co., Ltd. Hi1822 Family"
    assert interface["mtu"] == 1500
    assert "speed_mbits" not in interface


def test_without_a_list_of_names_devices_are_numbers_and_it_is_reported_why(tmp_path: Path) -> None:
    inventory.pci_names(tmp_path)  # no device, no need for a name
    trees.write(tmp_path, "sys/class/net/eth9/device/vendor", "0x19e5")
    trees.write(tmp_path, "sys/class/net/eth9/device/device", "0xa222")
    (interface,) = inventory.interfaces(tmp_path)
    assert interface["device"] == "19e5:a222"
    with pytest.raises(UnavailableError, match=r"no list of PCI names \(Debian's package `pci.ids`\)"):
        inventory.pci_names(tmp_path)
    trees.write(
        tmp_path, "usr/share/misc/pci.ids", "# list\n19e5  Huawei\n\ta221  other\n8086  Intel\n\ta222  wrong"
    )
    assert inventory.interfaces(tmp_path)[0]["device"] == "Huawei"
    inventory.pci_names(tmp_path)


def test_a_container_sees_its_own_group_as_the_root_of_all(tmp_path: Path) -> None:
    trees.write(tmp_path, "proc/self/cgroup", "0::/")
    trees.write(tmp_path, "sys/fs/cgroup/cpu.max", "400000 100000")
    trees.write(tmp_path, "sys/fs/cgroup/memory.max", "max")
    assert system.container(tmp_path) == {"cpus": 4.0}


def test_a_container_of_the_first_version_has_its_limits_at_the_mounts_root(tmp_path: Path) -> None:
    trees.write(
        tmp_path,
        "proc/self/cgroup",
        "3:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n1:name=systemd:/docker/abc",
    )
    trees.write(tmp_path, "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1")
    trees.write(tmp_path, "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000")
    trees.write(tmp_path, "sys/fs/cgroup/memory/memory.limit_in_bytes", str(512 * 2**20))
    assert system.container(tmp_path) == {"memory_bytes": 512 * 2**20}


def test_without_a_dmi_table_the_processor_tells_of_a_hypervisor_and_nobody_of_modules(
    tmp_path: Path,
) -> None:
    trees.write(tmp_path, "proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu hypervisor avx2")
    (tmp_path / "sys/firmware").mkdir(parents=True)
    result = inventory.collect(tmp_path)
    assert result["virtualisation"] == "unknown hypervisor"
    assert result["unavailable"]["dimms"].startswith("the firmware provides no DMI table")
    assert host_remarks.findings(result)


def test_a_process_that_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    trees.write(tmp_path, "proc/12/comm", "chronyd")
    (tmp_path / "proc/13").mkdir()  # gone between the listing and the look
    (tmp_path / "proc/14/comm").mkdir(parents=True)
    trees.write(tmp_path, "proc/15/comm", "ntpd")
    (tmp_path / "proc/15/comm").chmod(0)
    assert "chronyd" in system.time_sync(tmp_path)["daemons"]


def test_without_root_there_is_a_page_with_what_could_not_be_read() -> None:
    """On a machine whose firmware table, and one process, only root may read."""
    with TemporaryDirectory(dir="/var/tmp") as home:
        root = Path(home)
        root.chmod(0o755)
        trees.kunpeng(root)
        trees.dmi(root, (16384, 3200, 2933))
        trees.write(root, "proc/15/comm", "ntpd")
        trees.write(root, "proc/16/comm", "chronyd")
        (root / "proc/15").chmod(0)
        (root / "sys/firmware/dmi/tables/DMI").chmod(0)
        with nobody():
            result = inventory.collect(root)
    assert result["unavailable"]["dimms"] == "only root may read /sys/firmware/dmi/tables/DMI"
    assert result["time_sync"]["daemons"] == ["chronyd"]
    assert result["cpu"]["threads"] == 128


def test_this_machine_is_known() -> None:
    result = inventory.collect()
    assert result["cpu"]["threads"] >= result["cpu"]["usable_threads"] >= 1
    assert result["memory_bytes"] > 2**28
    assert (
        any(item["mount"] == "/" or "size_bytes" in item for item in result.get("filesystems", []))
        or result["unavailable"]
    )
    assert isinstance(result["time_sync"]["daemons"], list)


def test_disks_have_sectors_sizes_of_requests_nodes_and_partitions(tmp_path: Path) -> None:
    trees.storage_and_network(tmp_path)
    nvme, pmem, sata = disks.disks(tmp_path)
    assert {name: nvme[name] for name in nvme if name.endswith("_bytes")} == {
        "size_bytes": 1_875_385_008 * 512,
        "logical_sector_bytes": 512,
        "physical_sector_bytes": 4096,
        "minimum_io_bytes": 4096,
        "optimal_io_bytes": 131_072,
    }
    assert nvme["partitions"] == [
        {"name": "nvme0n1p2", "size_bytes": 2**31},
        {"name": "nvme0n1p10", "size_bytes": 1_871_187_968 * 512},
    ]
    assert nvme["numa_node"] == 1, "that of the PCI device that its controller hangs on"
    assert "optimal_io_bytes" not in sata, "0 stands for a device that states none"
    assert "numa_node" not in sata, "-1 stands for a device without node"
    assert not {"partitions", "numa_node", "logical_sector_bytes"} & pmem.keys()


def test_interfaces_have_the_node_of_their_device(tmp_path: Path) -> None:
    trees.storage_and_network(tmp_path)
    eth, veth = inventory.interfaces(tmp_path)
    assert (eth["numa_node"], "numa_node" in veth) == (0, False)


@pytest.mark.parametrize(
    ("address", "netmask", "shown"),
    [
        ("192.0.2.7", "255.255.255.0", "192.0.2.7/24"),
        ("192.0.2.7", "255.255.255.255", "192.0.2.7/32"),
        ("192.0.2.7", "0.0.0.0", "192.0.2.7/0"),
        ("2001:db8::7", "ffff:ffff:ffff:ffff::", "2001:db8::7/64"),
        ("fe80::7", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "fe80::7/128"),
        ("192.0.2.7", None, "192.0.2.7"),
        ("192.0.2.7", "255.0.255.0", "192.0.2.7"),
        ("192.0.2.7", "ffff:ffff::", "192.0.2.7"),
        ("192.0.2.7", "words", "192.0.2.7"),
    ],
)
def test_addresses_have_the_length_of_their_prefix(address: str, netmask: str | None, shown: str) -> None:
    assert inventory.with_prefix(address, netmask) == shown


def test_an_anonymous_inventory_keeps_nodes_and_sizes_and_drops_addresses(tmp_path: Path) -> None:
    trees.storage_and_network(tmp_path)
    host = {"network": inventory.interfaces(tmp_path), "disks": disks.disks(tmp_path)}
    host["network"][0]["addresses"] = ["192.0.2.7/24"]
    shown = inventory.nameless(host)
    assert "192.0.2.7" not in json.dumps(shown)
    assert shown["network"][0]["numa_node"] == 0
    assert shown["disks"] == host["disks"]


def test_an_anonymous_inventory_has_no_names_and_addresses(tmp_path: Path) -> None:
    result = inventory.nameless(
        {
            "hostname": "db7.bank.example",
            "kernel": "6.1",
            "kernel_command_line": "root=UUID=1-2",
            "network": [{"name": "eth0", "mtu": 1500, "addresses": ["10.1.2.3"]}],
            "filesystems": [
                {
                    "mount": "/srv/customer",
                    "source": "nas7:/x",
                    "type": "nfs",
                    "options": "rw",
                    "answers": False,
                }
            ],
        }
    )
    text = str(result)
    assert not [word for word in ("bank", "UUID", "10.1.2.3", "customer", "nas7") if word in text]
    assert result["network"][0]["mtu"] == 1500
    assert result["filesystems"] == [{"type": "nfs", "options": "rw", "answers": False}]

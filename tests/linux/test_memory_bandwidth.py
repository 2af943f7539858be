"""Traffic of memory by resctrl and by counters of memory controllers, and the bandwidth of modules."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from linux import trees
from loadcell.execution.resource_use import ResourceWatch
from loadcell.linux import memory_controllers
from loadcell.linux.memory_bandwidth import MemoryTraffic, bytes_between, peak_bytes_per_s
from loadcell.model.resource_metrics import metric_values
from nobody import nobody

GIB = 2**30


def resctrl(root: Path, *domains: int | str, group: str = "") -> None:
    """One control group of resctrl, with the counter of each L3 cache."""
    for number, content in enumerate(domains):
        base = f"sys/fs/resctrl/{group}/mon_data/mon_L3_{number:02}"
        trees.write(root, f"{base}/mbm_total_bytes", str(content))
        trees.write(root, f"{base}/mbm_local_bytes", "7")
        trees.write(root, f"{base}/llc_occupancy", "4096")


def between(root: Path, before: Sequence[int | str], now: Sequence[int | str]) -> int | None:
    traffic = MemoryTraffic(root)
    resctrl(root, *before)
    first = traffic.read()
    resctrl(root, *now)
    return bytes_between(first, traffic.read())


def test_traffic_is_the_sum_over_caches_and_control_groups(tmp_path: Path) -> None:
    traffic = MemoryTraffic(tmp_path)
    trees.write(tmp_path, "sys/fs/resctrl/info/L3_MON/mon_features", "mbm_total_bytes")
    trees.write(tmp_path, "sys/fs/resctrl/mon_groups/part/mon_data/mon_L3_00/mbm_total_bytes", "9")
    resctrl(tmp_path, 100, 1_000)
    resctrl(tmp_path, 50, 500, group="batch")
    before = traffic.read()
    resctrl(tmp_path, 101, 1_020)
    resctrl(tmp_path, 350, 4_500, group="batch")
    assert bytes_between(before, traffic.read()) == 1 + 20 + 300 + 4_000


def test_counters_wrap_at_64_bits(tmp_path: Path) -> None:
    assert between(tmp_path, [2**64 - 100, 5 * GIB], [50, 6 * GIB]) == 150 + GIB


@pytest.mark.parametrize("unknown", ["Unavailable", "Error", "Unassigned", "", "12 34"])
def test_a_part_of_the_traffic_is_not_taken_for_all_of_it(tmp_path: Path, unknown: str) -> None:
    assert between(tmp_path / "begin", [unknown, 100], [200, 200]) is None
    assert between(tmp_path / "end", [100, 100], [200, unknown]) is None


def test_after_a_reset_the_traffic_is_not_known(tmp_path: Path) -> None:
    assert between(tmp_path, [3 * GIB, 100], [10, 200]) is None


def test_a_control_group_that_comes_or_goes_makes_the_traffic_unknown(tmp_path: Path) -> None:
    traffic = MemoryTraffic(tmp_path)
    resctrl(tmp_path, 100)
    before = traffic.read()
    resctrl(tmp_path, 10, group="new")
    assert bytes_between(before, traffic.read()) is None


def test_without_counters_or_the_right_to_read_them_there_is_no_traffic(tmp_path: Path) -> None:
    assert MemoryTraffic(tmp_path).read() == {}
    assert bytes_between({}, {}) is None
    with TemporaryDirectory(dir="/var/tmp") as home:
        root = Path(home)
        root.chmod(0o755)
        resctrl(root, 100)
        (root / "sys/fs/resctrl/mon_data").chmod(0)
        with nobody():
            assert MemoryTraffic(root).read() == {}
        (root / "sys/fs/resctrl/mon_data").chmod(0o755)
        (root / "sys/fs/resctrl/mon_data/mon_L3_00/mbm_total_bytes").chmod(0)
        with nobody():
            assert MemoryTraffic(root).read() == {"mon_data/mon_L3_00": None}


def controller(root: Path, name: str, kind: int, events: dict[str, str]) -> None:
    """A PMU as the kernel shows it."""
    base = f"sys/bus/event_source/devices/{name}"
    trees.write(root, f"{base}/type", str(kind))
    trees.write(root, f"{base}/cpumask", "0")
    trees.write(root, f"{base}/format/event", "config:0-7")
    trees.write(root, f"{base}/format/umask", "config:8-15")
    for event, text in events.items():
        trees.write(root, f"{base}/events/{event}", text)


def scaled(name: str, terms: str, scale: str) -> dict[str, str]:
    return {name: terms, f"{name}.scale": scale, f"{name}.unit": "MiB"}


def test_counters_of_memory_controllers_count_through_the_kernel(tmp_path: Path) -> None:
    """The software PMU (type 1) in place of a controller: its cpu-clock counts nanoseconds, 3 bytes each."""
    per_ns = 3 / 2**20
    for number in range(2):
        events = scaled("cas_count_read", "event=0x00", str(per_ns)) | {"clockticks": "event=0x01"}
        controller(tmp_path, f"uncore_imc_{number}", 1, events)
    traffic = MemoryTraffic(tmp_path)
    before, began_ns = traffic.read(), time.monotonic_ns()
    paranoid = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    if os.geteuid() != 0 and paranoid > 0:
        assert before == {}
        return
    time.sleep(0.05)
    now, elapsed_ns = traffic.read(), time.monotonic_ns() - began_ns
    traffic.close()
    assert set(now) == {"uncore_imc_0/cas_count_read@0", "uncore_imc_1/cas_count_read@0"}
    assert bytes_between(before, now) == pytest.approx(2 * 3 * elapsed_ns, rel=0.1)


def test_a_controller_that_cannot_be_opened_leaves_the_traffic_to_resctrl(tmp_path: Path) -> None:
    controller(tmp_path, "uncore_imc_0", 1, scaled("cas_count_read", "event=0x00", "1e-6"))
    controller(tmp_path, "uncore_imc_1", 4_000_000, scaled("cas_count_read", "event=0x04", "1e-6"))
    resctrl(tmp_path, 100)
    before = len(list(Path("/proc/self/fd").iterdir()))
    assert MemoryTraffic(tmp_path).read() == {"mon_data/mon_L3_00": 100}
    assert len(list(Path("/proc/self/fd").iterdir())) == before, "no counter stays open"


@pytest.mark.parametrize(
    ("name", "events", "expected"),
    [
        (
            "uncore_imc_3",
            scaled("cas_count_write", "event=0x05,umask=0xcf", "6.103515625e-5"),
            ("cas_count_write", 0xCF05, 64.0),
        ),
        ("uncore_imc", scaled("data_reads", "event=0x01", "6.103515625e-5"), ("data_reads", 1, 64.0)),
        ("amd_umc_7", {}, ("event=0x0a", 0x0A, 64.0)),
        ("hisi_sccl3_ddrc1", {"flux_rd": "config=0x84"}, ("flux_rd", 0x84, 32.0)),
    ],
)
def test_events_of_memory_controllers_are_known(
    tmp_path: Path, name: str, events: dict[str, str], expected: tuple[str, int, float]
) -> None:
    controller(tmp_path, name, 17, events | {"clockticks": "event=0xff"})
    [event] = memory_controllers._events(tmp_path)
    assert (event.name, event.configs[0], event.count_bytes) == (f"{name}/{expected[0]}@0", *expected[1:])
    assert event.kind == 17


def test_free_running_counters_do_not_count_the_same_bytes_again(tmp_path: Path) -> None:
    controller(tmp_path, "uncore_imc_0", 17, scaled("cas_count_read", "event=0x04", "6.1e-5"))
    controller(tmp_path, "uncore_imc_free_running_0", 18, scaled("read", "event=0xff", "6.1e-5"))
    assert [event.name for event in memory_controllers._events(tmp_path)] == ["uncore_imc_0/cas_count_read@0"]


@pytest.mark.parametrize(
    "damage", [{"type": ""}, {"format/event": "config9:0-7"}, {"events/cas_count_read": "event=none"}]
)
def test_a_controller_that_cannot_be_understood_is_left_out(tmp_path: Path, damage: dict[str, str]) -> None:
    controller(tmp_path, "uncore_imc_0", 17, scaled("cas_count_read", "event=0x04", "6.1e-5"))
    for path, text in damage.items():
        trees.write(tmp_path, f"sys/bus/event_source/devices/uncore_imc_0/{path}", text)
    assert memory_controllers.open_counters(tmp_path) is None


MODULE = (16384, 3200, 2933)
EIGHT_BYTES = 8 * 2933e6


@pytest.mark.parametrize(
    ("banks", "locators", "channels"),
    [
        (("P0 CHANNEL A", "P0 CHANNEL A", "P1 CHANNEL A", "P1 CHANNEL A"), (), 2),
        (
            ("Node0_Channel0_Dimm0", "Node0_Channel0_Dimm1", "Node0_Channel1_Dimm0", "Node1_Channel1_Dimm0"),
            (),
            3,
        ),
        ((), ("ChannelA-DIMM0", "ChannelA-DIMM1", "ChannelB-DIMM0", "ChannelB-DIMM1"), 2),
        ((), ("SOCKET 0 CHANNEL 1 DIMM 0", "SOCKET 0 CHANNEL 1 DIMM 1", "CPU1_CH11_D0", "CPU1_CH1_D0"), 3),
        (
            ("CHANNEL A", "CHANNEL B", "CHANNEL A", "CHANNEL B"),
            ("CPU0_D1", "CPU0_D1", "CPU1_D1", "CPU1_D1"),
            4,
        ),
        (("A1_Node0_Channel0", "A2_Node0_Channel0", "B1_Node0_Channel1", "B2_Node0_Channel1"), (), 2),
    ],
)
def test_peak_is_that_of_the_slowest_module_times_named_channels(
    tmp_path: Path, banks: tuple[str, ...], locators: tuple[str, ...], channels: int
) -> None:
    trees.dmi(tmp_path, MODULE, (16384, 3200, 3200), MODULE, MODULE, banks=banks, locators=locators)
    assert peak_bytes_per_s(tmp_path) == channels * EIGHT_BYTES


@pytest.mark.parametrize(
    "locators",
    [
        (),
        ("Channel A", "Channel B", "BANK 2", "BANK 3"),
        ("DIMM_A1", "DIMM_A2", "DIMM_B1", "DIMM_B2"),
        ("Chassis 1", "Chassis 2", "Chassis 3", "Chassis 4"),
    ],
)
def test_without_named_channels_the_peak_is_unknown(tmp_path: Path, locators: tuple[str, ...]) -> None:
    """Two modules may be in one channel."""
    trees.dmi(tmp_path, MODULE, MODULE, MODULE, MODULE, locators=locators)
    assert peak_bytes_per_s(tmp_path) is None


def test_a_single_module_has_a_channel_to_itself(tmp_path: Path) -> None:
    trees.dmi(tmp_path, MODULE)
    assert peak_bytes_per_s(tmp_path) == EIGHT_BYTES


@pytest.mark.parametrize(
    ("kind", "widths", "width_bytes"),
    [
        (DDR5 := 0x22, (80, 64), 8),
        (DDR5, (0, 0), 8),
        (LPDDR5 := 0x23, (16, 16), 2),
        (LPDDR5, (32, 0xFFFF), 4),
        (LPDDR5, (0xFFFF, 0xFFFF), None),
        (HBM2 := 0x21, (0, 0), None),
        (HBM2, (1024, 1024), 128),
    ],
)
def test_packages_of_other_memory_have_the_width_that_the_firmware_states(
    tmp_path: Path, kind: int, widths: tuple[int, int], width_bytes: int | None
) -> None:
    banks = ("Channel A", "Channel B")
    trees.dmi(tmp_path, MODULE, MODULE, banks=banks, kind=kind, widths=widths)
    assert peak_bytes_per_s(tmp_path) == (None if width_bytes is None else 2 * width_bytes * 2933e6)


def test_without_the_speed_of_a_module_there_is_no_peak(tmp_path: Path) -> None:
    assert peak_bytes_per_s(tmp_path) is None
    trees.dmi(tmp_path, MODULE, (16384, 0, 0))
    assert peak_bytes_per_s(tmp_path) is None


def test_a_trial_records_traffic_and_peak_of_its_window(tmp_path: Path) -> None:
    instants = iter((0, 0, 0, 2 * 10**9))
    trees.dmi(tmp_path, MODULE)
    watch = ResourceWatch(tmp_path, client=list, now_ns=lambda: next(instants, 2 * 10**9))
    resctrl(tmp_path, GIB, GIB)
    watch.begin()
    resctrl(tmp_path, 2 * GIB, 6 * GIB)
    watch.end()
    used = watch.resources()
    assert used is not None
    assert used.host.memory_traffic_bytes_per_s == pytest.approx(6 * GIB / used.window_s)
    assert used.host.memory_peak_bytes_per_s == EIGHT_BYTES
    assert metric_values(used)["host.memory.bandwidth"] == used.host.memory_traffic_bytes_per_s


def test_a_machine_without_counters_has_no_traffic(tmp_path: Path) -> None:
    trees.dmi(tmp_path, MODULE)
    watch = ResourceWatch(tmp_path, client=list)
    watch.begin()
    watch.end()
    used = watch.resources()
    assert used is not None
    assert (used.host.memory_traffic_bytes_per_s, used.host.memory_peak_bytes_per_s) == (None, None)
    assert "host.memory.bandwidth" not in metric_values(used)

"""Tables of sar: heads of every kind, devices that are views of others, and the averages that it prints."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from loadcell.ingest import checks
from loadcell.ingest.base import Reading, Samples
from loadcell.ingest.readers import nmon, sar

QUEUE = """Linux 5.14.0 (db9) \t09/13/2023 \t_x86_64_\t(2 CPU)

10:00:00      runq-sz  plist-sz   ldavg-1   ldavg-5  ldavg-15   blocked
10:00:01            2       242      0.40      0.38      0.44         0
10:00:02            1       242      0.60      0.38      0.44         0
"""
AVERAGE = "Average:            2       242      0.50      0.38      0.44         0\n"


def read(text: str) -> Reading:
    return sar.read(text.splitlines(keepends=True))


def samples(reading: Reading) -> Samples:
    assert reading.samples is not None
    return reading.samples


def rows(reading: Reading) -> list[dict[str, float]]:
    return [dict(values) for _, values in samples(reading).rows()]


def others(reading: Reading) -> Iterator[tuple[str, str, float]]:
    return ((item.object, item.name, item.value) for _, item in samples(reading).others())


@pytest.mark.parametrize(
    ("head", "row"),
    [
        ("totsck    tcpsck    udpsck    rawsck   ip-frag    tcp-tw", "186 18 4 0 0 9"),
        ("tcp6sck   udp6sck   raw6sck  ip6-frag", "7 3 1 0"),
        ("dentunusd   file-nr  inode-nr    pty-nr", "48621 1440 50210 2"),
        ("wghMHz  guess", "2400.00 1"),
    ],
)
def test_a_head_without_a_rate_or_a_share_begins_its_own_table(head: str, row: str) -> None:
    parsed = read(f"{QUEUE}\n10:00:00   {head}\n10:00:01   {row}\n10:00:02   {row}\n")
    assert (parsed.unread, [values["load1"] for values in rows(parsed)]) == (0, [0.4, 0.6])
    assert ("", head.split()[1], float(row.split()[1])) in set(others(parsed))


def test_rows_under_an_unknown_head_are_unread_and_never_filed_under_the_one_before() -> None:
    parsed = read(f"{QUEUE}\n10:00:00   alpha beta gamma delta eps zeta\n10:00:01   1 2 3 4 5 6\n")
    assert [values["load1"] for values in rows(parsed)] == [0.4, 0.6]
    assert parsed.unread == 2


def test_a_second_table_of_one_head_begins_the_day_again() -> None:
    table = "\n{0}  INTR    intr/s\n00:10:01    {1}   5.00\n23:50:01    {1}   7.00\nAverage:    {1}   6.00\n"
    banner = QUEUE.partition("\n")[0]
    parsed = read(f"{banner}\n{table.format('00:00:01', 'sum')}{table.format('00:00:01', '3')}")
    assert len(samples(parsed)) == 2, "no midnight between the tables"


def test_text_that_names_devices_is_no_value() -> None:
    parsed = read(
        f"{QUEUE}\n10:00:00  FAN  rpm  drpm  DEVICE\n10:00:01  1  2500.00  500.00  it8728-isa-0a30\n"
    )
    assert parsed.unread == 0
    assert ("FAN 1", "rpm", 2500) in set(others(parsed))


DEVICES = """
10:00:00          DEV       tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util
10:00:01      nvme0n1      2.00     10.00     20.00      0.00     10.67      0.00      0.50     40.00
10:00:01    nvme0n1p1      2.00     10.00     20.00      0.00     10.67      0.00      0.50     45.00
10:00:01          sda      2.00      1.00      2.00      0.00     10.67      0.00      0.50      6.00
10:00:01         sda1      2.00      1.00      2.00      0.00     10.67      0.00      0.50      6.00
10:00:02         xvda1     2.00      3.00      4.00      0.00     10.67      0.00      0.50      6.00
"""


def test_partitions_next_to_their_disk_are_not_added_to_it() -> None:
    first, second = rows(read(QUEUE + DEVICES))
    assert (first["disk_read_bytes_per_s"], first["disk_write_bytes_per_s"]) == (11 * 1024, 22 * 1024)
    assert first["disk_util_max_percent"] == 40
    assert second["disk_read_bytes_per_s"] == 3 * 1024, "a partition without its disk is a disk"


@pytest.mark.parametrize(
    ("names", "counted"),
    [
        (("eth0", "tun0", "vnet3", "macvtap1", "lo"), ("eth0",)),
        (("bond0", "eth0", "eth1", "eth0.100", "br0"), ("eth0", "eth1")),
        (("bond0", "lo"), ("bond0",)),
        (("eth0", "azure0", "azv604be75d832", "cilium_host", "eni1a2b3c4d", "kube-ipvs0"), ("eth0",)),
    ],
)
def test_interfaces_that_carry_the_traffic_of_others_are_not_added(
    names: tuple[str, ...], counted: tuple[str, ...]
) -> None:
    text = QUEUE + "\n10:00:00  IFACE   rxkB/s    txkB/s\n"
    text += "".join(f"10:00:01  {name}  3.00  4.00\n" for name in names)
    head = ",".join(f"{name}-read-KB/s" for name in names)
    lines = ["ZZZZ,T0001,10:00:01,13-SEP-2023\n", f"NET,Network I/O x,{head}\n"]
    lines.append(f"NET,T0001,{','.join('3.0' for _ in names)}\n")
    expected = len(counted) * 3 * 1024
    assert rows(read(text))[0]["net_rx_bytes_per_s"] == expected
    assert rows(nmon.read(lines))[0]["net_rx_bytes_per_s"] == expected


def test_printed_averages_are_compared_with_the_stored_columns() -> None:
    assert samples(read(QUEUE)).printed == (), "a text without averages has none"
    assert [total.figure for total in samples(read(QUEUE + AVERAGE)).printed] == [
        "load1", "runnable", "blocked",
    ]  # fmt: skip
    assert checks.of_samples(samples(read(QUEUE + AVERAGE))) == []
    wrong = checks.of_samples(samples(read(QUEUE + AVERAGE.replace("0.50", "9.50"))))
    assert [(item.total.label, item.total.value, item.stored) for item in wrong] == [
        ("Average (load1)", 9.5, 0.5)
    ]


def test_averages_of_two_sections_between_restarts_count_by_their_rows() -> None:
    restart = "\n10:00:05       LINUX RESTART      (2 CPU)\n\n"
    head = QUEUE.splitlines(keepends=True)[2]
    row = "10:00:07            2       242      3.50      0.38      0.44         0\n"
    text = QUEUE + AVERAGE + restart + head + row + AVERAGE.replace("0.50", "3.50")
    (load,) = [total for total in samples(read(text)).printed if total.figure == "load1"]
    assert load.value == pytest.approx(1.5)
    assert checks.of_samples(samples(read(text))) == []
    assert samples(read(QUEUE + AVERAGE + restart + head + row)).printed == (), "cut in the second section"

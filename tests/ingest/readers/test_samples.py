"""Monitors of other makes: jstat, nmon and sar, in the columns of loadcell's, in any locale."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from loadcell.ingest.base import NotItsOutputError, Reading, Samples
from loadcell.ingest.readers import jstat, nmon, sar

OUTPUTS = Path(__file__).parent / "outputs"


@pytest.fixture(autouse=True)
def _shanghai(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Times without a zone are this machine's."""
    monkeypatch.setenv("TZ", "Asia/Shanghai")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def samples(reading: Reading) -> Samples:
    assert reading.samples is not None
    return reading.samples


def rows(reading: Reading) -> list[dict[str, float]]:
    return [{"at": at_s, **values} for at_s, values in samples(reading).rows()]


def others(reading: Reading) -> dict[tuple[str, str], list[float]]:
    results: dict[tuple[str, str], list[float]] = {}
    for _, item in samples(reading).others():
        results.setdefault((item.object, item.name), []).append(item.value)
    return results


def utc(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


# --- jstat

#: From a published report on Berkeley DB: G1 in a pause of seven seconds, and CMS without a class space.
G1 = """  S0     S1     E      O      M     CCS    YGC     YGCT    FGC    FGCT     GCT
  0.00 100.00  94.87  47.44  98.45  96.54     12    6.923     0    0.000    6.923
  0.00 100.00  94.87  47.44  98.45  96.54     12    6.923     0    0.000    6.923
  0.00 100.00   2.89  50.92  98.46  96.54     12   14.315     0    0.000   14.315
  S0     S1     E      O      M     CCS    YGC     YGCT    FGC    FGCT     GCT
  0.00 100.00   2.97  50.92  98.46  96.54     13   14.400     1    0.250   14.650
"""
CMS = """  S0     S1     E      O      M     CCS    YGC     YGCT    FGC    FGCT     GCT
  5.67   0.00  48.74  70.68  98.24      -  15588 1199.695    20    2.865 1202.561
  5.67   0.00  58.74  70.68  98.24      -  15588 1199.695    20    2.865 1202.561
"""


def test_jstat_counts_between_its_lines_and_never_before_the_first() -> None:
    parsed = jstat.read(G1.splitlines(keepends=True))
    first, pause, last = rows(parsed)
    assert parsed.unread == 0
    assert [row["at"] for row in (first, pause, last)] == [1, 2, 3]
    assert samples(parsed).assumed_interval_s == 1
    assert (first["young_gcs"], first["young_gc_ms"]) == (0, 0)
    assert (pause["young_gcs"], pause["young_gc_ms"]) == (0, pytest.approx(7392))
    assert (last["young_gcs"], last["full_gcs"], last["full_gc_ms"]) == (1, 1, pytest.approx(250))
    assert (pause["eden_percent"], pause["old_percent"], pause["survivor1_percent"]) == (2.89, 50.92, 100)
    assert "concurrent_gcs" not in last


def test_a_space_that_is_none_stays_empty() -> None:
    (row,) = rows(jstat.read(CMS.splitlines(keepends=True)))
    assert "class_space_percent" not in row
    assert row["metaspace_percent"] == 98.24


def test_the_permanent_generation_of_java_7_has_dedicated_columns() -> None:
    shares = """  S0     S1     E      O      P     YGC     YGCT    FGC    FGCT     GCT
  0.00  25.00  40.00  10.00  61.50      7    0.120     1    0.250    0.370
  0.00  25.00  50.00  10.00  62.50      7    0.120     1    0.250    0.370
"""
    (row,) = rows(jstat.read(shares.splitlines(keepends=True)))
    assert row["permanent_percent"] == 62.5
    sizes = """ S0C    S1C    S0U    S1U      EC       EU        OC         OU       PC     PU    YGC     YGCT    FGC    FGCT     GCT
64.0   64.0    0.0   16.0   512.0    200.0    1024.0      100.0   200.0  150.0      7    0.120     1    0.250    0.370
64.0   64.0    0.0   16.0   512.0    250.0    1024.0      100.0   200.0  160.0      7    0.120     1    0.250    0.370
"""  # noqa: E501
    (row,) = rows(jstat.read(sizes.splitlines(keepends=True)))
    assert (row["permanent_percent"], row["permanent_used_bytes"]) == (80, 160 * 1024)
    assert row["heap_used_bytes"] == (16 + 250 + 100) * 1024, "it is no part of the heap"


def test_jstat_of_a_locale_with_decimal_commas() -> None:
    text = CMS.replace(".", ",")
    (row,) = rows(jstat.read(text.splitlines(keepends=True)))
    assert row["eden_percent"] == 58.74
    assert row["young_gc_ms"] == 0


def test_jstat_gc_has_sizes_and_with_t_its_own_times() -> None:
    text = (OUTPUTS / "jstat-gc-t.txt").read_text()
    parsed = jstat.read(text.splitlines(keepends=True))
    (row,) = rows(parsed)
    assert (row["at"], samples(parsed).assumed_interval_s) == (1119.8, None)
    assert row["old_percent"] == pytest.approx(100 * 546816 / 865280)
    assert row["heap_used_bytes"] == (30720 + 755713 + 546816) * 1024
    assert (row["young_gcs"], row["concurrent_gcs"], row["concurrent_gc_ms"]) == (2, 2, pytest.approx(20))


def test_a_jvm_that_was_started_again_counts_from_nothing() -> None:
    text = G1 + "  0.00   0.00   2.00   1.00  98.46  96.54      0    0.000     0    0.000    0.000\n"
    last = rows(jstat.read(text.splitlines(keepends=True)))[-1]
    assert last["eden_percent"] == 2
    assert "young_gcs" not in last


def test_what_a_script_printed_between_is_unread() -> None:
    text = f"start\n{G1}Warning: Unresolved Symbol: sun.gc.x substituted NaN\n 0.0 1.0 broken\n"
    parsed = jstat.read(text.splitlines(keepends=True))
    assert (parsed.unread, len(rows(parsed))) == (3, 3)


@pytest.mark.parametrize(
    "text", ["", "hello\n", G1.splitlines(keepends=True)[0], "".join(G1.splitlines(keepends=True)[:2])]
)
def test_fewer_than_two_lines_are_no_series(text: str) -> None:
    with pytest.raises(NotItsOutputError):
        jstat.read(text.splitlines(keepends=True))


def test_everything_that_jstat_prints_is_read() -> None:
    """JDK 17 with G1, its head again after every third line."""
    shares = jstat.read((OUTPUTS / "jstat-gcutil.txt").read_text().splitlines(keepends=True))
    sizes = jstat.read((OUTPUTS / "jstat-gc.txt").read_text().splitlines(keepends=True))
    assert (shares.unread, sizes.unread) == (0, 0)
    assert sum(row["young_gcs"] for row in rows(shares)) == 65 - 8
    assert sum(row["concurrent_gc_ms"] for row in rows(shares)) == pytest.approx(29)
    assert [row["at"] for row in rows(sizes)] == [8.1, 8.5, 8.8, 9.1]
    assert rows(sizes)[-1]["old_percent"] == pytest.approx(100 * 23351.5 / 54272)


# --- nmon

NMON = (OUTPUTS / "nmon-short.txt").read_text()


def test_nmon_goes_into_the_hosts_columns_and_the_rest_beside() -> None:
    parsed = nmon.read(NMON.splitlines(keepends=True))
    first, second = rows(parsed)
    assert (parsed.unread, parsed.examples) == (0, ())
    assert first["at"] == utc("2026-04-20T02:00:00")
    assert second["at"] - first["at"] == 2
    assert {key: value for key, value in first.items() if key != "at"} == {
        "cpu_user_percent": 42.5,
        "cpu_system_percent": 5.5,
        "cpu_iowait_percent": 0.5,
        "cpu_steal_percent": 0,
        "cpu_idle_percent": 51.5,
        "cpu_busy_percent": 48,
        "cpu_max_core_percent": 90,
        "runnable": 3,
        "blocked": 1,
        "context_switches_per_s": 2500.5,
        "swap_used_bytes": 48 * 2**20,
        "net_rx_bytes_per_s": 10 * 1024,
        "net_tx_bytes_per_s": 20 * 1024,
        "disk_read_bytes_per_s": 110 * 1024,
        "disk_write_bytes_per_s": 6 * 1024,
        "disk_util_max_percent": 70.5,
    }
    assert others(parsed)["postgres 12345", "%CPU"] == [95.1]
    assert others(parsed)["MEM", "cached"] == [3000]
    assert ("MEM", "bigfree") not in others(parsed)
    assert others(parsed)["dm-0", "DISKBUSY"] == [99]


def test_a_sorted_file_of_nmon_has_its_times_at_the_end() -> None:
    assert rows(nmon.read(sorted(NMON.splitlines(keepends=True)))) == rows(
        nmon.read(NMON.splitlines(keepends=True))
    )


def test_a_snapshot_without_a_time_is_left_out_and_broken_lines_are_counted() -> None:
    text = NMON + "CPU_ALL,T0003,10.0,1.0,0.0,89.0,0.0,,2\nCPU_ALL,T0002,1o.0,1.0\nXYZ,T0002,1\nZZZZ,T0004\n"
    parsed = nmon.read(text.splitlines(keepends=True))
    assert len(rows(parsed)) == 2
    assert parsed.unread == 3


# --- sar

C = """Linux 6.1.0-18-amd64 (db7) \t09/13/2023 \t_x86_64_\t(2 CPU)

10:51:41        CPU     %user     %nice   %system   %iowait    %steal     %idle
10:51:42        all     10.50      0.50      5.00      1.00      0.00     83.00
10:51:42          0     20.00      1.00     10.00      0.00      0.00     69.00
10:51:42          1      1.00      0.00      0.00      2.00      0.00     97.00
Average:        all      0.25      0.00      0.50      0.00      0.00     99.24
"""
ENGLISH = C.replace("10:51:41 ", "11:51:41 PM").replace("10:51:42 ", "11:51:42 PM")
GERMAN = (
    C.replace(".50 ", ",50 ")
    .replace(".00", ",00")
    .replace("09/13/2023", "13.09.2023")
    .replace("Average:", "Durchschn.:")
)
CHINESE = (
    C.replace("10:51:41", "10时51分41秒")
    .replace("10:51:42", "10时51分42秒")
    .replace("09/13/2023", "2023年09月13日")
    .replace("Average:", "平均时间:")
)
AFTERNOON = CHINESE.replace("10时51分", "下午 10时51分")
ISO = C.replace("09/13/2023", "2023-09-13")


@pytest.mark.parametrize(
    ("text", "at"),
    [
        (C, "2023-09-13T02:51:42"),
        (GERMAN, "2023-09-13T02:51:42"),
        (CHINESE, "2023-09-13T02:51:42"),
        (ISO, "2023-09-13T02:51:42"),
        (ENGLISH, "2023-09-13T15:51:42"),
        (AFTERNOON, "2023-09-13T14:51:42"),
    ],
    ids=["C", "German", "Chinese", "ISO", "English", "Chinese afternoon"],
)
def test_sar_says_the_same_in_every_locale(text: str, at: str) -> None:
    parsed = sar.read(text.splitlines(keepends=True))
    assert (parsed.unread, parsed.examples) == (0, ())
    assert rows(parsed) == [
        {
            "at": utc(at),
            "cpu_user_percent": 11,
            "cpu_system_percent": 5,
            "cpu_busy_percent": 16,
            "cpu_iowait_percent": 1,
            "cpu_steal_percent": 0,
            "cpu_idle_percent": 83,
            "cpu_max_core_percent": 31,
        }
    ]
    assert others(parsed)["CPU 1", "%iowait"] == [2]


FULL_DAY = (OUTPUTS / "sar-day.txt").read_text()


def test_sars_tables_of_one_instant_are_one_row_and_midnight_is_passed_in_each() -> None:
    parsed = sar.read(FULL_DAY.splitlines(keepends=True))
    first, second = rows(parsed)
    assert (parsed.unread, parsed.examples) == (0, ())
    assert (first["at"], second["at"]) == (utc("2023-09-13T15:59:59"), utc("2023-09-13T16:00:00"))
    assert (first["cpu_user_percent"], second["cpu_user_percent"]) == (1, 2)
    assert second["memory_available_bytes"] == 1566001 * 1024
    assert (first["disk_read_bytes_per_s"], first["disk_write_bytes_per_s"]) == (11 * 1024, 22 * 1024)
    assert (first["disk_util_max_percent"], first["disk_reads_per_s"]) == (60, 1)
    assert (first["net_rx_bytes_per_s"], first["net_tx_bytes_per_s"]) == (3 * 1024, 4 * 1024)
    assert (first["runnable"], first["load1"], first["blocked"]) == (2, 1.02, 1)
    assert (first["context_switches_per_s"], first["tcp_retransmits_per_s"]) == (3456, 7)
    assert others(parsed)["sda", "await"] == [0.5]


def test_sar_without_its_banner_counts_from_its_first_time() -> None:
    parsed = sar.read(C.splitlines(keepends=True)[2:])
    assert not samples(parsed).absolute
    assert rows(parsed)[0]["at"] == 10 * 3600 + 51 * 60 + 42


SADF = """# hostname;interval;timestamp;CPU;%user;%nice;%system;%iowait;%steal;%idle
db7;-1;2018-04-25 03:15:00 UTC;LINUX-RESTART\t(2 CPU)
db7;1;2018-04-25 03:15:02 UTC;-1;1.01;0.00;0.50;0.50;0.00;97.99
db7;1;2018-04-25 03:15:02 UTC;0;2.02;0.00;0.50;0.50;0.00;96.98
# hostname;interval;timestamp;DEV;tps;rd_sec/s;wr_sec/s;avgrq-sz;avgqu-sz;await;svctm;%util
db7;1;2018-04-25 03:15:02 UTC;vda;2.00;0.00;21.00;10.67;0.00;0.00;0.00;1.50
db7;1;2018-04-25 03:15:02 UTC;broken
"""


def test_sadf_for_databases() -> None:
    parsed = sar.read(SADF.splitlines(keepends=True))
    (row,) = rows(parsed)
    assert (row["at"], row["cpu_user_percent"], row["cpu_max_core_percent"]) == (
        utc("2018-04-25T03:15:02"),
        1.01,
        2.52,
    )
    assert row["disk_write_bytes_per_s"] == 21 * 512
    assert (parsed.unread, parsed.examples) == (1, ("db7;1;2018-04-25 03:15:02 UTC;broken",))
    seconds = sar.read(SADF.replace("2018-04-25 03:15:02 UTC", "1524626102").splitlines(keepends=True))
    assert rows(seconds)[0]["at"] == row["at"]
    local = sar.read(SADF.replace("2018-04-25 03:15:02 UTC", "2018-04-25 11:15:02").splitlines(keepends=True))
    assert rows(local)[0]["at"] == row["at"]


RECORDED = {"sar-C.txt": 3, "sar-de.txt": 2, "sar-zh.txt": 2, "sadf-d.txt": 3, "sadf-j.json": 3}


@pytest.mark.parametrize(("name", "count"), RECORDED.items())
def test_everything_that_sar_prints_is_read(name: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """sysstat 12.6, in three locales and three forms, of the same seconds of a busy machine."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    parsed = sar.read((OUTPUTS / name).read_text().splitlines(keepends=True))
    assert (parsed.unread, parsed.examples, len(rows(parsed))) == (0, (), count)
    assert rows(parsed)[0]["at"] == utc("2026-11-21T17:50:36")
    for row in rows(parsed):
        assert row["cpu_busy_percent"] + row["cpu_iowait_percent"] + row["cpu_steal_percent"] + row[
            "cpu_idle_percent"
        ] == pytest.approx(100, abs=0.1)


def test_sars_text_and_both_of_sadfs_forms_say_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    text, table, json = (
        rows(sar.read((OUTPUTS / name).read_text().splitlines(keepends=True)))
        for name in ("sar-C.txt", "sadf-d.txt", "sadf-j.json")
    )
    assert table == text
    assert [row.keys() for row in json] == [row.keys() for row in text]
    for item, other in zip(json, text, strict=True):
        assert item == pytest.approx(other)


def test_everything_that_nmon_writes_is_read() -> None:
    parsed = nmon.read((OUTPUTS / "nmon.txt").read_text().splitlines(keepends=True))
    assert (parsed.unread, parsed.examples, len(rows(parsed))) == (0, (), 3)
    assert {item["at"] - rows(parsed)[0]["at"] for item in rows(parsed)} == {0, 1, 2}
    assert all(row["cpu_busy_percent"] > 90 and row["disk_util_max_percent"] > 0 for row in rows(parsed))


@pytest.mark.parametrize("reader", [jstat, nmon, sar])
def test_text_of_another_kind_is_refused_with_what_was_looked_for(reader: object) -> None:
    with pytest.raises(NotItsOutputError, match=r"\w"):
        reader.read(["Dear Sir,\n", "\n", "the figures are enclosed.\n"])  # type: ignore[attr-defined]

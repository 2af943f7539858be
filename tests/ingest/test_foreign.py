"""Outputs of tools without a reader: refused by the name of the tool, where no reader takes the text."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadcell.ingest import read
from loadcell.ingest.base import ImportProblemError

VMSTAT = (
    "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n"
    " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"
    " 2  0      0 900000  10000 500000    0    0     1     2  300  400  5  1 94  0  0\n"
)
IOSTAT = (
    "Linux 5.14.0 (db1) \t05/06/24 \t_x86_64_\t(4 CPU)\n\n"
    "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n"
    "           5.00    0.00    1.00    0.50    0.00   93.50\n\n"
    "Device             tps    kB_read/s    kB_wrtn/s    kB_read    kB_wrtn\n"
    "sda               3.00        10.00        20.00       1000       2000\n"
)
TAKES = "Takes(s): 10.0, Count: 500, "
TEXTS = {
    "vmstat": (VMSTAT, "sar -A 1"),
    "iostat": (IOSTAT, "sar -A 1"),
    "YCSB": ("[OVERALL], RunTime(ms), 5000\n[OVERALL], Throughput(ops/sec), 200.5\n", "workload `ycsb`"),
    "go-ycsb": (f"READ   - {TAKES}OPS: 50.0, Avg(us): 900, Min(us): 300\n", "workload `ycsb`"),
    "go-tpc": (f"[Summary] NEW_ORDER - {TAKES}TPM: 3000.0, Avg(ms): 9.5\n", "workload `tpcc`"),
}
SYSBENCH = """sysbench 1.0.20 (using bundled LuaJIT 2.1.0-beta2)
Number of threads: 2
CPU speed:
    events per second:   900.00
General statistics:
    total time:                          10.0000s
    total number of events:              9000
"""


@pytest.mark.parametrize("tool", TEXTS)
def test_a_tool_without_a_reader_is_named_with_what_to_do(tmp_path: Path, tool: str) -> None:
    content, advice = TEXTS[tool]
    path = tmp_path / "output.txt"
    path.write_text(content)
    with pytest.raises(ImportProblemError) as refused:
        read.read([path], "auto")
    assert f"is the output of {tool}, which loadcell does not read" in str(refused.value)
    assert advice in str(refused.value)


def test_beside_an_output_that_is_read_its_lines_are_unread(tmp_path: Path) -> None:
    path = tmp_path / "output.txt"
    path.write_text(VMSTAT + SYSBENCH)
    (source,) = read.read([path], "auto")
    assert (source.tool, source.reading.unread) == ("sysbench", 3)

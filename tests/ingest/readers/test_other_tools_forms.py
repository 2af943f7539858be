"""Forms of outputs that few use: dd of the BSDs, YAML of stress-ng."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadcell.ingest import checks, read
from loadcell.ingest.base import Measured


def parts(home: Path, text: str, tool: str) -> tuple[Measured, ...]:
    file = home / "output.txt"
    file.write_text(text)
    (source,) = read.read([file], "auto")
    assert source.tool == tool
    assert source.reading.unread == 0, source.reading.examples
    assert not any(checks.disagreements(part) for part in source.reading.measured)
    return source.reading.measured


def test_dd_of_bsd_and_macos(tmp_path: Path) -> None:
    text = (
        "1024+0 records in\n1024+0 records out\n"
        "1073741824 bytes transferred in 0.512000 secs (2097152000 bytes/sec)\n"
    )
    (copy,) = parts(tmp_path, text, "dd")
    assert copy.throughput_per_s == pytest.approx(2000)


def test_dd_in_comments_of_a_shell(tmp_path: Path) -> None:
    text = "# 24+0 records in\n# 24+0 records out\n"
    text += "# 25165824 bytes transferred in 0.024 secs (1048576000 bytes/sec)\n"
    (copy,) = parts(tmp_path, text, "dd")
    assert copy.throughput_per_s == pytest.approx(1000)


def test_dd_of_freebsd_with_progress(tmp_path: Path) -> None:
    text = (
        "  524288000 bytes (524 MB, 500 MiB) transferred 1.000s, 524 MB/s\n"
        "1000+0 records in\n1000+0 records out\n"
        "1048576000 bytes transferred in 2.000000 secs (524288000 bytes/sec)\n"
    )
    (copy,) = parts(tmp_path, text, "dd")
    assert copy.throughput_per_s == pytest.approx(500)
    assert [interval.throughput_per_s for interval in copy.intervals] == [500, 500]


YAML = """---
system-info:
      stress-ng-version: 0.13.12
      run-by: root
      cpus: 2
metrics:
    - stressor: cpu
      bogo-ops: 4000
      bogo-ops-per-second-usr-sys-time: 201.000000
      bogo-ops-per-second-real-time: 399.960004
      wall-clock-time: 10.001000
      user-time: 19.800000
      system-time: 0.100000
      cpu-usage-per-instance: 99.490000
      max-rss: 5120

    - stressor: vm
      bogo-ops: 90
      bogo-ops-per-second-usr-sys-time: 9.000000
      bogo-ops-per-second-real-time: 9.000000
      wall-clock-time: 10.000000
      user-time: 9.000000
      system-time: 1.000000

times:
      run-time: 10.100000
      available-cpu-time: 20.200000
...
"""


def test_yaml_of_stress_ng(tmp_path: Path) -> None:
    file = tmp_path / "stress.yaml"
    file.write_text(YAML)
    (source,) = read.read([file], "auto")
    cpu, vm = source.reading.measured
    assert (source.tool, cpu.title, cpu.succeeded, cpu.throughput_per_s) == (
        "stress-ng",
        "cpu",
        4000,
        399.960004,
    )
    assert dict(cpu.figures) == {"per_cpu_s": 201, "user_s": 19.8, "system_s": 0.1}
    assert (vm.title, vm.duration_s) == ("vm", 10)


def test_dd_of_gnu_before_5_1_writes_out_seconds(tmp_path: Path) -> None:
    text = (
        "8+0 records in\n8+0 records out\n8388608 bytes transferred in 2.000000 seconds (4194304 bytes/sec)\n"
    )
    (copy,) = parts(tmp_path, text, "dd")
    assert (copy.throughput_per_s, copy.duration_s) == (4, 2)

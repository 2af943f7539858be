"""Evidence of a check, as a line of the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fake_runs import two_treatments, write_run
from loadcell.model.panels import fact_units
from loadcell.report.context import ReportContext
from loadcell.report.sections.trouble import evidence
from loadcell.report.texts import Texts
from loadcell.report.values import plain
from loadcell.store.read import read_run


@pytest.mark.parametrize(
    ("detail", "en", "zh"),
    [
        (
            {"share": 0.176, "limit": 0.1, "threads": 2},
            "share: 18%, limit: 10%, threads: 2",
            "占比：18%、上限：10%、线程数：2",
        ),
        (
            {"cores": {"rustc (17)": 0.777, "cc (9)": 0.5}, "limit": 0.1},
            "cores: rustc (17) 0.777, cc (9) 0.5, limit: 0.1",
            "核数：rustc (17) 0.777、cc (9) 0.5、上限：0.1",
        ),
        (
            {"difference": -0.123, "tolerance": 0.01, "overdue_s": 2.5},
            "difference: -12.3%, tolerance: 1.0%, age of the oldest unsent request: 2.5 s",
            "差异：-12.3%、容许：1.0%、最早未发出请求的逾期时间：2.5 s",
        ),
        (
            {"late_ms": 45.6, "response_ms": 11.4},
            "late_ms: 45.6 ms, response_ms: 11.4 ms",
            "late_ms：45.6 ms、response_ms：11.4 ms",
        ),
        ({"get": {"server": 5, "client": 4}}, "get: server 5, load generator 4", "get：服务器 5、压测端 4"),
        ({"limit": None}, "–", "–"),
        (
            {"wrong": [{"operation": "get", "figures": {"p99_ms": 12.3}}], "settle_s": 2.0},
            "mismatches: operation get, figures p99_ms 12.3 ms, settle_s: 2",
            "不符：操作 get、figures p99_ms 12.3 ms、settle_s：2",
        ),
    ],
)
def test_values_are_named_in_the_readers_language_and_fractions_are_percent(
    tmp_path: Path, detail: dict[str, Any], en: str, zh: str
) -> None:
    stored = read_run(write_run(tmp_path / "run", two_treatments()))
    assert evidence(detail, ReportContext.of(stored, "en")) == en
    assert evidence(detail, ReportContext.of(stored, "zh")) == zh


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("memory.used_memory_rss", 24_952_832, "23.8 MiB"),
        ("memory.mem_fragmentation_ratio", 0.74, "0.74"),
        ("memory.maxmemory", -1, "-1"),
        ("database.keys", 1_234_567, "1,234,567"),
        ("persistence.rdb_changes_since_last_save", 22_626, "22,626"),
        ("other.keys", 1_234_567, "1234567"),
        ("database.size_bytes", 3 * 2**20, "3 MiB"),
        ("other.size_bytes", 1024, "1024"),
    ],
)
def test_a_fact_has_the_unit_that_its_system_declares(key: str, value: float, text: str) -> None:
    assert plain(key, value, fact_units(), Texts("en")) == text

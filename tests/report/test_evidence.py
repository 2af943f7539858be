"""Evidence of a check, as a line of the report."""

from __future__ import annotations

from typing import Any

import pytest

from loadcell.model.panels import fact_units
from loadcell.model.trial_record import EVIDENCE_UNITS
from loadcell.report.sections.check_evidence import EVIDENCE, written
from loadcell.report.texts import Texts
from loadcell.report.values import plain


@pytest.mark.parametrize(
    ("name", "detail", "en", "zh"),
    [
        (
            "pacing",
            {"share": 0.064, "limit": 0.1},
            "requests left late by 6.4% of the mean response time (limit 10%)",
            "请求发出的延迟占平均响应时间的 6.4%（上限 10%）",
        ),
        (
            "pacing",
            {"late_ms": 45.6, "response_ms": 91.4},
            "at p99, requests left late by 45.6 ms of a response time of 91.4 ms",
            "P99 处，91.4 ms 的响应时间中有 45.6 ms 是请求发出的延迟",
        ),
        (
            "client-waiting",
            {"share": 0.176, "limit": 0.1, "threads": 2},
            "an engine thread that was ready to run waited for a core 18% of the time (limit 10%);"
            " threads: 2",
            "有引擎线程就绪后等待 CPU 核心的时间占 18%（上限 10%）；线程数：2",
        ),
        (
            "other-processes",
            {"cores": {"rustc (17)": 0.777, "cc (9)": 0.5}, "limit": 0.1},
            "CPU cores in use: rustc (17) 0.777, cc (9) 0.5 (limit 0.1)",
            "占用的 CPU 核数：rustc (17) 0.777、cc (9) 0.5（上限 0.1）",
        ),
        (
            "neighbour",
            {"pids": [12345, 678]},
            "other runs of loadcell on this machine, process IDs: 12345, 678",
            "本机上其他 loadcell 运行的进程号：12345、678",
        ),
        (
            "backlog",
            {"group": "web", "unsent": 1234, "share": 0.5, "limit": 0.02, "overdue_s": 2.5},
            "1,234 scheduled requests were unsent at the end, 50% of all (limit 2.0%), the oldest for 2.5 s;"
            " group: web",
            "结束时有 1,234 个计划内的请求未发出，占 50%（上限 2.0%），最早的已逾期 2.5 s；组：web",
        ),
        (
            "a check of an extension",
            {"difference": -0.123, "tolerance": 0.01, "late_ms": 0.0456},
            "difference: -12.3%, tolerance: 1.0%, late at p99: 45.6 µs",
            "差异：-12.3%、容许：1.0%、P99 处的延迟：45.6 µs",
        ),
        (
            "server-counters",
            {"get": {"server": 5, "client": 4}},
            "get: server 5, load generator 4",
            "get：服务器 5、压测端 4",
        ),
        ("steal", {"limit": None}, "–", "–"),
        (
            "percentiles",
            {"wrong": [{"operation": "get", "figures": {"p99_ms": 12.3}}], "settle_s": 2.0},
            "mismatches: operation get, values p99 12.3 ms, settle_s: 2",
            "不符：操作 get、数值 p99 12.3 ms、settle_s：2",
        ),
    ],
)
def test_evidence_is_a_sentence_or_labelled_values_in_the_readers_language(
    name: str, detail: dict[str, Any], en: str, zh: str
) -> None:
    assert written(name, detail, Texts("en")) == en
    assert written(name, detail, Texts("zh")) == zh


def test_every_unit_of_evidence_has_a_label() -> None:
    assert [key for key in EVIDENCE_UNITS if key not in EVIDENCE] == []


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

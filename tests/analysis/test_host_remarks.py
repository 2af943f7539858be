"""Settings of a machine that hurt measurements: each reported once, in both languages; and silence on
one without.
"""

from __future__ import annotations

from typing import Any

import pytest

from loadcell.analysis.host_remarks import cache_findings, findings
from loadcell.analysis.hosts.scores import Score
from loadcell.report.texts import Texts

GOOD: dict[str, Any] = {
    "cpu": {"threads": 8}, "memory_bytes": 64 * 2**30, "governor": "performance", "thp": "madvise",
    "swap_bytes": 0,
    "swap_used_bytes": 0, "clocksource": "tsc", "virtualisation": "none", "limits": {"open_files": 1024,
    "open_files_hard": 524288},
    "time_sync": {"daemons": ["chronyd"], "synchronised": True}, "dimms": [{"speed_mts": 3200,
    "configured_mts": 3200}],
    "filesystems": [{"mount": "/", "type": "ext4", "size_bytes": 1, "free_bytes": 1}],
}  # fmt: skip


def test_of_a_good_machine_nothing_is_reported() -> None:
    assert findings(GOOD) == []
    assert findings({}) == []


@pytest.mark.parametrize(
    ("change", "key", "word"),
    [
        ({"governor": "ondemand"}, "governor", "ondemand"),
        ({"thp": "always"}, "thp", "madvise"),
        ({"swap_bytes": 2**30}, "swap", "1 GiB"),
        ({"swap_bytes": 2**30, "swap_used_bytes": 2**20}, "swapped", "swapoff"),
        ({"clocksource": "hpet"}, "clocksource", "hpet"),
        ({"container": {"cpus": 1.5}}, "quota", "1.5"),
        ({"container": {"memory_bytes": 2**30}}, "memory-limit", "1 GiB"),
        ({"time_sync": {"daemons": [], "synchronised": False}}, "no-time-sync", "chrony"),
        ({"time_sync": {"daemons": ["chronyd", "ntpd"], "synchronised": True}}, "two-clocks", "ntpd"),
        ({"limits": {"open_files": 1024, "open_files_hard": 4096}}, "open-files", "ulimit"),
        ({"dimms": [{"locator": "A1", "speed_mts": 3200, "configured_mts": 2666}]}, "slow-memory", "A1"),
        ({"mitigations": {"spectre_v2": "Mitigation: Retpolines", "mds": "Vulnerable"}}, "mitigations",
        "spectre_v2"),
        ({"filesystems": [{"mount": "/nas", "type": "nfs4", "answers": False}]}, "dead-mount", "/nas"),
        ({"cpu": {"threads": 8, "offline": "3"}}, "offline", "3"),
        ({"virtualisation": "kvm"}, "virtual", "kvm"),
    ],
)  # fmt: skip
def test_what_hurts_is_reported_with_what_to_do(change: dict[str, Any], key: str, word: str) -> None:
    (finding,) = findings({**GOOD, **change})
    assert finding.message.code == f"host-found.{key}"
    assert word in Texts("en").message(finding.message)
    assert Texts("zh").message(finding.message)


def test_alike_memory_modules_are_one_remark() -> None:
    slow = [{"locator": f"DIMM{at}", "speed_mts": 3200, "configured_mts": 2933} for at in range(16)]
    (finding,) = findings(
        {**GOOD, "dimms": [*slow, {"locator": "X", "speed_mts": 2933, "configured_mts": 2933}]}
    )
    result = Texts("en").message(finding.message)
    assert (
        "16 memory modules run at 2,933 MT/s, below the rated 3,200 (DIMM0, DIMM1, DIMM2, DIMM3, ...)"
        in result
    )
    assert "16 条内存以 2,933 MT/s 运行" in Texts("zh").message(finding.message)


def test_the_gravest_comes_first() -> None:
    remarks = findings({**GOOD, "virtualisation": "kvm", "thp": "always", "swap_used_bytes": 5})
    assert [finding.severity for finding in remarks] == ["problem", "caution", "info"]


@pytest.mark.parametrize(
    ("load", "reported"), [([12.8, 9.0, 4.0], True), ([0.9, 9.0, 9.0], False), ([], False)]
)
def test_a_machine_that_has_other_work_is_remarked(load: list[float], reported: bool) -> None:
    host = {**GOOD, "cpu": {"threads": 2}, "load_at_start": load}
    assert [finding.message.code for finding in findings(host)] == ["host-found.load"] * reported


@pytest.mark.parametrize(
    ("l3_mib", "count", "threads", "reported"),
    [
        (32, 1, 1, False),
        (64, 1, 1, False),
        (65, 1, 1, True),
        (260, 1, 2, True),
        (65, 2, 2, True),
        (65, 1, 2, False),
    ],
)
def test_arrays_that_the_last_level_cache_holds_are_remarked(
    l3_mib: int, count: int, threads: int, reported: bool
) -> None:
    caches = [
        {"level": 2, "type": "unified", "size_bytes": 2**30, "count": 8},
        {"level": 3, "type": "unified", "size_bytes": l3_mib * 2**20, "count": count},
    ]
    scores = [
        Score("a", "memory", "copy", "mib_per_s", (1.0,), threads=threads, size_bytes=size)
        for size in (8 * 2**10, 256 * 2**20)
    ]
    (*remarks,) = cache_findings({"caches": caches}, scores)
    assert [finding.message.code for finding in remarks] == ["host-found.cached"] * reported
    assert not cache_findings({}, scores)
    assert not cache_findings({"caches": caches}, [])

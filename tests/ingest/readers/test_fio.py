"""fio: processes of one job are one trial, and their latencies merge as far as the document allows it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ingest.made import made
from loadcell.ingest import checks
from loadcell.ingest.base import ImportProblemError, Measured
from loadcell.ingest.readers import fio

Job = dict[str, Any]


def job(count: int, mean_ns: float, *, numjobs: int = 1, bins: Mapping[str, int] | None = None) -> Job:
    """A process that read `count` blocks of 4 KiB within 2 s, as fio 3 writes it."""
    clat = {"min": 1000, "max": 9000, "mean": mean_ns, "stddev": 100.0, "N": count}
    clat |= {"percentile": {"50.000000": 5000, "99.000000": 8000}}
    clat |= {"bins": dict(bins)} if bins else {}
    return {
        "jobname": "r", "groupid": 0, "error": 0, "elapsed": 3,
        "job options": {"name": "r", "rw": "randread", "bs": "4k", "numjobs": str(numjobs)},
        "read": {
            "io_bytes": count * 4096, "bw_bytes": count * 2048, "iops": count / 2, "runtime": 2000,
            "total_ios": count, "clat_ns": clat,
        },
    }  # fmt: skip


def measured(*jobs: Job, **more: object) -> tuple[Measured, ...]:
    document = {"fio version": "fio-3.33", "timestamp_ms": 1_700_000_002_000, "jobs": list(jobs), **more}
    parsed = fio.read([json.dumps(document)])
    assert parsed.examples == ()
    return parsed.measured


def test_processes_of_one_job_are_one_trial_with_their_sum() -> None:
    (total,) = measured(job(2000, 2000.0, numjobs=2), job(6000, 4000.0, numjobs=2))
    assert (total.title, total.clients, total.succeeded, total.duration_s) == ("r read", 2, 8000, 2)
    assert total.throughput_per_s == 4000
    assert total.figures["mib_per_s"] == pytest.approx(8000 * 4096 / 2 / 2**20)
    assert total.response["mean_ms"] == pytest.approx(0.0035)
    assert (total.response["min_ms"], total.response["max_ms"]) == (0.001, 0.009)
    # the mean square of deviations, and of the means around the common one
    assert total.response["stdev_ms"] == pytest.approx(
        (100**2 + (2000 * 1500**2 + 6000 * 500**2) / 8000) ** 0.5 / 1e6
    )
    assert "p99_ms" not in total.response, "percentiles of processes are not those of all"
    assert checks.disagreements(total) == []


def test_the_sum_of_processes_is_compared_with_the_printed_sums() -> None:
    wrong = job(6000, 4000.0, numjobs=2)
    wrong["read"]["bw_bytes"] *= 2
    (total,) = measured(job(2000, 2000.0, numjobs=2), wrong)
    assert [item.total.label for item in checks.disagreements(total)] == ["bw_bytes"]
    wrong["read"]["iops"] *= 2
    (total,) = measured(job(2000, 2000.0, numjobs=2), wrong)
    assert [item.total.label for item in checks.disagreements(total)] == ["iops", "bw_bytes"]


def test_buckets_of_json_plus_give_the_percentiles_of_all() -> None:
    slow = job(100, 7000.0, numjobs=2, bins={"6000": 80, "8000": 20})
    fast = job(900, 2000.0, numjobs=2, bins={"2000": 895, "8000": 5})
    (total,) = measured(fast, slow)
    assert total.response["p50_ms"] == 0.002
    assert total.response["p95_ms"] == 0.006
    assert total.response["p99_ms"] == 0.008


@pytest.mark.parametrize("processes", [1, 2])
def test_a_direction_without_a_runtime_has_the_printed_rates_and_no_totals(
    processes: int, tmp_path: Path
) -> None:
    jobs = [job(1, 2000.0, numjobs=processes) for _ in range(processes)]
    for process in jobs:
        process["write"] = {**process["read"], "runtime": 0, "iops": 0.0, "bw_bytes": 0}
    reads, writes = measured(*jobs)
    assert (writes.throughput_per_s, writes.duration_s, writes.succeeded) == (0, 0, processes)
    assert (writes.printed, writes.figures["mib_per_s"]) == ((), 0)
    assert reads.printed
    file = tmp_path / "fio.json"
    file.write_text(json.dumps({"fio version": "fio-3.33", "jobs": jobs}), encoding="utf-8")
    assert len(made(tmp_path / "results", "auto", file).trials) == 2


def test_counts_that_cannot_be_divided_by_are_no_output(tmp_path: Path) -> None:
    file = tmp_path / "fio.json"
    jobs = [job(2000, 2000.0, numjobs=2), job(2000, 2000.0, numjobs=2)]
    jobs[1]["read"]["clat_ns"]["N"] = -2000
    file.write_text(json.dumps({"fio version": "fio-3.33", "jobs": jobs}), encoding="utf-8")
    with pytest.raises(ImportProblemError, match="ZeroDivisionError"):
        made(tmp_path / "results", "fio", file)


@pytest.mark.parametrize("numjobs", [1, 2, 4])
def test_a_group_that_was_reported_as_one_has_the_clients_of_its_job(numjobs: int) -> None:
    (total,) = measured(job(2000, 2000.0, numjobs=numjobs))
    assert (total.clients, total.throughput_per_s) == (numjobs, 1000)
    assert total.response["p99_ms"] == 0.008


def test_jobs_of_other_options_or_groups_stay_apart() -> None:
    other = job(2000, 2000.0)
    other["job options"] = {**other["job options"], "bs": "8k"}
    later = {**job(2000, 2000.0), "groupid": 1, "elapsed": 5}
    assert [part.turn for part in measured(job(2000, 2000.0), other, later)] == [0, 0, 1]


def test_a_document_that_contradicts_itself_is_noticed() -> None:
    wrong = job(2000, 2000.0)
    wrong["read"]["iops"] = 10_000
    (total,) = measured(wrong)
    assert [item.total.label for item in checks.disagreements(total)] == ["total_ios/runtime"]

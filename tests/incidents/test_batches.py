"""Batches that do not fit into memory: by the levels of a factor, and in the trials of a run."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import pytest

import fake_runs
from incidents.gc_texts import Log
from incidents.test_runs import dated
from loadcell.incidents.base import Diagnosis, Healthy, Judgement, Unseen
from loadcell.incidents.evidence.batches import Batches, BatchLevel, BatchTrial
from loadcell.incidents.oversized_batch import OversizedBatch
from loadcell.incidents.runs.base import examined
from loadcell.report.context import ReportContext
from loadcell.stats.power_law import exponent
from loadcell.store.read import read_run

MIB = 2**20


def level(size: float, peaks_mib: Sequence[float], *, is_short: bool = False) -> BatchLevel:
    """A level with trials of these peaks; `is_short`: they end for want of memory."""
    trials = tuple(
        BatchTrial(
            f"{size}-{index}", round(peak * MIB), 3, out_of_memory=is_short, reason="no memory" * is_short
        )
        for index, peak in enumerate(peaks_mib)
    )
    return BatchLevel(size, trials)


def judged(*levels: BatchLevel, fixed_mib: float = 1) -> Judgement:
    evidence = Batches("rows", "rows", levels, round(fixed_mib * MIB), 46 * MIB)
    [judgement] = OversizedBatch().examine(evidence)
    return judgement


#: As measured with the plan incident-batch.
TENTH, HALF, ALL = (
    level(5000, [6.7, 6.7]),
    level(25000, [26.5, 26.5]),
    level(50000, [46, 46], is_short=True),
)


def test_a_batch_that_does_not_fit_is_recognised_with_its_need() -> None:
    judgement = judged(TENTH, HALF, ALL)
    assert isinstance(judgement, Diagnosis)
    assert (judgement.level, judgement.confidence) == ("critical", "high")
    values = judgement.summary.arguments
    assert (values["size"], values["fitting"], values["count"], values["of"]) == (50000, 25000, 2, 2)
    assert values["needed_bytes"] == pytest.approx(56 * MIB, rel=0.05)
    assert [quote.text for quote in judgement.quotes] == ["no memory"] * 2


def test_peaks_that_the_limit_cuts_off_do_not_hide_the_growth() -> None:
    judgement = judged(level(5000, [11.6, 11.5]), level(25000, [46, 46], is_short=True), ALL)
    assert isinstance(judgement, Diagnosis)
    assert judgement.confidence == "high"
    assert judgement.summary.arguments["size"] == 25000


def test_a_spiral_is_a_lack_of_memory_too() -> None:
    spiral = BatchLevel(50000, tuple(BatchTrial(name, 46 * MIB, 140, is_spiral=True) for name in "ab"))
    assert isinstance(judged(TENTH, HALF, spiral), Diagnosis)


@pytest.mark.parametrize(
    ("levels", "code"),
    [
        # a cache that grows with the clients
        ((level(4, [5, 5]), level(16, [17, 17]), level(64, [60, 61])), "enough"),
        # the size of the heap: the smallest ones are too small
        ((level(24, [23, 23], is_short=True), level(48, [40, 40]), level(96, [41, 41])), "other-levels"),
        # a leak, whatever the size
        (
            (level(10, [46, 46], is_short=True), level(20, [46, 46], is_short=True)),
            "every-level",
        ),
        # a largest level that fails for another reason: memory does not follow it
        ((level(5, [20, 21]), level(50, [20, 20]), level(500, [22, 21], is_short=True)), "flat"),
        # noise far above the growth
        ((level(5, [4, 30]), level(10, [30, 5]), level(20, [9, 45], is_short=True)), "flat"),
    ],
    ids=["cache", "heap", "leak", "flat", "noise"],
)
def test_near_misses_are_no_incident(levels: tuple[BatchLevel, ...], code: str) -> None:
    judgement = judged(*levels)
    assert isinstance(judgement, Healthy)
    assert judgement.value.code == f"incident.oversized-batch.{code}"


def test_two_values_are_too_few_for_a_growth() -> None:
    assert isinstance(judged(level(5, [5]), level(50, [45], is_short=True)), Unseen)


def test_growth_near_the_threshold_is_a_weaker_diagnosis() -> None:
    judgement = judged(level(5, [5, 8]), level(50, [25, 40]), level(100, [35, 46], is_short=True))
    assert isinstance(judgement, Diagnosis)
    assert judgement.confidence == "medium"


def test_an_exponent_has_the_interval_of_a_regression() -> None:
    growth = exponent([1, 10, 100], [2, 20, 200])
    assert growth is not None
    assert (growth.value, growth.low, growth.high) == pytest.approx((1, 1, 1))
    # slope 0.5, residuals 1, -2, 1 in units of ln 10 / 6: t(1) = 12.706
    bent = exponent([1, 10, 100], [10 ** (1 / 6), 10 ** (1 / 2 - 1 / 3), 10 ** (1 + 1 / 6)])
    assert bent is not None
    assert bent.value == pytest.approx(0.5)
    assert bent.high - bent.value == pytest.approx(12.7062 * (6**0.5 / 6) / 2**0.5, rel=1e-4)
    assert exponent([5, 5, 5], [1, 2, 3]) is None
    # values that are rounded are not exact
    rounded = exponent([1, 1, 4, 4], [5, 5, 20, 20], resolution=1)
    assert rounded is not None
    error = (((1 / 5) ** 2 + (1 / 20) ** 2) / 2 / 12 / math.log(4) ** 2) ** 0.5
    assert rounded.high - rounded.value == pytest.approx(4.3027 * error, rel=1e-4)
    assert exponent([5, 6], [1, 2]) is None


def log_of(live_mib: float, capacity_mib: float, *, is_spiral: bool) -> Log:
    """Full collections that leave this in use."""
    log = Log()
    for index in range(6):
        before = capacity_mib if is_spiral else live_mib * 1.5
        log.full(2 + index, before, live_mib, 800 if is_spiral else 20)
    return log


def run_of(home: Path, levels: Sequence[float], *, fails_from: float) -> Path:
    """A run with a factor of clients; the live set is 40 times their number, up to a level."""
    shape = fake_runs.Shape(factors={"load.clients": list(levels)}, repeats=2)
    run = fake_runs.write_run(home, shape)
    for path in (run / "trials").glob("*/trial.json"):
        record = json.loads(path.read_text())
        clients = float(record["values"]["load.clients"])
        fails = clients >= fails_from
        log = log_of(990 if fails else 40 * clients, 1000, is_spiral=fails)
        (path.parent / "gc.log").write_text(
            "".join(dated(line, record["measure"]["started_utc"]) for line in log.lines)
        )
        if fails:
            record["status"] = "failed"
            record["reason"] = "java ended with status 3: java.lang.OutOfMemoryError: Java heap space"
            record["reason_code"] = None
            path.write_text(json.dumps(record))
    return run


def test_the_levels_of_a_run_are_compared(tmp_path: Path) -> None:
    run = read_run(run_of(tmp_path, [2, 8, 32], fails_from=32))
    [(subject, diagnosis)] = [
        pair for pair in examined(run).diagnoses if pair[1].incident == OversizedBatch.name
    ]
    evidence = subject.evidence
    assert isinstance(evidence, Batches)
    assert evidence.source == evidence.factor == "clients"
    assert [item.size for item in evidence.levels] == [2, 8, 32]
    failed = {trial.name for trial in run.trials if trial.status != "ok"}
    assert set(evidence.trials) == failed
    assert len(failed) == 2
    assert diagnosis.summary.arguments["fitting"] == 8
    messages = [item.message for item in ReportContext.of(run, "en").findings]
    texts = [item.text for item in messages if item.code.startswith("found.incident")]
    assert any(text.startswith("Batch too large for the memory: with clients = 32") for text in texts)
    assert any(text.startswith("Batch too large for the memory is probably the reason") for text in texts)


def test_a_healthy_run_has_its_largest_peak(tmp_path: Path) -> None:
    examination = examined(read_run(run_of(tmp_path, [2, 8, 16], fails_from=1000)))
    assert not examination.has_incident
    [subject] = [item for item in examination.subjects if isinstance(item.evidence, Batches)]
    [healthy] = subject.healthy
    assert healthy.value.arguments["size"] == 16


def test_a_run_without_memory_has_no_batches(tmp_path: Path) -> None:
    run = read_run(fake_runs.write_run(tmp_path, fake_runs.two_treatments()))
    assert not [item for item in examined(run).subjects if isinstance(item.evidence, Batches)]

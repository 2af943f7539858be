"""Mistakes in `faults`, each with its place and a remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadcell.plan.problems import PlanError
from plan.fault_plans import ALLOWED, COMMAND, EXTERNAL, HTTP, PLAN, POSTGRES, STORE, read


@pytest.mark.parametrize(
    ("text", "path", "finding", "nearest"),
    [
        (
            PLAN + "faults: [{checkpoint: redis, at: 1s}]\n",
            "faults.0.checkpoint.subject",
            "does not execute the statements",
            None,
        ),
        (
            PLAN + "faults: [{disk-full: redis, at: 1s}]\n",
            "faults.0.disk-full.subject",
            "the data of redis cannot have a dedicated file system",
            None,
        ),
        (
            POSTGRES + "target: {postgres: {}}\nfaults: [{disk-full: postgres, at: 1s}]\n",
            "faults.0.disk-full.subject",
            "a file system that others use",
            None,
        ),
        (
            PLAN + "faults: [{command: {subject: redis, run: 'kill ${LOADCELL_SUBJECT_PIDS}'}, at: 1s}]\n",
            "faults.command.run",
            "LOADCELL_SUBJECT_PIDS",
            "$LOADCELL_SUBJECT_PIDS",
        ),
        (PLAN + "faults: [{cpu-quota: redis, at: 1s}]\n", "faults.0.cpu-quota.cores", "is missing", None),
        (
            PLAN + "faults: [{slow-disk: {subject: redis, bandwidth: 5MB}, at: 1s}]\n",
            "faults.0.slow-disk.bandwidth",
            'found "5MB"',
            None,
        ),
        (
            PLAN + "faults: [{slow-disk: {subject: redis, bandwidth: 0B/s}, at: 1s}]\n",
            "faults.0.slow-disk.bandwidth",
            "found",
            None,
        ),
        (
            PLAN + "faults: [{memory-limit: {subject: redis, size: 0B}, at: 1s}]\n",
            "faults.0.memory-limit.size",
            "found",
            None,
        ),
        (
            PLAN + "faults: [{memory-pressure: redis, at: 1s}]\n",
            "faults.0.memory-pressure.size",
            "is missing",
            None,
        ),
        (PLAN + "faults: [{clock-step: redis, at: 1s}]\n", "faults.0.clock-step.by", "is missing", None),
        (
            PLAN
            + "faults: [{clock-shift: {subject: redis, by: 2s, over: 1s, direction: backward}, at: 1s}]\n",
            "faults.0.clock-shift",
            "let the clock run backwards",
            None,
        ),
        (
            PLAN + "faults: [{write-errors: {subject: redis, directory: ../other}, at: 1s}]\n",
            "faults.0.write-errors.directory",
            "not a directory below",
            None,
        ),
        (
            PLAN + "faults: [{fsync-errors: {subject: redis, error: EPERM}, at: 1s}]\n",
            "faults.0.fsync-errors.error",
            'found "EPERM"',
            None,
        ),
        (
            COMMAND + "faults: [{write-errors: command, at: 1s}]\n",
            "faults.0.write-errors.subject",
            "data directory of command is unknown",
            None,
        ),
        (
            EXTERNAL + "faults: [{clock-step: {subject: redis, by: 1h}, at: 1s}]\n",
            "faults.0.clock-step",
            "did not start",
            None,
        ),
        (PLAN + "faults: [{command: redis, at: 1s}]\n", "faults.0.command.run", "is missing", None),
        (PLAN + "faults: hang\n", "faults", 'found "hang"', None),
        (PLAN + "faults: [hang]\n", "faults.0", 'found "hang"', None),
        (PLAN + "faults: [{at: 1s}]\n", "faults.0", "is missing", None),
        (PLAN + "faults: [{hang: redis, kill: redis, at: 1s}]\n", "faults.0", "found a mapping", None),
        (PLAN + "faults: [{hnag: redis, at: 1s}]\n", "faults.0.hnag", 'no fault "hnag"', "hang"),
        (PLAN + "faults: [{hang: reddis, at: 1s}]\n", "faults.0.hang", 'no part "reddis"', "redis"),
        (PLAN + "faults: [{hang: {}, at: 1s}]\n", "faults.0.hang.subject", "missing", None),
        (PLAN + "faults: [{hang: redis}]\n", "faults.0", "has no time", None),
        (PLAN + "faults: [{hang: redis, at: 1s, after: 5}]\n", "faults.0.after", "one time", None),
        (PLAN + "faults: [{hang: redis, at: 30s}]\n", "faults.0.at", "ends after 30s", None),
        (PLAN + "faults: [{hang: redis, at: 10}]\n", "faults.0.at", "found 10", None),
        (PLAN + "faults: [{hang: redis, after: many}]\n", "faults.0.after", 'found "many"', None),
        (PLAN + "faults: [{hang: redis, at: 1s, for: 0s}]\n", "faults.0.for", "found", None),
        (PLAN + "faults: [{restart: redis, at: 1s, for: 1s}]\n", "faults.0.for", "ends by itself", None),
        (
            PLAN + "faults: [{hang: redis, at: 1s, for: 5s}, {kill: redis, at: 2s}]\n",
            "faults",
            "begins while hang redis lasts",
            None,
        ),
        (
            PLAN + "faults: [{hang: redis, at: 1s, for: 5s}, {hang: redis, at: 2s, overlap: true}]\n",
            "faults",
            "the same fault lasts",
            None,
        ),
        (
            PLAN.replace("duration: 30s", "requests: 1000") + "faults: [{hang: redis, at: 1s}]\n",
            "faults.0",
            "may never end",
            None,
        ),
        (PLAN + "faults: [{hang: redis, at: 1s, expect: [speed < 5]}]\n", "faults.0.expect.0", "speed", None),
        (STORE + "faults: [{hang: store, at: 1s}]\n", "faults.0.hang", "no part that faults", None),
        (EXTERNAL + "faults: [{hang: redis, at: 1s}]\n", "faults.0.hang", "did not start", None),
        (ALLOWED + "faults: [{hang: redis, at: 1s}]\n", "faults.0.hang", "did not start", None),
        (EXTERNAL + "faults: [{reset: network, at: 1s}]\n", "faults.0.reset", "have to be allowed", None),
        (
            HTTP.replace(", faults-allowed: true", "") + "faults: [{reset: network, at: 1s}]\n",
            "faults.0.reset",
            "have to be allowed",
            None,
        ),
        (STORE + "faults: [{reset: network, at: 1s}]\n", "faults.0.reset", "no part that faults", None),
        (PLAN + "faults: [{delay: network, at: 1s}]\n", "faults.0.delay.time", "missing", None),
        (
            PLAN + "faults: [{delay: {subject: network, time: 1ms, jitter: 2ms}, at: 1s}]\n",
            "faults.0.delay",
            "longer than the delay",
            None,
        ),
        (
            PLAN + "faults: [{bandwidth: {subject: network, rate: 8Mb}, at: 1s}]\n",
            "faults.0.bandwidth.rate",
            "8Mb",
            None,
        ),
        (PLAN + "faults: [{reset: redis, at: 1s}]\n", "faults.0.reset", "only on the TCP connections", None),
        (PLAN + "faults: [{hang: network, at: 1s}]\n", "faults.0.hang", "cannot act on", None),
        (PLAN + "faults: [{reset: netwrok, at: 1s}]\n", "faults.0.reset", 'no part "netwrok"', "network"),
        (
            PLAN + "faults: [{http-5xx: network, at: 1s}]\n",
            "faults.0.http-5xx.subject",
            "needs connections of HTTP",
            None,
        ),
        (
            HTTP.replace("http://", "https://") + "faults: [{http-5xx: network, at: 1s}]\n",
            "faults.0.http-5xx.subject",
            "without TLS",
            None,
        ),
        (
            HTTP + "faults: [{http-5xx: {subject: network, status: 404}, at: 1s}]\n",
            "faults.0.http-5xx.status",
            "404",
            None,
        ),
    ],
)
def test_mistakes_have_a_place_and_a_remedy(
    tmp_path: Path, text: str, path: str, finding: str, nearest: str | None
) -> None:
    with pytest.raises(PlanError) as raised:
        read(tmp_path, text)
    [problem] = raised.value.problems
    assert problem.path == path
    assert finding in problem.finding
    assert problem.allowed
    if nearest is not None:
        assert problem.nearest == nearest


@pytest.mark.parametrize(
    ("expectation", "nearest"),
    [("pause < 3", "3s"), ("recovery < 500", "500ms"), ("latency.p99 < 20", "20ms")],
)
def test_a_mistake_of_an_expectation_has_its_place_and_text(
    tmp_path: Path, expectation: str, nearest: str
) -> None:
    entry = f"  - {{hang: redis, at: 5s, for: 1s, expect: [errors == 0, {expectation}]}}\n"
    with pytest.raises(PlanError) as raised:
        read(tmp_path, PLAN + "faults:\n" + entry)
    [problem] = raised.value.problems
    assert problem.path == "faults.0.expect.1"
    assert problem.mark.column == entry.index(expectation) + 1
    assert problem.finding.startswith(f'"{expectation}": found ')
    assert "a number without a unit" in problem.finding
    assert problem.allowed
    assert problem.nearest == nearest

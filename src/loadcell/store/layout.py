"""Names of the files of a run, and the columns they have. docs/reference/run-directory.md says what they
mean.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from loadcell.model.trial_record import TrialRecord

SCHEMA: Final = 1

PLAN: Final = "plan.yaml"
RUN: Final = "run.json"
ENVIRONMENT: Final = "environment.json"
TRIALS: Final = "trials"
TRIAL: Final = "trial.json"
INTERVALS: Final = "intervals.csv"
LATENCY: Final = "latency.hlog"
EVENTS: Final = "events.jsonl"
OUTPUT: Final = "output.log"
FOLDED: Final = "profile.folded"
FLAMES: Final = "profile.svg"

INTERVAL_COLUMNS: Final = (
    "t_s", "mono_ns", "utc", "phase", "operation", "kind", "duration_s",
    "started", "succeeded", "failed", "retried", "in_flight", "backlog", "throughput_per_s",
    "response_mean_ms", "response_p50_ms", "response_p90_ms", "response_p95_ms", "response_p99_ms",
    "response_p99.9_ms", "response_max_ms",
    "service_mean_ms", "service_p50_ms", "service_p99_ms", "service_max_ms",
)  # fmt: skip

#: Beside them where printed intervals were joined: the lowest and the highest of their throughputs.
REACH_COLUMNS: Final = ("throughput_per_s_lowest", "throughput_per_s_highest")

#: What the sampler puts in front of every monitor's own columns.
SAMPLE_HEAD: Final = ("t_s", "mono_ns", "utc", "late_ms", "cost_ms")


def sample_files(trial: TrialRecord) -> dict[str, str]:
    """Files of a trial's monitors: `postgres` is the monitor's first table, `postgres.waits` a further one."""
    files: dict[str, str] = {}
    for name, monitor in trial.monitors.items():
        if monitor.file is not None:
            files[name] = monitor.file
        files |= {f"{name}.{table}": file for table, file in (monitor.tables or {}).items()}
    return files


_PART = re.compile(r"^\.(?P<name>.+)\.part$")


def part_name(trial: str) -> str:
    """The directory a trial is written to until it is finished."""
    return f".{trial}.part"


def trial_of_part(directory: str) -> str | None:
    """The trial whose unfinished directory this is; None for any other name."""
    match = _PART.match(directory)
    return match["name"] if match else None


def replaced_name(trial: str, attempt: int) -> str:
    """Where the record of an earlier attempt at a trial stays when a resumed run repeats it."""
    return f".{trial}.replaced-{attempt}"


def new_run_directory(results: Path, plan_name: str, started: datetime, short_id: str) -> Path:
    """`results/<plan>/<UTC time>-<short id>`; sorts by time."""
    return results / plan_name / f"{started.astimezone(UTC):%Y%m%dT%H%M%SZ}-{short_id}"


def is_run(path: Path) -> bool:
    """True if this directory is a run's."""
    return (path / RUN).is_file()

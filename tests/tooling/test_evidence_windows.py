"""Outputs of pidstat and iostat are cut to the measurement of a trial."""

from __future__ import annotations

import os
import subprocess
import time
from datetime import UTC, datetime

from bench.evidence_windows import ENVIRONMENT, IOSTAT, PIDSTAT, Window, iostat_samples, pidstat_averages

WINDOW = Window("clients=1, repeat 1", start_s=1000.4, start_mono_s=7.5, duration_s=4.0)
PIDSTAT_LINES = """Linux 6.18 (vm) 11/26/26 _x86_64_ (2 CPU)

1000 UID PID %usr %system %guest %wait %CPU CPU Command
1001 0 7 99.00 0.00 0.00 0.00 99.00 1 nginx: worker
1002 UID PID %usr %system %guest %wait %CPU CPU Command
1002 0 7 10.00 20.00 0.00 0.00 30.00 1 nginx: worker
1002 0 8 0.10 0.00 0.00 0.00 0.10 - idle
1003 UID PID %usr %system %guest %wait %CPU CPU Command
1003 0 7 20.00 30.00 0.00 0.00 50.00 1 nginx: worker
1003 UID PID cswch/s nvcswch/s Command
1003 0 7 5.00 0.00 nginx: worker
1004 UID PID %usr %system %guest %wait %CPU CPU Command
1004 0 7 99.00 0.00 0.00 0.00 99.00 1 nginx: worker
""".splitlines()


def test_samples_that_lie_partly_outside_the_window_are_left_out() -> None:
    count, *rows = pidstat_averages(PIDSTAT_LINES, WINDOW)
    assert count == "2 samples"
    assert [row.split() for row in rows] == [
        ["%usr", "%system", "%guest", "%wait", "%CPU", "PID", "Command"],
        ["15.00", "25.00", "0.00", "0.00", "40.00", "7", "nginx:", "worker"],
        ["cswch/s", "nvcswch/s", "PID", "Command"],
        ["2.50", "0.00", "7", "nginx:", "worker"],
    ]


def test_the_window_is_that_of_a_trials_record() -> None:
    document = {
        "treatment": "clients=1", "repeat": 1,
        "measure": {
            "started_utc": "1970-01-01T00:16:40.400Z", "started_mono_ns": 7_500_000_000, "duration_s": 4.0,
        },
    }  # fmt: skip
    assert Window.of(document) == WINDOW
    assert WINDOW.perf_time == "7.500000,11.500000"
    assert Window.of({"treatment": "x", "repeat": 1, "measure": None}) is None


def test_real_outputs_are_understood() -> None:
    """Both programs at once, for some seconds; the window is the middle of them."""
    began_s = time.time()
    environment = {**os.environ, **ENVIRONMENT}
    running = [
        subprocess.Popen([*command, "4"], stdout=subprocess.PIPE, text=True, env=environment)
        for command in (PIDSTAT, IOSTAT)
    ]
    pidstat, iostat = (process.communicate(timeout=60)[0].splitlines() for process in running)
    window = Window("x", began_s, 0.0, time.time() - began_s)
    count, *rows = pidstat_averages(pidstat, window)
    assert int(count.split()[0]) >= 2
    assert sum("Command" in row for row in rows) == 3
    samples = list(iostat_samples(iostat, window))
    times = [line for line in samples if line.startswith(str(datetime.now(UTC).year))]
    assert len(times) >= 2
    assert any("%util" in line for line in samples)

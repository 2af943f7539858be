"""CPU time that the monitors of series take, on pages of metrics of several sizes, and a sample of a JVM.

A separate process serves the page, whose values change at each scrape. Measured is all of the process that
samples: requests, reading, and the rows it writes to a trial's directory, with the loop that writes them.
"""

from __future__ import annotations

import argparse
import queue
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.paired import keep, note, spread
from loadcell.monitors.base import Monitor, MonitorContext, Row, Sampler
from loadcell.monitors.command import Command, CommandOptions
from loadcell.monitors.jvm import JvmMonitor, JvmOptions
from loadcell.monitors.prometheus import Prometheus, PrometheusOptions
from loadcell.monitors.series import SeriesMonitor
from loadcell.store.layout import SAMPLE_HEAD
from loadcell.store.write import RunWriter

sys.path.insert(0, "tests")
from jvms import running

#: Series of the page, series recorded, and the aim in percent of a core (None: none).
CASES = ((1_000, 100, 0.5), (1_000, 1_000, 0.5), (10_000, 100, None), (40_000, 100, None))
#: How often waiting rows are written, as in a run.
_TICK_S = 0.2
#: CPU microseconds of a sample of the monitor `jvm`, at most.
JVM_SAMPLE_AIM_US = 20.0
SERVER = """
import http.server, sys
count, number = int(sys.argv[1]), 0
label = 'requests_total{{code="{}00",path="/api/v1/items/{}",method="GET"}} '
names = [label.format(number % 5, number).encode() for number in range(count)]
class Page(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        global number
        number += 1
        lines = b"".join(b"%b%d\\n" % (name, number * 7) for name in names)
        body = b"# TYPE requests_total counter\\n" + lines
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *arguments):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
print(server.server_address[1], flush=True)
server.serve_forever()
"""


def share_of_core(monitor: SeriesMonitor[Any], seconds: float) -> tuple[float, float, int]:
    """CPU time of this process and of the sampling thread in percent of a core, and the rows written.

    The loop that looks for rows is in it (`idle_share`).
    """
    waiting: queue.SimpleQueue[list[Row]] = queue.SimpleQueue()
    count = 0
    with tempfile.TemporaryDirectory() as directory:
        run = RunWriter(Path(directory) / "run")
        writer = run.trial("001-bench-r1")
        sampler = Sampler("monitor", monitor, lambda _, rows: waiting.put(rows), monitor.interval_ns)
        columns = (*SAMPLE_HEAD, *monitor.table.columns)
        cpu_s, start_s = time.process_time(), time.monotonic()
        sampler.start()
        while (elapsed_s := time.monotonic() - start_s) < seconds:
            time.sleep(_TICK_S)
            while not waiting.empty():
                rows = waiting.get()
                count += len(rows)
                writer.rows(monitor.table.file, columns, rows)
        cpu_s = time.process_time() - cpu_s
        account = sampler.stop()
        run.close()
    return 100 * cpu_s / elapsed_s, 100 * account.cpu_ns / 1e9 / elapsed_s, count


def idle_share(seconds: float) -> float:
    """CPU time of the loop that looks for rows, in percent of a core."""
    waiting: queue.SimpleQueue[list[Row]] = queue.SimpleQueue()
    cpu_s, start_s = time.process_time(), time.monotonic()
    while (elapsed_s := time.monotonic() - start_s) < seconds:
        time.sleep(_TICK_S)
        while not waiting.empty():
            waiting.get()
    return 100 * (time.process_time() - cpu_s) / elapsed_s


def of_page(series: int, limit: int, seconds: float) -> tuple[float, float, int]:
    """The cost of a page of this many series."""
    server = subprocess.Popen([sys.executable, "-c", SERVER, str(series)], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{server.stdout.readline().strip()}/metrics"
        options = PrometheusOptions.model_validate({"url": url, "limit": limit, "timeout": "3s"})
        return share_of_core(Prometheus(options, MonitorContext(roots=list, key="prometheus")), seconds)
    finally:
        server.kill()
        server.communicate()


def of_command(start: str, seconds: float) -> tuple[float, float, int]:
    """The cost of a program that prints one number each second; its own CPU time is not in it."""
    words = ("sh", "-c", "while echo queue 3; do sleep 1; done") if start == "once" else ("echo", "queue 3")
    options = CommandOptions.model_validate({"run": words, "start": start, "timeout": "3s"})
    return share_of_core(Command(options, MonitorContext(roots=list, key="command")), seconds)


def sample_costs(
    monitor: Monitor[Any], batches: int, samples: int, *, pause_s: float = 0.0
) -> Iterator[float]:
    """CPU seconds of one sample, the mean of each batch, with a pause after it. Closes the monitor."""
    monitor.sample(0)
    for _ in range(batches):
        began_s = time.thread_time()
        for _ in range(samples):
            monitor.sample(1.0)
            monitor.further_rows()
        yield (time.thread_time() - began_s) / samples
        time.sleep(pause_s)
    monitor.close()


def of_jvm_sample(batches: int = 200, samples: int = 50) -> dict[str, float | None]:
    """CPU microseconds of one sample of the monitor `jvm`: medians of batches, and the best of them.

    The JVM allocates meanwhile, so that counters change between samples.
    """
    with running("-Xmx96m", "-Drate=200", "-Dretained=40") as jvm:
        monitor = JvmMonitor(JvmOptions(commands=False), MonitorContext(roots=lambda: [jvm.pid]))
        costs = [cost_s * 1e6 for cost_s in sample_costs(monitor, batches, samples, pause_s=0.01)]
    return {**spread(costs), "aim": JVM_SAMPLE_AIM_US}


def main() -> None:
    """Measure all cases, print them, and keep them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20)
    seconds = parser.parse_args().seconds
    results = {}
    for series, limit, aim in CASES:
        values = of_page(series, limit, seconds)
        results[f"prometheus, {series} series, {limit} recorded"] = (*values, aim)
    for start in ("once", "each-interval"):
        results[f"command, {start}"] = (*of_command(start, seconds), 0.5)
    idle = idle_share(seconds)
    record: dict[str, dict[str, float | None]] = {}
    for name, (process, thread, rows, aim) in results.items():
        process -= idle
        record[name] = {"percent_of_core": process, "of_thread": thread, "rows": rows, "aim": aim}
        note(f"{name}: {process:.3f}% of a core, of these {thread:.3f}% in the sampling thread; {rows} rows")
    record["jvm, microseconds a sample"] = cost = of_jvm_sample()
    note(
        f"jvm: {cost['median']:.1f} us a sample ({cost['min']:.1f} to {cost['max']:.1f}), aim {cost['aim']:g}"
    )
    keep("monitors", f"python -m bench.monitors --seconds {seconds:g}", record)


if __name__ == "__main__":
    main()

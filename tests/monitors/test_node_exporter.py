"""A real exporter: the CPU time that prometheus-node-exporter counts is that of the host monitor."""

from __future__ import annotations

import subprocess
import time
import urllib.request
from collections.abc import Iterator

import pytest

from loadcell.monitors.base import MonitorContext
from loadcell.monitors.host import Host, HostOptions
from loadcell.monitors.prometheus import Prometheus, PrometheusOptions
from servers import free_port

PATIENCE_S = 60.0
#: The exporter caches nothing; both readings of an end are taken within this share of the window.
AGREEMENT = 0.02
WINDOW_S = 3.0


@pytest.fixture
def exporter() -> Iterator[str]:
    """The URL of a running exporter."""
    port = free_port()
    process = subprocess.Popen(
        ["prometheus-node-exporter", f"--web.listen-address=127.0.0.1:{port}",
         "--collector.disable-defaults", "--collector.cpu", "--collector.stat", "--log.level=error"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    url = f"http://127.0.0.1:{port}/metrics"
    try:
        deadline_s = time.monotonic() + PATIENCE_S
        while True:
            try:
                urllib.request.urlopen(url, timeout=5).close()
                break
            except OSError:
                assert time.monotonic() < deadline_s
                time.sleep(0.05)
        yield url
    finally:
        process.kill()
        process.wait()


def test_cpu_time_and_context_switches_agree_with_the_host_monitor(exporter: str) -> None:
    options = PrometheusOptions.model_validate({
        "url": exporter, "timeout": "3s",
        "series": ("node_cpu_seconds_total", "node_context_switches_total"), "limit": 1000,
    })  # fmt: skip
    context = MonitorContext(roots=list)
    for attempt in range(3):  # a machine may stop between two readings that belong together
        scraped, host = Prometheus(options, context), Host(HostOptions(), context)
        begun_s = time.monotonic()
        scraped.sample(0)
        host.sample(0)
        first_s = time.monotonic() - begun_s
        time.sleep(WINDOW_S)
        half_s = time.monotonic()
        rows = scraped.sample(WINDOW_S)
        [of_host] = host.sample(time.monotonic() - begun_s - first_s)
        apart_s = max(first_s, time.monotonic() - half_s)
        scraped.close()
        host.close()
        if apart_s < WINDOW_S * AGREEMENT / 4 or attempt == 2:
            break
    seconds: dict[str, float] = {}
    for row in rows:
        if row["name"] == "node_cpu_seconds_total":
            mode = row["labels"].partition('mode="')[2].partition('"')[0]
            seconds[mode] = seconds.get(mode, 0.0) + row["value"]
    total = sum(seconds.values())
    idle = 100 * seconds["idle"] / total
    assert idle == pytest.approx(of_host["cpu_idle_percent"], abs=100 * AGREEMENT)
    busy = 100 * sum(seconds[mode] for mode in ("user", "nice", "system", "irq", "softirq")) / total
    assert busy == pytest.approx(of_host["cpu_busy_percent"], abs=100 * AGREEMENT)
    [switches] = [row["value"] for row in rows if row["name"] == "node_context_switches_total"]
    assert switches == pytest.approx(of_host["context_switches_per_s"], rel=0.1)

"""Throughput that a load on a JVM loses by the monitor `jvm` and the GC log together, in pairs.

All loads go to one JVM, for two differ by what they compiled. Its GC log is switched on and off by the
command `VM.log`, with what the target `jvm` writes. The load is closed, without pauses, and each request
allocates, so that there are collections to write down.
"""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path

from bench.berkeleydb_service import RunningService, berkeleydb
from bench.lost_throughput import in_pairs, pair_options, trial_throughput
from bench.paired import keep
from loadcell.linux import java_attach
from loadcell.systems.jvm.arguments import log_argument
from loadcell.systems.jvm.options import JvmOptions

ANSWER_WITHIN_S = 10.0
WARM_UP_S = 20.0


PLAN = """
title: Berkeley DB
target: {{jvm: {{attach: {pid}, url: "{url}"}}}}
workload: {{http: {{requests: {{mget: {{path: "/random_mget?keyNum=20"}}}}}}}}
load: {{clients: 8, warmup: 500ms, duration: {seconds:g}s}}
repeats: 1
monitors: {monitors}
"""


def log_command(options: JvmOptions, log: Path) -> str:
    """The argument of the JVM as the command of a running one: -Xlog:what:file=log:decorators:bounds."""
    events, file, decorators, bounds = log_argument(options, log).removeprefix("-Xlog:").split(":")
    output = file.removeprefix("file=").strip('"')
    return f'VM.log output="{output}" what={events} decorators={decorators} output_options="{bounds}"'


def throughput(service: RunningService, log: Path, watched: bool, seconds: float, number: int) -> float:
    """Requests per second of one trial."""
    command = (
        log_command(JvmOptions(attach=service.pid, url=service.url), log) if watched else "VM.log disable"
    )
    java_attach.run(service.pid, command, ANSWER_WITHIN_S)
    monitors = f"[{{jvm: {{gc_log: {log}}}}}]" if watched else "[]"
    plan = log.with_name(f"plan-{number}.yaml")
    plan.write_text(PLAN.format(pid=service.pid, url=service.url, seconds=seconds, monitors=monitors))
    return trial_throughput(["run", str(plan)], log.parent, number)


def main() -> None:
    """Measure, print and keep."""
    options = pair_options(__doc__)
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="loadcell-bench-")))
        service = stack.enter_context(berkeleydb())
        throughput(service, home / "gc.log", True, WARM_UP_S, 0)
        lost = in_pairs(
            options, lambda watched, run: throughput(service, home / "gc.log", watched, options.seconds, run)
        )
        collections = sum(" Pause Young" in line for line in (home / "gc.log").read_text().splitlines())
    keep("jvm_throughput", "python -m bench.jvm_throughput", {**lost, "lines_of_pauses": collections})


if __name__ == "__main__":
    main()

"""Client CPU per record of a stream: loadcell and a bare loop of writes, in turn (A B, B A, ...) on one sink.

CPU time of the whole client process over the records it sent, to a service that discards what it reads. The
bare loop replays prepared records from memory of the same size. For loadcell the start of Python is in it,
which is most of a second: beside it stands what the load thread took of CPU time within the measurement.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from bench.paired import EXAMPLES, Cost, in_turn, keep, note, ratios, run_process, run_worker, spread

#: bytes of a record, and records that are prepared
SIZE = 200
PREPARED = 1000

#: aims: CPU of replaying over that of the bare loop; records generated in a second of CPU time
RATIO = 1.3
GENERATED_PER_CPU_S = 2e6

_NUMBER = {"start": 0, "step": 1}
_KEYS = {"from": 0, "to": 9999}

#: fields of the records of the rule service
FIELDS: list[dict[str, Any]] = [
    {"name": "id", "number": _NUMBER},
    {"name": "key", "draw": _KEYS},
    {"name": "time", "number": _NUMBER},
    {"name": "kind", "draw": {"values": ["P", "L"]}},
    {"name": "amount", "draw": {"from": 1, "to": 100_000}},
    {"name": "place", "draw": {"from": 0, "to": 99}},
]

_SKEWED = {**_KEYS, "distribution": "zipfian", "theta": 0.99}

#: section of the workload by case
CASES: dict[str, dict[str, Any]] = {
    "prepared": {"prepared": PREPARED},
    "generated": {},
    "generated, zipfian keys": {
        "source": {
            "fields": [{**field, "draw": _SKEWED} if field["name"] == "key" else field for field in FIELDS]
        }
    },
    "generated, json": {"format": "json"},
}


@contextmanager
def discarding() -> Iterator[int]:
    """Port of a service that discards what it reads."""
    command = [str(EXAMPLES / "bare_stream"), "sink"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["port"]
        process.stdin.close()


def specification(port: int, section: Mapping[str, Any], records: int) -> dict[str, Any]:
    """Specification for the worker of a trial."""
    return {
        "version": 1,
        "seed": 1,
        "target": {"protocol": "stream", "host": "127.0.0.1", "port": port, "sslmode": "disable"},
        "workload": {"stream": {"source": {"fields": FIELDS}, "size": SIZE, **section}},
        "load": {"clients": 1, "threads": 1, "duration_ns": 600 * 10**9, "requests": records},
    }


def loadcell(port: int, section: Mapping[str, Any], records: int, threads_us: list[float]) -> Cost:
    """The worker process of a trial; the CPU time of its thread a record is appended to `threads_us`."""
    cpu_s, result = run_worker(specification(port, section, records))
    assert not result["errors"], result["errors"]
    threads_us.append(result["client"]["cpu_ns"] / 1e3 / records)
    return Cost(cpu_s, records, result["window"]["duration_ns"] / 1e9)


def bare_loop(port: int, records: int) -> Cost:
    """The limit: writes of prepared records, and nothing else."""
    words = ["write", "127.0.0.1", port, SIZE, PREPARED, records]
    _, output = run_process([str(EXAMPLES / "bare_stream"), *map(str, words)])
    values = json.loads(output)
    return Cost(values["cpu_s"], records, values["wall_s"])


def case(port: int, section: Mapping[str, Any], records: int, rounds: int) -> dict[str, Any]:
    """Costs of one case."""
    threads_us: list[float] = []
    contenders: dict[str, Callable[[], Cost]] = {
        "loadcell": lambda: loadcell(port, section, records, threads_us),
        "bare loop": lambda: bare_loop(port, records),
    }
    costs = in_turn(rounds, contenders, unit="record")
    bare_us = [cost.per_query_us for cost in costs["bare loop"]]
    return {
        "cpu_us_per_record": {
            "loadcell": spread([cost.per_query_us for cost in costs["loadcell"]]),
            "loadcell's thread": spread(threads_us),
            "bare loop": spread(bare_us),
        },
        "records_per_s": {name: spread([cost.per_second for cost in runs]) for name, runs in costs.items()},
        "records_per_cpu_s": spread([1e6 / value for value in threads_us]),
        "thread_cpu_ratio": ratios(threads_us, bare_us),
    }


def main() -> None:
    """Measure, print a table, keep it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--records", type=int, default=20_000_000)
    args = parser.parse_args()
    result: dict[str, Any] = {
        "rounds": args.rounds,
        "records": args.records,
        "record_bytes": SIZE,
        "aims": {"prepared_thread_cpu_ratio": RATIO, "generated_per_cpu_s": GENERATED_PER_CPU_S},
        "cases": {},
    }
    with discarding() as port:
        bare_loop(port, args.records // 10)
        for name, section in CASES.items():
            note(name)
            result["cases"][name] = case(port, section, args.records, args.rounds)
    keep(
        "stream_cost", f"python -m bench.stream_cost --rounds {args.rounds} --records {args.records}", result
    )
    for name, values in result["cases"].items():
        ratio, rate = values["thread_cpu_ratio"], values["records_per_cpu_s"]
        print(
            f"{name}: thread / bare loop {ratio['median']:.2f} ({ratio['min']:.2f} to {ratio['max']:.2f}), "
            f"{rate['median'] / 1e6:.2f} million records per CPU second"
        )


if __name__ == "__main__":
    main()

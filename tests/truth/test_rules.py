"""The rules that fire for the stream of the engine, against an evaluation of its records in Python."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from loadcell import _engine
from loadcell.systems.jvm.services import ServiceBuild, services
from loadcell.workloads.stream import StreamOptions
from rule_servers import started_server
from rules_model import Record, answer, fired_rules
from specifications import complete
from truth.loads import FULL_STRENGTH, SECOND, load

RECORDS = 1_000_000 if FULL_STRENGTH else 30_000
RETAINED, WINDOW_MS, KEYS = RECORDS // 5, 600_000, 10_000 if FULL_STRENGTH else 300
SEED = 24

STREAM = StreamOptions.model_validate(
    {
        "fields": {
            "id": {"step": 1},
            "key": {"from": 0, "to": KEYS - 1},
            "time": {"step": 1},
            "kind": {"values": ["P", "P", "P", "L"]},
            "amount": {"from": 1, "to": 100_000},
            "place": {"from": 0, "to": 99},
        },
        "size": "200B",
        "answers": "each",
        "order": "key",
        "key": "key",
    }
).section()


@cache
def expected() -> list[str]:
    """The answer of each record, by number."""
    spec = json.dumps(complete(specification("127.0.0.1:1", None)))
    stream = _engine.stream_records(spec, 0, RECORDS)
    records = [record_of(line) for line in stream.decode().splitlines()]
    assert len(records) == RECORDS
    fired = fired_rules(records, 10, RETAINED, WINDOW_MS)
    return [answer(record, rules) for record, rules in zip(records, fired, strict=True)]


def record_of(line: str) -> Record:
    number, key, time, kind, amount, location = line.split(",")[:6]
    return Record(int(number), int(key), int(time), kind, int(amount), int(location))


def specification(address: str, keep_answers: Path | None) -> dict[str, Any]:
    host, _, port = address.partition(":")
    return {
        "target": {"protocol": "stream", "host": host, "port": int(port), "sslmode": "disable"},
        "workload": {
            "stream": {**STREAM, "keep_answers": None if keep_answers is None else str(keep_answers)}
        },
        "load": {
            "clients": 1,
            "threads": 1,
            "warmup_ns": 0,
            "duration_ns": 300 * SECOND,
            "requests": RECORDS,
            "timeout_ns": 60 * SECOND,
        },
        "seed": SEED,
    }


@pytest.mark.parametrize("servers", [1, 4])
@pytest.mark.parametrize("threads", [1, 4])
def test_the_rules_fire_that_python_finds(tmp_path: Path, threads: int, servers: int) -> None:
    build = ServiceBuild(services()["rules"], services()["rules"].versions[-1])
    build.fetch()
    properties: dict[str, object] = {
        "answers": "each",
        "retained": RETAINED,
        "window": WINDOW_MS,
        "threads": threads,
    }
    coordinate = {} if servers == 1 else {"coordinate": servers}
    service = started_server(build.jar, **properties, **coordinate)
    try:
        path = tmp_path / "answers"
        result, _ = load(specification(f"127.0.0.1:{service.port}", path))
    finally:
        service.kill()
    figures = result["figures"]
    assert figures["stream.sent"] == RECORDS
    assert figures["stream.lost"] == figures["stream.reordered"] == 0
    [file] = tmp_path.glob("answers*")
    answers = sorted(file.read_text().splitlines(), key=lambda line: int(line.split()[0]))
    assert answers == expected()
    assert {rule for line in answers for rule in line.split()[1:]} == {f"r{rule}" for rule in range(1, 11)}

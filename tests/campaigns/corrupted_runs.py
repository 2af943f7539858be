"""Corrupted run directories: every command reads the remaining records or refuses in a sentence."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

from campaigns.driver import call

CASES = 1000

DATA = Path(__file__).resolve().parent.parent / "data" / "schema-1" / "results"
RUNS = sorted(path for path in DATA.glob("*/*") if (path / "run.json").is_file())
#: Values that are of the wrong type or size in most places; texts of JSON, as Python would not write some.
VALUES = [
    *("null", "true", "0", "-1", "1.5", "1e308", "-1e308", "1e999", "NaN", "-Infinity", "1" + "0" * 400),
    *('""', '"text"', '"\\ud800"', '"\\u0000\\u001b[31m\\u2028"', '"../../x"', '"' + "x" * 300 + '"'),
    *("[]", "{}", "[null]", '{"a": 1}', '{"a": {"b": [1, "c"]}}', "[[[[]]]]", '"2026-13-45T99:00:00Z"'),
    *("9223372036854775808", '"1,5"', "[" * 100_000 + "]" * 100_000),
]
CELLS = ["inf", "-inf", "nan", "", "text", "1e308", "-1", "9" * 40, '"', "1,5", "\x00", "\x1b[31m", "1e-320"]
#: In place of a value, until the text of the document is made.
_PLACE = "\ue000place\ue000"


def case(random: Random, home: Path, commands: int = 3) -> None:
    """Damage one to three files of a run next to an intact one, and call some of the commands on both."""
    damaged, other = random.sample(RUNS, 2)
    results = home / "results"
    run = _copied(damaged, results)
    intact = _copied(other, results)
    for _ in range(random.randint(1, 4)):
        _damage(random, run)
    trials = sorted(path.name for path in (run / "trials").glob("[!.]*"))
    trial = random.choice(trials) if trials else "1"
    plan = json.loads((intact / "run.json").read_text())["plan_name"]
    calls: list[Callable[[], Any]] = [
        lambda: call("show", run),
        lambda: call("show", run, trial),
        lambda: call("show", run, trial, "--json"),
        lambda: call("report", run, "--json"),
        lambda: call("query", "SELECT trial, status, reason, throughput_per_s FROM trials", run),
        lambda: call("query", "SELECT count(*) FROM intervals, (SELECT count(*) FROM events)", run),
        lambda: call("query", "SELECT * FROM samples LIMIT 5", run, "--json"),
        lambda: call("compare", run, "--json"),
        lambda: call("compare", run, intact),
        lambda: call("history", plan, "--results", results),
        lambda: call("list", plan, "--results", results),
        lambda: call("list", "--label", "branch", "--since", "1d", "--results", results),
        lambda: call("clean", "--keep", "0", "--results", results),
        lambda: call("report", run, "--format", "html"),
    ]
    listed = call("list", results, "--json")
    assert intact.name in listed.stdout, "a damaged run hides the others"
    for command in random.sample(calls, min(commands, len(calls))):
        command()


def _copied(source: Path, results: Path) -> Path:
    return Path(shutil.copytree(source, results / source.parent.name / source.name))


def _damage(random: Random, run: Path) -> None:
    files = [path for path in sorted(run.rglob("*")) if path.is_file()]
    named = [path for path in files if path.suffix in (".json", ".jsonl", ".csv")]
    file = random.choice(named)
    content = file.read_bytes()
    way = random.random()
    if way < 0.1:
        content = _bytes(random, content)
    elif way < 0.13:
        file.unlink()
        return
    elif file.suffix == ".json":
        content = _json(random, content)
    elif file.suffix == ".jsonl":
        lines = content.splitlines(keepends=True) or [b"{}\n"]
        number = random.randrange(len(lines))
        lines[number] = _json(random, lines[number]) + b"\n"
        content = b"".join(lines)
    else:
        content = _csv(random, content)
    file.write_bytes(content)
    record = file.parent / "trial.json"
    if file.suffix == ".json" or not record.is_file():
        return
    with contextlib.suppress(ValueError, RecursionError, TypeError, KeyError):  # damaged before
        document = json.loads(record.read_bytes())
        document["files"][file.name] = len(content)  # or all of its rows would count as cut off
        record.write_text(json.dumps(document))


def _bytes(random: Random, content: bytes) -> bytes:
    start = random.randrange(len(content) + 1)
    end = min(len(content), start + random.choice((0, 1, 10, 10**9)))
    return content[:start] + random.choice((b"", b"\xff\xfe", b"\0", b"}", b'"', b"\n")) + content[end:]


def _json(random: Random, content: bytes) -> bytes:
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return _bytes(random, content)
    places = [*_places(document)]
    if not places:
        return content
    container, key = random.choice(places) if random.random() < 0.5 else _descended(random, document)
    if random.random() < 0.15:
        del container[key]
    else:
        container[key] = _PLACE
    return json.dumps(document).replace(json.dumps(_PLACE), random.choice(VALUES)).encode("utf-8", "replace")


def _descended(random: Random, value: Any) -> tuple[Any, Any]:
    """A place found from the top: keys with few below them are as likely as those with many."""
    while True:
        key = random.choice([*value] if isinstance(value, dict) else range(len(value)))
        below = value[key]
        if not below or not isinstance(below, dict | list) or random.random() < 0.3:
            return value, key
        value = below


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield value, key
        yield from _places(item)


def _csv(random: Random, content: bytes) -> bytes:
    rows = [*csv.reader(io.StringIO(content.decode("utf-8", "replace").replace("\0", "")))]
    if not rows or not rows[0]:
        return content
    way = random.random()
    if way < 0.1:
        rows[0][random.randrange(len(rows[0]))] = random.choice(("", "t_s", "x", '"', "mono_ns"))
    elif way < 0.2:
        row = random.choice(rows)
        if row:
            del row[random.randrange(len(row))]
    else:
        column = random.randrange(len(rows[0]))
        chosen = rows[1:] if random.random() < 0.3 else [random.choice(rows)]
        cell = random.choice(CELLS)
        for row in chosen:
            if column < len(row):
                row[column] = cell
    output = io.StringIO()
    csv.writer(output, lineterminator="\n").writerows(rows)
    return output.getvalue().encode()

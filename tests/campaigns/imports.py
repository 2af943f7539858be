"""Mutated outputs of every reader: `import` makes a run of each, or names its mistake."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random
from unittest.mock import patch

from campaigns.driver import call
from loadcell.cli import import_
from loadcell.report import publish

CASES = 5_000

OUTPUTS = sorted((Path(__file__).parents[1] / "ingest" / "readers" / "outputs").iterdir())
#: A table of nobody's, for the reader that takes columns.
TABLE = b"tps,clients,done,p99,disk\n" + b"".join(
    f"{900 + 7 * row},{1 + row % 4},{row * 50},{row}.5,ssd\n".encode() for row in range(40)
)
COLUMNS = ("throughput=tps", "clients=clients", "succeeded=done", "latency.p99=p99", "factor=disk")
#: The whole command, with its report, is called in one of n cases; the others end with the run.
REPORTED = 10
_NUMBER = re.compile(rb"\d+(?:[.,]\d+)?")
#: Numbers that no tool prints, and some that it might.
NUMBERS = [
    *b"inf|-inf|nan|NaN|Infinity|1e308|-1e308|1e999|1e-320|0|-0|-1|0.0|1,5|1.234,5|1_000|0x10|1e3".split(
        b"|"
    ),
    *b"18446744073709551615|18446744073709551616|9223372036854775807|253402300800|4294967296".split(b"|"),
    *(b"9" * digits for digits in (20, 400, 5_000)),
    *b'"many"|[1]|{}|null|true|""|\xd9\xa3\xd9\xa4|\xc2\xb2|1.2.3|--5|+5|.5|5.'.split(b"|"),
]
PIECES = [
    *b"{|}|[|]|:|,|;|\t|\"|'|\0|\x1b[31m|\xff\xfe|\xc3|\xe2\x80\xa8|\r|\n\n|\\ud800|\\u0000|=|%|/|1970-01-01".split(
        b"|"
    ),
    b"[" * 2_000,
    b'{"a":' * 2_000,
    b"x" * 70_000,
    b"25:61:61",
    b"31-FEB-0000",
]


def case(random: Random, home: Path, *, reported: bool | None = None) -> None:
    """Mutate an output in one to five places, and import it as that of some tool."""
    source = random.choice([*OUTPUTS, None])
    content = TABLE if source is None else source.read_bytes()
    for _ in range(random.randint(1, 5)):
        content = _mutated(random, content)
    file = home / (source.name if source is not None else "table.csv")
    file.write_bytes(content)
    words: list[str | Path] = ["import", "csv" if source is None else _tool(random, source.name), file]
    if source is None:
        words += [word for column in COLUMNS for word in ("--column", column)]
    else:
        words += random.choice(((), (), ("--by-file",), ("--interval", "0.5")))
    words += [*random.choice(((), ("--json",), ("--lang", "zh"))), "--out", home / "out"]
    if random.randrange(REPORTED) == 0 if reported is None else reported:
        result = call(*words)
    else:
        with (
            patch.object(publish.Prewarm, "begin", _nothing),
            patch.object(publish.Prewarm, "publish", _nothing),
            patch.object(import_, "_tell", _nothing),
        ):
            result = call(*words)
    assert result.exit_code in (0, 2), f"exit status {result.exit_code}: {result.output[-2_000:]}"
    assert len(result.output) < 240_000, f"{len(result.output)} characters of output"


def _nothing(*_: object, **__: object) -> None:
    """The report is left out."""


def _tool(random: Random, name: str) -> str:
    """Mostly the tool whose output it is."""
    stem = re.split(r"[.]", name)[0]
    tools = {"pgbench_log": "pgbench-log", "sadf-d": "sar", "sadf-j": "sar"}
    tool = tools.get(stem) or next(
        tool for tool in ("redis-benchmark", "stress-ng", stem.partition("-")[0]) if stem.startswith(tool)
    )
    return random.choice((tool, tool, tool, "auto", "auto", random.choice(("fio", "sar", "pgbench", "dd"))))


def _mutated(random: Random, content: bytes) -> bytes:
    way = random.randrange(9)
    numbers = list(_NUMBER.finditer(content))
    if way < 4 and numbers:
        number = random.choice(numbers)
        return content[: number.start()] + random.choice(NUMBERS) + content[number.end() :]
    start = random.randrange(len(content) + 1)
    if way == 4:
        return content[:start] + random.choice(PIECES) + content[start + random.choice((0, 0, 1, 9)) :]
    if way == 5:
        return content[:start] + content[start + random.randint(1, 200) :]
    if way == 6:
        return content[:start]
    lines = content.splitlines(keepends=True)
    if not lines:
        return content
    number, other = random.randrange(len(lines)), random.randrange(len(lines))
    if way == 7:
        lines[number], lines[other] = lines[other], lines[number]
    else:
        lines.insert(number, lines[other] * random.choice((1, 2, 300)))
    return b"".join(lines)

"""Mutated plans: `check` accepts each or names its mistakes."""

from __future__ import annotations

from pathlib import Path
from random import Random

from campaigns.driver import call

CASES = 10_000

PLANS = sorted((Path(__file__).resolve().parents[2] / "plans").glob("*.yaml"))
#: Pieces of YAML and of the plan language, between bars.
PIECES = [
    *b"{|}|[|]|:|: |- |,|&a |*a|!!int |<<: |---\n|? |\n|  |\t|#|\"|'|%|`|\0|\x1b[31m|\xff\xfe".split(b"|"),
    *b"\xc3|\xe2\x80\xa8|null|true|no|0|-1|1e999|0x1F|1.5|5s|1TiB|2026-01-01|${env:HOME}|${|../..".split(
        b"|"
    ),
    *b"password: x|postgres://u:p@h/d|/dev/zero|\\ud800|load|clients|target|workload|factors".split(b"|"),
    *b"repeats|limits|expect|from|times|99999999999999999999999999999999999999999999999999".split(b"|"),
]


def case(random: Random, home: Path) -> None:
    """Mutate a built-in plan in one to five places, and check it."""
    content = random.choice(PLANS).read_bytes()
    for _ in range(random.randint(1, 5)):
        content = _mutated(random, content)
    plan = home / "plan.yaml"
    plan.write_bytes(content)
    result = call("check", plan, *random.choice(((), ("--json",), ("--lang", "zh"))))
    assert result.exit_code in (0, 2), f"exit status {result.exit_code}"
    assert len(result.output) < 200_000, f"{len(result.output)} characters of output"


def _mutated(random: Random, content: bytes) -> bytes:
    start = random.randrange(len(content) + 1)
    way = random.randrange(6)
    if way == 0:
        return content[:start] + random.choice(PIECES) + content[start:]
    if way == 1:
        return content[:start] + random.choice(PIECES) + content[start + random.randint(1, 12) :]
    if way == 2:
        return content[:start] + content[start + random.randint(1, 60) :]
    if way == 3:
        return content[:start] + bytes([random.randrange(256)]) + content[start + 1 :]
    lines = content.splitlines(keepends=True)
    if not lines:
        return content
    number, other = random.randrange(len(lines)), random.randrange(len(lines))
    if way == 4:
        lines[number], lines[other] = lines[other], lines[number]
    else:
        lines.insert(number, lines[other] * random.choice((1, 2, 300)))
    return b"".join(lines)

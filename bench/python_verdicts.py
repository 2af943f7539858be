"""Verdicts on Python functions: equal ones (A/A), and ones that differ by a true 5%, in 20 repeats.

Ten statements whose time is proportional to a number: level `same` has the number of level `base`, and
`more` has 5% more.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path
from typing import Final

import loadcell
from bench.paired import keep

STATEMENTS: Final = {
    "sum": ("", "sum(range(n))"),
    "comprehension": ("", "[number * number for number in range(n)]"),
    "dictionary": ("", "dict.fromkeys(range(n))"),
    "join": ("words = ['word'] * 20000", "''.join(words[:n])"),
    "split": ("text = 'word ' * 20000", "text[: 5 * n].split()"),
    "sha256": ("import hashlib; block = bytes(2000000)", "hashlib.sha256(block[: 100 * n])"),
    "json": ("import json; rows = [{'id': 1, 'name': 'x'}] * 20000", "json.dumps(rows[:n])"),
    "regular-expression": ("import re; text = 'a1 ' * 20000", "re.findall('[0-9]', text[: 3 * n])"),
    "sort": ("numbers = list(range(20000, 0, -1))", "sorted(numbers[:n])"),
    "while": ("", "left = n\nwhile left:\n    left -= 1"),
}
_N: Final = 10_000
_LEVELS: Final = {"base": _N, "same": _N, "more": _N * 105 // 100}


def plan(name: str, repeats: int) -> dict[str, object]:
    """The plan of a statement."""
    setup, code = STATEMENTS[name]
    levels = {level: {"workload.python.arguments": {"n": n, "level": level}} for level, n in _LEVELS.items()}
    return {
        "target": {"host": {}},
        "workload": {"python": {"setup": setup or "pass", "code": code}},
        "load": {"warmup": "100ms", "duration": "400ms", "interval": "100ms"},
        "factors": {"level": levels},
        "repeats": repeats,
        "monitors": [],
    }


def main() -> None:
    """Measure all, and print a row for each statement."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--repeats", type=int, default=20)
    arguments = parser.parse_args()
    verdicts: dict[str, dict[str, str]] = {}
    with tempfile.TemporaryDirectory() as home:
        os.chdir(home)
        for name in STATEMENTS:
            out = Path(home) / name
            run = loadcell.run(plan(name, arguments.repeats), out=out, report=False, show_progress=False)
            row = verdicts[name] = {}
            for level in ("same", "more"):
                comparison = loadcell.compare(
                    run, factor="level", levels=["base", level], metrics=["python.call_time"]
                )
                (judged,) = comparison.gathered.comparison.headline
                row[level] = judged.verdict.word
                if judged.effect is not None:
                    row[f"{level} ratio"] = f"{judged.effect.ratio:.4f}"
                    row[f"{level} interval"] = f"{judged.effect.low:.4f} to {judged.effect.high:.4f}"
            print(name, row, flush=True)
    different = [name for name, row in verdicts.items() if row["same"] in ("faster", "slower")]
    noticed = [name for name, row in verdicts.items() if row["more"] == "slower"]
    print(f"equal, called different: {len(different)} of {len(verdicts)} {different}")
    print(f"5% more, called slower: {len(noticed)} of {len(verdicts)}")
    keep(
        "python_verdicts",
        f"python -m bench.python_verdicts --repeats {arguments.repeats}",
        {"verdicts": verdicts, "called_different": len(different), "noticed": len(noticed)},
    )


if __name__ == "__main__":
    main()

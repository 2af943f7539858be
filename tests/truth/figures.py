"""What a truth is held to, and the record of it that `make truth` makes a table of (docs/trust.md)."""

from __future__ import annotations

import json
import os
from pathlib import Path

from truth.loads import FULL_STRENGTH, bound

#: Where figures go at full strength: a JSON object a line, the last of a test and name counts.
FIGURES = Path(os.environ.get("LOADCELL_TRUTH_FIGURES", "truth.jsonl"))


def agrees(what: str, found: float, expected: float, *, full: float, loose: float) -> None:
    """`found` lies within a share of `expected`: `full` on a quiet machine, `loose` elsewhere."""
    _note(
        what, f"{expected:.4g}", f"{found:.4g}", f"within {100 * full:g}%", abs(found / expected - 1) <= full
    )
    assert abs(found - expected) <= bound(full, loose) * abs(expected), (
        f"{what}: {found}, expected {expected}"
    )


def at_most(what: str, found: float, limit: float) -> None:
    """`found` does not exceed `limit`, at any strength: what was simulated with fixed seeds."""
    _note(what, f"at most {limit:.4g}", f"{found:.4g}", "", found <= limit)
    assert found <= limit, f"{what}: {found}, at most {limit} expected"


def at_least(what: str, found: float, limit: float) -> None:
    """`found` does not fall short of `limit`, at any strength: what was simulated with fixed seeds."""
    _note(what, f"at least {limit:.4g}", f"{found:.4g}", "", found >= limit)
    assert found >= limit, f"{what}: {found}, at least {limit} expected"


def below(what: str, found: float, *, full: float, loose: float) -> None:
    """`found` stays below a limit: `full` on a quiet machine, `loose` elsewhere."""
    _note(what, f"below {full:,g}", f"{found:.4g}", "", found < full)
    assert found < bound(full, loose), f"{what}: {found}, below {bound(full, loose)} expected"


def between(what: str, found: float, low: float, high: float) -> None:
    """`found` lies in a range, at any strength: what was simulated with fixed seeds."""
    _note(what, f"{low:.4g} to {high:.4g}", f"{found:.4g}", "", low <= found <= high)
    assert low <= found <= high, f"{what}: {found}, {low} to {high} expected"


def _note(what: str, expected: str, found: str, within: str, holds: bool) -> None:
    if not FULL_STRENGTH:
        return
    test = os.environ["PYTEST_CURRENT_TEST"].partition(" ")[0]
    figure = {
        "test": test,
        "what": what,
        "expected": expected,
        "found": found,
        "within": within,
        "holds": holds,
    }
    with FIGURES.open("a") as lines:
        lines.write(json.dumps(figure) + "\n")

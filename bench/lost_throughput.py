"""Share of throughput that is lost by what watches a load, in pairs without and with it (A B, B A, ...).

Pairs go on until the bound of the loss lies at most PRECISION above its estimate, MOST_PAIRS are done, or the
time is up; none of this depends on the loss itself.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.before_after import loadcell
from bench.paired import ROOT, note, ratio_bounds

MOST_PAIRS, FEWEST_PAIRS, PRECISION = 60, 8, 0.005
#: Upper 95% bound of the lost share of throughput.
AIM = 0.02


def pair_options(description: str | None) -> argparse.Namespace:
    """Number of pairs, seconds of a load, minutes in all."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=MOST_PAIRS)
    parser.add_argument("--seconds", type=float, default=3.0, help="duration of a load (default: 3)")
    parser.add_argument("--minutes", type=float, default=11.5, help="at most (default: 11.5)")
    return parser.parse_args()


def trial_throughput(words: Sequence[str], home: Path, number: int) -> float:
    """Requests per second of a trial by a command of loadcell; it has to be ok."""
    out = home / f"run-{number}"
    command = [*words, "--seed", "1", "--no-report", "--quiet", "--out", str(out)]
    # a busy client is no fault here: server and client share the processors
    loadcell(ROOT, command, home, statuses=(0, 3))
    return float(usable_trial(out)["totals"]["throughput_per_s"])


def usable_trial(out: Path) -> dict[str, Any]:
    """The record of the only trial of a run, which has to be ok but for a busy client."""
    [path] = out.glob("trials/*/trial.json")
    trial: dict[str, Any] = json.loads(path.read_text())
    broken = {check["name"] for check in trial["checks"] if check["verdict"] == "broken"}
    if trial["status"] != "ok" and (trial["status"] != "invalid" or broken != {"client-limit"}):
        raise SystemExit(f"{path}: {trial['status']}: {trial['reason']}")
    return trial


def in_pairs(options: argparse.Namespace, measure: Callable[[bool, int], float]) -> dict[str, float | int]:
    """Throughputs by `measure`, which takes whether the load is watched, and the number of its run."""
    end_s = time.monotonic() + 60 * options.minutes
    rates: dict[bool, list[float]] = {False: [], True: []}
    for number in range(1, options.pairs + 1):
        for watched in (False, True) if number % 2 else (True, False):
            rates[watched].append(measure(watched, 2 * number + watched))
        ratios = [new / old for old, new in zip(rates[False], rates[True], strict=True)]
        lower, ratio, _ = ratio_bounds(ratios)
        note(f"pair {number}: {ratios[-1]:.4f}; lost {1 - ratio:.4f}, at most {1 - lower:.4f}")
        if (number >= FEWEST_PAIRS and ratio - lower <= PRECISION) or time.monotonic() > end_s:
            break
    return lost_share(rates)


def lost_share(rates: Mapping[bool, Sequence[float]]) -> dict[str, float | int]:
    """Estimate and bounds of the lost share, from the throughputs of pairs by whether they were watched."""
    ratios = [new / old for old, new in zip(rates[False], rates[True], strict=True)]
    lower, ratio, upper = ratio_bounds(ratios)
    print(f"lost {1 - ratio:.4f}, at most {1 - lower:.4f}; aim {AIM}")
    return {
        "pairs": len(ratios),
        "without_per_s": statistics.median(rates[False]),
        "with_per_s": statistics.median(rates[True]),
        "lost": 1 - ratio,
        "lost_lower": 1 - upper,
        "lost_upper": 1 - lower,
        "aim": AIM,
    }

"""Incidents in logs of services at random sizes and times, and logs below their thresholds."""

from __future__ import annotations

import random
from pathlib import Path

from incidents.log_texts import BEGIN_S, ServiceLog, evidence
from incidents.test_log_clock_steps import fighting, service
from incidents.test_log_incidents import failing, pool
from loadcell.incidents.evidence.application_log import Spans

from .case import Build, Example, Replay


def _steps(sizes: tuple[float, float], difference: tuple[float, float]) -> Build:
    def build(chance: random.Random, directory: Path) -> Example:
        forth = chance.uniform(*sizes)
        back = forth * (1 - chance.uniform(*difference))
        apart_s = chance.uniform(60, 500)
        log = service(fighting(forth, back, apart_s), chance.randint(2, 6))
        return Example(evidence(directory, log), f"{forth:.1f} s and {back:.1f} s, {apart_s:.0f} s apart")

    return build


def _silence(lengths: tuple[float, float]) -> Build:
    def build(chance: random.Random, directory: Path) -> Example:
        log, begin_s, length_s = pool(), chance.uniform(200, 1500), chance.uniform(*lengths)
        log.thread(
            "stuck", 0, 1800, 1.0, quiet=((begin_s, begin_s + length_s),), seed=chance.randrange(10**6)
        )
        return Example(evidence(directory, log), f"{length_s:.0f} s")

    return build


def _periods(chance: random.Random, directory: Path) -> Example:
    """A job with long regular periods beside busy threads."""
    log, period_s = pool(), chance.uniform(60, 300)
    at_s = 0.0
    while at_s < 1800:
        log.add(at_s, "job")
        at_s += period_s * chance.uniform(0.95, 1.05)
    return Example(evidence(directory, log), f"each {period_s:.0f} s")


def _growth(before: tuple[float, float], factor: tuple[float, float]) -> Build:
    def build(chance: random.Random, directory: Path) -> Example:
        share, grown = chance.uniform(*before), chance.uniform(*factor)
        log: ServiceLog = failing(share, share * grown, chance.randrange(10**6))
        return Example(evidence(directory, log), f"{share:.1%} x {grown:.1f}")

    return build


def _pauses(*, coincide: bool) -> Build:
    def build(chance: random.Random, directory: Path) -> Example:
        begins = sorted(chance.sample(range(100, 1700, 60), 4))
        quiet = tuple((float(begin), begin + chance.uniform(3, 9)) for begin in begins)
        later_s = 0.0 if coincide else 30.0
        pauses = tuple(
            (round((BEGIN_S + begin + later_s) * 1e9), round((BEGIN_S + end + later_s) * 1e9))
            for begin, end in quiet
        )
        log = ServiceLog()
        for number in range(4):
            log.thread(f"worker-{number}", 0, 1800, 0.3, quiet=quiet, seed=chance.randrange(10**6))
        seen = evidence(directory, log, others=(Spans("gc-pause", "gc.log", pauses),))
        return Example(seen, f"{len(begins)} silences")

    return build


REPLAYS = (
    Replay("log-clock-steps", _steps((2.0, 30), (0, 0.1)), (_steps((0.05, 0.4), (0, 0.1)),)),
    Replay("silent-threads", _silence((30, 120)), (_silence((0.5, 1.2)), _periods)),
    Replay("error-growth", _growth((0.01, 0.04), (4, 8)), (_growth((0.01, 0.2), (0.9, 1.1)),)),
    Replay("log-coincidences", _pauses(coincide=True), (_pauses(coincide=False),)),
)

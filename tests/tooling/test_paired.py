"""Order, processors and ratios of the measurements in `bench/`."""

from __future__ import annotations

import math
import os
import random
import socket
import subprocess
import sys
from collections.abc import Callable

import pytest
from bench import probes, probes_io
from bench.paired import _signed_rank_tail, on_processors, ratio_bounds, ratio_to_aim, values_in_turn


def logging(log: list[str], name: str) -> Callable[[], float]:
    """A contender that only notes that it had its turn."""

    def turn() -> float:
        log.append(name)
        return float(len(log))

    return turn


def test_of_two_the_first_of_a_round_is_the_second_of_the_next() -> None:
    log: list[str] = []
    values = values_in_turn(4, {name: logging(log, name) for name in "AB"}, "turns")
    assert "".join(log) == "ABBAABBA"
    assert values == {"A": [1, 4, 5, 8], "B": [2, 3, 6, 7]}


def test_ratios_are_of_pairs_and_their_median_has_an_interval() -> None:
    ours = [10.0, 21.0, 29.0, 40.0, 52.0, 60.0]
    ratio = ratio_to_aim(0.03, ours, [10.0, 20.0, 30.0, 40.0, 50.0, 60.0])
    assert (ratio["min"], ratio["median"], ratio["max"]) == (29 / 30, 1.0, 1.05)
    low, high = ratio["interval"]
    assert 29 / 30 < low < 1.0 < high < 1.05, "of six pairs 95 % lies a little inside the extremes"
    assert ratio["met"]
    assert not ratio_to_aim(0.03, [1.04], [1.0])["met"]
    assert ratio_to_aim(0.03, ours[:5], ours[:5])["interval"] is None


def test_what_is_started_stays_on_the_processor_that_was_named() -> None:
    all_of_them = os.sched_getaffinity(0)
    with on_processors(max(all_of_them)):
        seen = subprocess.check_output([sys.executable, "-c", "import os; print(os.sched_getaffinity(0))"])
    assert seen.decode().strip() == str({max(all_of_them)})
    assert os.sched_getaffinity(0) == all_of_them


def test_every_case_has_loadcell_first_and_one_tool() -> None:
    cases = list(probes.cases(1, 256, by_cpu=False))
    assert all(len(case.contenders) == 2 and next(iter(case.contenders)) == "loadcell" for case in cases)
    limited = {case.name for case in cases if case.limited_by_tool}
    assert limited == {
        f"memory {operation}, blocks of {block}"
        for operation in ("read", "write")
        for block in ("1KiB", "16KiB")
    }


def test_a_server_is_waited_for_until_it_listens() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        with pytest.raises(SystemExit, match=f"nothing listens on port {port}"):
            probes_io.wait_for(port, patience_s=0)
        listener.listen()
        probes_io.wait_for(port)


def test_bounds_of_a_ratio_hold_with_their_confidence() -> None:
    generator = random.Random(1)
    below = above = 0
    for _ in range(2000):
        lower, ratio, upper = ratio_bounds([math.exp(generator.gauss(0.1, 0.05)) for _ in range(10)])
        assert lower <= ratio <= upper
        below += upper < math.exp(0.1)
        above += lower > math.exp(0.1)
    # 95% is the least confidence; the exact one of ten pairs is 95.8%, and 2,000 simulations scatter by 0.5
    # points.
    assert 0.025 < below / 2000 < 0.06
    assert 0.025 < above / 2000 < 0.06


def test_few_pairs_have_no_bound() -> None:
    assert ratio_bounds([1.0, 1.1, 1.2, 1.3]) == (0.0, pytest.approx(1.1487, abs=0.01), math.inf)


def test_the_tail_of_the_signed_rank_sum_is_that_of_the_tables() -> None:
    # Hollander and Wolfe (1999), table A.4: P(T <= 0) = 1/32 of five, P(T <= 10) = 0.042 and P(T <= 11) =
    # 0.053 of ten.
    assert [_signed_rank_tail(count, 0.05) for count in (4, 5, 10)] == [None, 0, 10]

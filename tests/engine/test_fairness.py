"""Fairness between clients: counts by client of a real load, and Jain's index of known distributions."""

from __future__ import annotations

import pytest

from engine.loads import MS, run
from loadcell.execution.record import fairness
from loadcell.model.load_result import ClientShares
from redis_server import RedisServer


def shares(*counts: int) -> ClientShares:
    squares = float(sum(count**2 for count in counts))
    return ClientShares(len(counts), sum(counts), squares, min(counts), max(counts))


@pytest.mark.parametrize(
    ("counts", "index"),
    [((5, 5, 5, 5), 1.0), ((20, 0, 0, 0), 0.25), ((10, 10, 0, 0), 0.5), ((1, 2, 3), 36 / 42)],
)
def test_index_of_known_distributions(counts: tuple[int, ...], index: float) -> None:
    """Jain, Chiu and Hawe, 1984: k of n clients that share all equally have k/n."""
    result = fairness(shares(*counts))
    assert result is not None
    assert result.index == pytest.approx(index)
    assert (result.clients, result.least, result.most) == (len(counts), min(counts), max(counts))


@pytest.mark.parametrize("counts", [(7,), (0, 0)])
def test_one_client_and_no_success_have_none(counts: tuple[int, ...]) -> None:
    assert fairness(shares(*counts)) is None


@pytest.mark.parametrize("threads", [1, 2])
def test_counts_by_client_sum_up_to_the_window(threads: int) -> None:
    with RedisServer() as server:
        options = {"keys": 100, "value_size": 40}
        load = {"clients": 5, "threads": threads, "warmup_ns": 100 * MS}
        result = run(server.endpoint(), options, workload="kv", **load)
    [transactions] = [item for item in result["operations"] if item["name"] == "transaction"]
    counted = result["client"]["shares"]
    assert counted["clients"] == 5
    assert counted["sum"] == transactions["succeeded"]
    assert 0 < counted["least"] <= counted["sum"] / 5 <= counted["most"]

"""The order of trials: randomised blocks that a seed repeats exactly, or as written."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadcell.design.order import ARMS, balanced, blocks, draw_seed, shuffled, trials
from loadcell.execution.resume import in_stored_order
from loadcell.model.run_record import PlannedTrial, RunRecord
from plan.fake_parts import PLAN, read

SWEEP = PLAN + "factors: {load.clients: {from: 1, to: 6, step: 1}}\nrepeats: 4\n"


def test_a_block_is_one_repeat_of_every_treatment(tmp_path: Path) -> None:
    plan = read(tmp_path, SWEEP)
    planned = trials(plan, 7)
    assert [trial.number for trial in planned] == list(range(1, 25))
    assert [trial.block for trial in planned] == [1] * 6 + [2] * 6 + [3] * 6 + [4] * 6
    assert [trial.repeat for trial in planned] == [trial.block for trial in planned]
    for block in range(4):
        ids = {trial.treatment.id for trial in planned[block * 6 : block * 6 + 6]}
        assert ids == {treatment.id for treatment in plan.treatments}


def test_blocks_differ_among_themselves_and_by_seed(tmp_path: Path) -> None:
    plan = read(tmp_path, SWEEP)
    orders = [tuple(trial.treatment.id for trial in trials(plan, seed)) for seed in range(5)]
    assert len(set(orders)) == 5
    first = orders[0]
    assert len({first[:6], first[6:12], first[12:18], first[18:]}) > 1


def test_a_seed_gives_this_order_on_every_python_for_ever() -> None:
    assert list(blocks("abcdefgh", 2, "blocks", 20240607)) == [
        list("hbafgcde"),
        list("agdecfhb"),
    ]


@pytest.mark.parametrize("repeats", [1, 6, 7, 20])
def test_two_treatments_come_first_equally_often(repeats: int) -> None:
    orders = [list(balanced("ab", repeats, "blocks", seed)) for seed in range(200)]
    firsts = [Counter(first for first, _ in order) for order in orders]
    assert all(abs(count["a"] - count["b"]) == repeats % 2 for count in firsts)
    assert all(sorted(block) == ["a", "b"] for order in orders for block in order)
    assert len({str(order) for order in orders}) >= min(20, 2 * repeats)
    assert 60 <= sum(order[0][0] == "a" for order in orders) <= 140
    assert list(balanced("ab", repeats, "as-written", 1)) == [["a", "b"]] * repeats


def test_more_treatments_are_shuffled_as_ever() -> None:
    assert list(balanced("abcdefgh", 2, "blocks", 20240607)) == list(
        blocks("abcdefgh", 2, "blocks", 20240607)
    )


def test_as_written_is_as_written(tmp_path: Path) -> None:
    planned = trials(read(tmp_path, SWEEP + "order: as-written\n"), 7)
    assert [trial.name for trial in planned][:8] == [
        *(f"{number:03d}-clients={number}-r1" for number in range(1, 7)),
        "007-clients=1-r2",
        "008-clients=2-r2",
    ]


@pytest.mark.parametrize(("levels", "first"), [(999, "001-"), (1000, "0001-"), (10_000, "00001-")])
def test_numbers_in_names_sort_as_text(levels: int, first: str, tmp_path: Path) -> None:
    text = PLAN + f"repeats: 1\nfactors: {{load.clients: {{from: 1, to: {levels}, step: 1}}}}"
    names = [trial.name for trial in trials(read(tmp_path, text), 1)]
    assert names[0].startswith(first)
    assert names == sorted(names)
    assert len(set(names)) == levels


@given(st.lists(st.integers(), max_size=40), st.integers(0, 2**63 - 1))
def test_shuffling_loses_and_invents_nothing(items: list[int], seed: int) -> None:
    assert Counter(shuffled(items, random.Random(seed))) == Counter(items)


def test_every_permutation_is_equally_likely() -> None:
    generator = random.Random(5)
    counts = Counter(tuple(shuffled("abc", generator)) for _ in range(6000))
    assert len(counts) == 6
    # chi-squared with 5 degrees of freedom exceeds 20.5 once in a thousand; the seed is fixed, so this never
    # flickers
    assert sum((count - 1000) ** 2 / 1000 for count in counts.values()) < 20.5


def test_drawn_seeds_differ_and_can_be_written_into_a_plan(tmp_path: Path) -> None:
    drawn = {draw_seed() for _ in range(20)}
    assert len(drawn) > 15
    assert read(tmp_path, PLAN + f"seed: {max(drawn)}").seed == max(drawn)


def test_identical_arms_are_shuffled_like_treatments_and_change_no_other_order(tmp_path: Path) -> None:
    plan = read(tmp_path, SWEEP)
    planned = trials(plan, 7, aa=True)
    assert len(planned) == 48
    for block in range(4):
        matches = [(trial.treatment.id, trial.arm) for trial in planned[block * 12 : block * 12 + 12]]
        assert sorted(matches) == sorted((treatment.id, arm) for treatment in plan.treatments for arm in ARMS)
    assert len({trial.name for trial in planned}) == 48
    assert planned[0].name == f"001-{planned[0].treatment.id}-{planned[0].arm}-r1"
    first = Counter(
        next(trial.arm for trial in planned if (trial.block, trial.treatment.id) == (block, treatment.id))
        for block in range(1, 5)
        for treatment in plan.treatments
    )
    assert set(first) == set(ARMS)
    assert all(trial.arm is None for trial in trials(plan, 7))


def test_a_run_is_resumed_in_the_order_it_began_with(tmp_path: Path) -> None:
    """An older version may have drawn another order from the same seed."""
    plan = read(tmp_path, PLAN + "factors: {load.clients: [1, 2]}\nrepeats: 3\n")
    planned = trials(plan, 7)
    began = [
        PlannedTrial(
            number,
            f"{number:03d}-{trial.treatment.id}-r{trial.repeat}",
            trial.treatment.id,
            trial.repeat,
            trial.block,
        )
        for number, trial in enumerate(reversed(planned), 1)
    ]
    resumed = in_stored_order(RunRecord(trials=tuple(began)), planned)
    assert [trial.name for trial in resumed] == [trial.name for trial in began]
    assert [trial.treatment.id for trial in resumed] == [trial.treatment for trial in began]
    assert [trial.number for trial in resumed] == [1, 2, 3, 4, 5, 6]
    assert in_stored_order(RunRecord(trials=tuple(began[:5])), planned) == planned

"""Stacks of async-profiler as folded stacks of loadcell."""

from __future__ import annotations

from collections import Counter

import pytest

from loadcell.profilers.java_stacks import folded, read


def test_threads_of_a_pool_are_one_and_java_has_one_mark() -> None:
    stacks = read(
        "[pool-1-thread-1 tid=10];java.lang.Thread.run_[0];Service.serve_[1];write_[k] 2\n"
        "[pool-1-thread-12 tid=11];java.lang.Thread.run_[j];Service.serve_[i];write_[k] 3\n"
        "[G1 Conc#0 tid=12];clone3;G1::mark 1\n",
        ends_in_class=False,
    )
    assert folded([stacks], 1) == [
        "G1 Conc;clone3;G1::mark 1",
        "pool-1-thread;java.lang.Thread.run_[j];Service.serve_[j];write_[k] 5",
    ]


@pytest.mark.parametrize("leaf", ["byte[]", "byte[]_[i]", "byte[]_[k]"])
def test_the_innermost_frame_of_an_allocation_is_a_class(leaf: str) -> None:
    stacks = read(f"[main tid=1];Service.serve_[j];{leaf} 4096\n", ends_in_class=True)
    assert folded([stacks], 1) == ["main;Service.serve_[j];byte[]_[i] 4096"]


@pytest.mark.parametrize(
    "name", ["Service$$Lambda$14.0x00007f973c000a08.run", "Service$$Lambda.0x00007f97/0x00007f973c000a08.run"]
)
def test_addresses_of_hidden_classes_are_no_names(name: str) -> None:
    [line] = folded([read(f"[main tid=1];{name}_[j] 1\n", ends_in_class=False)], 1)
    assert "0x" not in line
    assert line.endswith(".run_[j] 1")


def test_jvms_are_summed_and_values_scaled() -> None:
    stacks: Counter[tuple[str, ...]] = Counter({("main", "wait"): 1_500_000, ("main", "short"): 10})
    assert folded([stacks, stacks], 1000) == ["main;short 1", "main;wait 3000"]


@pytest.mark.parametrize("text", ["", "\n", "no value\n", "[main tid=1];a -5\n", "[main tid=1];a x\n"])
def test_lines_without_a_count_are_left_out(text: str) -> None:
    assert folded([read(text, ends_in_class=True)], 1) == []


def test_a_stack_without_a_thread_is_kept() -> None:
    assert folded([read("main;run 3\n", ends_in_class=False)], 1) == ["[unknown];main;run 3"]

"""Whatever text is called a plan: it is read, or refused with mistakes that can be printed. Nothing else."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from loadcell.plan.load import load_plan
from loadcell.plan.problems import PlanError
from loadcell.plan.source import LARGEST_BYTES
from plan.fake_parts import PARTS

FULL_PLAN = """\
title: A title
target: {database: {server: local, settings: {a: on}}}
workload: {mix: {tables: 3, think: 1s}}
load: {clients: 4, duration: 2s}
factors:
  load.clients: {from: 1, to: 8, times: 2}
  storage: {a: {target.database.data: x}, b: {target: {cache: {}}}}
repeats: 2
monitors: [host, {jvm: {gc: true}}]
expect: [errors == 0, latency.p99 < 5ms]
"""

PIECES = [
    *"{}[]:,-?&*!|>%@`#'\"\n \t~<=.\\",
    *(
        "  ",
        ": ",
        "- ",
        "&a ",
        "*a",
        "!!int ",
        "<<: ",
        "---\n",
        "...\n",
        "%YAML 1.1\n",
        "? ",
        "| \n",
        '"\\ud800"',
    ),
    *(
        "title",
        "target",
        "database",
        "settings",
        "workload",
        "mix",
        "sql",
        "load",
        "clients",
        "duration",
        "monitors",
    ),
    *(
        "factors",
        "cross",
        "design",
        "one-at-a-time",
        "repeats",
        "limits",
        "expect",
        "host",
        "from",
        "to",
        "step",
        "times",
    ),
    *(
        "load.clients",
        "target.database.data",
        "target",
        "errors == 0",
        "1",
        "0",
        "-1",
        "1.5",
        "5s",
        "1e999",
        "0x1F",
    ),
    *(
        "null",
        "true",
        "${env:A}",
        "${",
        "postgres://u:p@h/d",
        "password",
        "é",
        "\u2028",
        "\x85",
        "\ufeff",
        "😀",
        "\x00",
    ),
]

yamlish = st.lists(st.sampled_from(PIECES), max_size=60).map("".join)


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """A right plan with a few pieces cut out and others put in."""
    text = FULL_PLAN
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 12)))
        text = text[:start] + draw(st.sampled_from(PIECES) | st.text(max_size=3)) + text[end:]
    return text


def read_or_refuse(text: str, *, sets: tuple[str, ...] = (), only: tuple[str, ...] = ()) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "plan.yaml"
        path.write_bytes(text.encode("utf-8", "surrogatepass")[:LARGEST_BYTES])
        try:
            plan = load_plan(path, PARTS, sets=sets, only=only, env={})
        except PlanError as error:
            refused = error
        else:
            assert plan.size() >= 1
            assert plan.base.document()
            return
    assert refused.problems
    assert all(problem.finding and problem.mark.file for problem in refused.problems)
    assert str(refused).encode()


@given(yamlish)
@settings(max_examples=400, deadline=None)
@example("? ")
@example("a: *a")
@example("&a a: &a b")
@example("!!binary x: !!set {a}")
def test_text_that_looks_like_yaml(text: str) -> None:
    read_or_refuse(text)


@given(damaged())
@settings(max_examples=600, deadline=None)
def test_a_plan_that_was_damaged(text: str) -> None:
    read_or_refuse(text)


@given(st.text(max_size=200))
@settings(max_examples=150, deadline=None)
def test_any_text(text: str) -> None:
    read_or_refuse(text)


@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join), st.sampled_from(PIECES), yamlish)
@settings(max_examples=250, deadline=None)
def test_any_option(path: str, key: str, value: str) -> None:
    read_or_refuse(
        FULL_PLAN, sets=(f"{path}={value}", f"load.{key}={value}"), only=(f"load.clients={value}",)
    )
    read_or_refuse(FULL_PLAN, sets=(f"factors.{key}={value}",), only=(f"{path}={value}", value))

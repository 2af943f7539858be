"""The plan of the README: valid, equal in both languages, and without transactions that fail by design."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from loadcell.parts import installed
from loadcell.plan.load import LoadedPlan, load_text

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "README.zh-CN.md")


def plan(page: str) -> LoadedPlan:
    block = re.search(r"```yaml\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    return load_text(block[1], Path("plan.yaml"), installed(), env={})


@pytest.mark.parametrize("page", PAGES)
def test_no_transaction_can_fail_by_conflicts_that_are_not_retried(page: str) -> None:
    parts = installed()
    for treatment in plan(page).treatments:
        settings = treatment.resolved
        workload = parts.workload(settings.workload_name)(settings.workload)
        assert not workload.unretried(settings.load, parts.target_kind(settings.target_name))


def test_both_languages_have_the_same_plan() -> None:
    english, chinese = ([item.resolved for item in plan(page).treatments] for page in PAGES)
    assert english == chinese

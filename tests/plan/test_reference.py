"""The reference page names everything the plan language knows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from loadcell.model.metrics import declared
from loadcell.plan import units
from loadcell.plan.affinity import Affinity
from loadcell.plan.expect import COMPARATORS
from loadcell.plan.load import KEYS, load_plan
from loadcell.plan.model import Limits, Load
from loadcell.plan.problems import PlanError
from loadcell.plan.profile import profile_kinds
from loadcell.plan.search import SearchOptions
from plan.fake_parts import PARTS

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "plan.md").read_text(encoding="utf-8")


PROFILE = sorted({name for kind in profile_kinds().values() for name in kind.model_fields})
SEARCH = [field.alias or name for name, field in SearchOptions.model_fields.items()]


@pytest.mark.parametrize(
    "name", [*KEYS, *Load.model_fields, *Affinity.model_fields, *Limits.model_fields, *SEARCH, *PROFILE]
)
def test_every_key_has_its_row(name: str) -> None:
    assert f"\n| `{name}` |" in PAGE


def test_every_unit_comparison_and_metric_is_named() -> None:
    for unit in (*units.SECONDS, *units.BYTES, *units.PER_SECOND, *units.PERCENT, *COMPARATORS):
        assert f"`{unit}`" in PAGE, unit
    for name in declared():
        family, _, quantile = name.partition(".")
        assert f"`{name}`" in PAGE or (f"`.{quantile}`" in PAGE and f"`{family}.mean`" in PAGE), name


def test_defaults_are_as_stated() -> None:
    rows = dict(re.findall(r"\n\| `(\w+)` \|.*\| (?:`([^`]+)`|[^|]*) \|", PAGE))
    for model in (Load(), Limits()):
        for name, value in model.model_dump(mode="json").items():
            if isinstance(value, str):
                assert rows[name] == value


def test_the_mistakes_shown_read_as_real_ones_do(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(
        "workload: {mix: {}}\n" * 1
        + "target: {database: {}}\nload:\n  duration: 30\nfactors:\n  load.cleints: [1]\n"
    )
    with pytest.raises(PlanError) as caught:
        load_plan(path, PARTS)
    shown = PAGE.partition("```text\n")[2].partition("```")[0]
    real = str(caught.value).replace(str(path), "plan.yaml")

    def without_places(text: str) -> str:
        return re.sub(r"plan.yaml:\d+:\d+", "plan.yaml", text)

    assert without_places(real).strip() == without_places(shown).strip()

"""Tables of a JVM's collections: medians of counts, and notes that fit the columns."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from loadcell.report.blocks import Table
from loadcell.report.build import build
from loadcell.store.read import read_run


@pytest.fixture
def tables(runs: Callable[[str], Path], tmp_path: Path) -> Callable[..., dict[str, Table]]:
    """Tables of the section by their id, of a run whose trials have these values in turn."""

    def made(values: Mapping[str, tuple[float, float]], lang: str = "en") -> dict[str, Table]:
        home = tmp_path / lang
        shutil.copytree(runs("two"), home)
        for number, path in enumerate(sorted(home.glob("trials/*/trial.json"))):
            record = json.loads(path.read_text())
            figures = {key: pair[number // 2 % 2] for key, pair in values.items()}
            record["totals"]["figures"] = {**record["totals"].get("figures", {}), **figures}
            path.write_text(json.dumps(record))
        report = build(read_run(home), lang)
        section = next(section for section in report.sections if section.id == "jvm")
        return {block.id: block for block in section.blocks if isinstance(block, Table)}

    return made


PAUSES = {"gc.pauses": (0, 1), "gc.pause.total": (0, 45.2), "gc.pause.max": (0, 45.2)}


def test_a_median_between_two_counts_is_not_rounded(tables: Callable[..., dict[str, Table]]) -> None:
    counters = {"jvm.young_gcs": (4, 5), "jvm.young_gc_time": (20, 22)}
    made = tables({**PAUSES, **counters})
    table = made["table-gc"]
    column = [column.title for column in table.columns].index("pauses")
    assert {row[column].text for row in table.rows} == {"0.5"}
    [counts] = [row for row in made["table-jvm-1"].rows if row[0].text == "YGC/YGCT (s)"]
    assert {cell.text for cell in counts[1:]} == {"4.5 / 0.021"}
    assert "read once per second" in made["table-jvm-1"].note


@pytest.mark.parametrize(
    ("more", "words", "absent"),
    [
        ((), "", ("Slowest", "Allocation", "Promotion")),
        (("gc.slow.p99",), "Slowest 1%: ", ("0.1%",)),
        (("gc.slow.p99", "gc.slow.p99.9"), "Slowest 1% and 0.1%: ", ("Allocation", "last column")),
        (("gc.allocation", "gc.promotion"), "Allocation is", ("Slowest",)),
    ],
)
def test_the_note_is_on_the_columns_that_are_shown(
    tables: Callable[..., dict[str, Table]], more: tuple[str, ...], words: str, absent: tuple[str, ...]
) -> None:
    note = tables({**PAUSES, **dict.fromkeys(more, (0.1, 0.1))})["table-gc"].note
    assert words in note
    assert not any(word in note for word in absent)

"""The report of a search: its answer in sentences, its trials in a table and a picture."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import pytest

from execution.test_search_trials import SEARCH, curve
from execution.world import World
from loadcell.analysis.analyse import analyse
from loadcell.execution.executor import LoadError
from loadcell.report.blocks import Chart, Table
from loadcell.report.build import build
from loadcell.report.context import ReportContext
from loadcell.report.render.html import render as html
from loadcell.report.render.markdown import render as markdown
from loadcell.report.sections.summary import findings, tiles
from loadcell.store.read import StoredRun


def searched(home: Path, change: tuple[str, str] = ("", ""), more: str = "", **world: Any) -> StoredRun:
    context = World(**{"per_s": curve, **world})
    return context.stored(context.run(home, SEARCH.replace(*change) + more))


def search_sentences(stored: StoredRun, lang: str = "en") -> list[str]:
    context = ReportContext.of(stored, lang)
    return [context.texts.message(finding.message) for finding in findings(context)]


def test_the_answer_comes_first_with_how_sure_it_is(tmp_path: Path) -> None:
    stored = searched(tmp_path)
    sentences = search_sentences(stored)
    assert sentences[0].startswith("Throughput is highest at clients = 20: 2,000 transactions/s")
    text = "\n".join(sentences)
    assert "within 2.0% of that value: the true peak may lie anywhere in this range." in text
    assert "the target performed at 20 as before." in markdown(build(stored))
    assert "Of the treatments tested" not in text, "one answer, not two"
    assert "clients = 20 时吞吐量最高：每秒 2,000 个事务" in "\n".join(search_sentences(stored, "zh"))


BOUND = ("step: 1", "step: 1, objective: max clients, subject to: latency.mean < 16ms")


def test_a_bound_says_what_meets_it_and_what_does_not(tmp_path: Path) -> None:
    text = "\n".join(search_sentences(searched(tmp_path, BOUND)))
    assert "The highest level of clients that meets latency.mean < 16ms is 29: met in 4 of 4 trials" in text
    assert "At clients = 30, the next higher level tested, the bounds were missed" in text


def test_the_tile_of_a_search_under_a_bound_promises_no_highest_throughput(tmp_path: Path) -> None:
    def names(home: Path, *change: tuple[str, str]) -> set[str]:
        home.mkdir()
        return {tile.name for tile in tiles(ReportContext.of(searched(home, *change), "en"))}

    assert "Throughput within the bound" in names(tmp_path / "bound", BOUND)
    assert "Highest throughput" in names(tmp_path / "free")


def test_noise_widens_the_range_of_a_maximum_and_of_a_limit(tmp_path: Path) -> None:
    chance = random.Random(3)

    def noisy(clients: int) -> int:
        return round(curve(clients) * math.exp(chance.gauss(0, 0.2)))

    for kind in ("maximum", "limit"):
        (tmp_path / kind).mkdir()

    text = "\n".join(search_sentences(searched(tmp_path / "maximum", per_s=noisy)))
    assert "cannot be distinguished from" in text
    text = "\n".join(search_sentences(searched(tmp_path / "limit", BOUND, per_s=noisy)))
    assert "both met and missed the bounds" in text
    assert "the true limit lies between" not in text


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("between: [1, 64]", "between: [1, 8]"),
         "8 is the upper end of the search: throughput may be higher beyond it."),
        (("between: [1, 64]", "between: [30, 64]"),
         "30 is the lower end of the search: the answer may lie below it."),
        (("between: [1, 64], step: 1",
          "between: [1, 8], step: 1, objective: max clients, subject to: errors == 0"),
         "8 is the upper end of the search, and it meets the bounds: the true limit lies beyond."),
        (("step: 1", "step: 1, objective: max clients, subject to: latency.mean < 1ms"),
         "Even the lowest level (clients = 1) missed the bounds"),
    ],
)  # fmt: skip
def test_ends_are_said(tmp_path: Path, change: tuple[str, str], sentence: str) -> None:
    assert sentence in "\n".join(search_sentences(searched(tmp_path, change)))


def test_a_search_without_results_is_reported_and_drawn_without_values(tmp_path: Path) -> None:
    trouble = {"load 1": [LoadError("no", advice=""), LoadError("no", advice="")]}
    stored = searched(tmp_path, trouble=trouble)
    assert any("none of its trials succeeded" in sentence for sentence in search_sentences(stored))
    assert "Course of the search" in markdown(build(stored))


def test_each_treatment_of_other_factors_has_its_own_answer(tmp_path: Path) -> None:
    stored = searched(tmp_path, more="factors: {target.mock.variant: [a, b]}\n")
    maxima = [sentence for sentence in search_sentences(stored) if "hroughput is highest" in sentence]
    assert [sentence.partition(":")[0] for sentence in maxima] == ["With variant = a", "With variant = b"]
    assert len(analyse(stored.run, stored.trials).searches) == 2


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_trial_is_in_the_table_and_the_picture_in_order(tmp_path: Path, lang: str) -> None:
    stored = searched(tmp_path, BOUND)
    section = next(candidate for candidate in build(stored, lang).sections if candidate.id == "search")
    (table,) = [block for block in section.blocks if isinstance(block, Table)]
    (chart,) = [block for block in section.blocks if isinstance(block, Chart)]
    numbers = [str(trial.number) for trial in stored.trials]
    assert [row[0].text for row in table.rows] == numbers
    assert [str(row["trial"]) for row in chart.data["steps"]] == numbers
    ends = [(row["low"], row["high"]) for row in chart.data["steps"]]
    assert ends[0] == (1, 64)
    assert ends[-1] == (29, 30), "the bracket has closed"
    assert table.rows[0][-1].text in html(build(stored, lang))


def test_the_document_has_the_answer_and_its_steps(tmp_path: Path) -> None:
    stored = searched(tmp_path)
    (search,) = analyse(stored.run, stored.trials).document()["searches"]
    assert (search["factor"], search["ended"], search["answer"]["level"]) == ("load.clients", True, "20")
    assert [step["trial"] for step in search["steps"]] == [trial.name for trial in stored.trials]

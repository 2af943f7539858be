"""`loadcell recommend RUN...`: the best level of each factor, in a terminal, as a page and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fake_runs import Fate, Shape, write_run
from lines import CliRunner
from loadcell.cli import main

MEMORY = "target.postgres.settings.shared_buffers"
#: The second trial of the largest level has no result.
SHAPE = Shape(
    factors={MEMORY: ["64MB", "1GB", "30GB"], "load.clients": [4]},
    repeats=3,
    fates={6: Fate("timed-out", "the load did not end within its limit of 1 min")},
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("recommend") / "run", SHAPE)


def recommended(*words: str, lang: str = "en") -> str:
    done = CliRunner().invoke(main, ["recommend", *words, "--lang", lang])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_each_level_has_its_values_and_its_result(run: Path) -> None:
    data = json.loads(recommended(str(run), "--json"))
    [of_run] = data["runs"]
    [factor] = of_run["factors"]
    assert factor["factor"] == MEMORY
    results = {level["level"]: level["result"] for level in factor["levels"]}
    assert sorted(results) == ["1GB", "30GB", "64MB"]
    broken = next(level for level in factor["levels"] if level["counting"] < level["trials"])
    assert broken["result"] == "unusable"
    assert all(level["p99"] > 0 for level in factor["levels"])


def test_the_terminal_has_evidence_and_a_command(run: Path) -> None:
    page = " ".join(recommended(str(run)).split())
    assert "1 of 3 trials failed" in page
    assert "the load did not end within its limit" in page
    assert "--only shared_buffers=" in page
    assert f"{MEMORY}:" in page


def test_the_page_is_written_in_chinese(run: Path, tmp_path: Path) -> None:
    path = tmp_path / "recommendation.html"
    recommended(str(run), "--out", str(path), lang="zh")
    page = path.read_text(encoding="utf-8")
    assert "变异系数（乖离率）" in page
    assert "不可用" in page


def test_several_runs_are_judged_one_by_one(run: Path) -> None:
    page = recommended(str(run), str(run))
    assert page.count("Run the best levels again") == 2


def test_a_run_without_a_factor_to_choose_from_is_an_error(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run", Shape(factors={"load.clients": [4, 8]}, repeats=2))
    done = CliRunner().invoke(main, ["recommend", str(path)])
    assert done.exit_code == 2
    assert "no factor with several levels" in done.output


@pytest.mark.parametrize("text", ["5", "-1%", "200%", "many"])
def test_a_limit_is_a_percentage(run: Path, text: str) -> None:
    done = CliRunner().invoke(main, ["recommend", str(run), "--most-failed", text])
    assert done.exit_code == 2
    assert "--most-failed" in done.output

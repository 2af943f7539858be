"""The report of the demonstration plan is short: words of Markdown, bytes of the page, lines of the
environment. Warnings on a busy machine come in addition.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from lines import CliRunner
from loadcell.cli import main
from loadcell.report.blocks import Definitions
from loadcell.report.build import build
from loadcell.report.render import html, markdown
from loadcell.store.read import StoredRun, read_run

#: Words of Markdown, and bytes of HTML.
MOST_WORDS, MOST_BYTES = 1_800, 1_000_000
#: Lines on the environment.
MOST_LINES = 6


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> StoredRun:
    """The 15 trials of `loadcell run quickstart`, each shorter."""
    results = tmp_path_factory.mktemp("results")
    shorter = ["--set", "load.warmup=100ms", "--set", "load.duration=500ms", "--set", "load.interval=100ms"]
    words = ["run", "quickstart", *shorter, "--no-report", "--out", str(results)]
    done = CliRunner().invoke(main, words, standalone_mode=False)
    assert done.exception is None, done.output
    [run] = (path.parent for path in results.rglob("run.json"))
    return read_run(run)


def test_markdown_has_few_words(demo: StoredRun) -> None:
    report = build(demo)
    quiet = replace(report, sections=tuple(part for part in report.sections if part.id != "checks"))
    words = len(markdown.render(quiet).split())
    assert len(demo.trials) == 15
    assert 700 < words <= MOST_WORDS


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_page_has_few_bytes(demo: StoredRun, lang: str) -> None:
    assert len(html.render(build(demo, lang)).encode()) <= MOST_BYTES


def test_the_environment_is_a_few_lines(demo: StoredRun) -> None:
    [environment] = (section for section in build(demo).sections if section.id == "environment")
    shown = [block for block in environment.blocks if isinstance(block, Definitions)]
    assert sum(len(block.entries) for block in shown) <= MOST_LINES


def test_the_chinese_report_has_chinese_titles(demo: StoredRun) -> None:
    report = build(demo, "zh")
    assert report.title == demo.run.title_zh != demo.run.title
    assert report.question == demo.run.question_zh


def test_no_section_is_empty(demo: StoredRun) -> None:
    assert all(section.blocks for section in build(demo).sections)

"""The summary of every kind of run: a few sentences, the most important first, each with a link that leads
somewhere.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import fake_runs
from fake_runs import Fate, Shape
from lines import CliRunner
from loadcell.analysis.finding import Evidence, Subject
from loadcell.analysis.ranking import MOST, condensed
from loadcell.cli import main
from loadcell.model.catalogue import LANGUAGES
from loadcell.model.catalogue import texts as catalogue
from loadcell.report.blocks import Report, Sentences, unfolded
from loadcell.report.build import build
from loadcell.report.context import ReportContext
from loadcell.report.render import html, markdown
from loadcell.report.render.html import render as page
from loadcell.report.sections import summary
from loadcell.report.texts import Texts
from loadcell.store.read import StoredRun, read_run
from report.test_groups import run as run_of_groups
from report.test_search import searched

CLIENTS = [1, 2, 4, 8, 16, 32, 64, 128, 256]
STORAGE = {"storage": ["local", "replicated", "distributed"], "protocol": ["simple", "prepared"]}


def written(shape: Shape) -> Callable[[Path], StoredRun]:
    return lambda home: read_run(fake_runs.write_run(home / "run", shape))


def one_at_a_time(home: Path) -> StoredRun:
    """The baseline of a factorial and the treatments that differ from it in one factor."""
    path = fake_runs.write_run(home / "run", Shape(factors=STORAGE, repeats=3, monitors=False))
    document = json.loads((path / "run.json").read_text())
    first = document["treatments"][0]["levels"]

    def near(treatment: dict[str, Any]) -> bool:
        return sum(treatment["levels"][key] != first[key] for key in first) <= 1

    near_treatments = [treatment for treatment in document["treatments"] if near(treatment)]
    names = {treatment["id"] for treatment in near_treatments}
    for trial in document["trials"]:
        if trial["treatment"] not in names:
            shutil.rmtree(path / "trials" / trial["name"])
    document |= {
        "design": "one-at-a-time",
        "treatments": near_treatments,
        "trials": [trial for trial in document["trials"] if trial["treatment"] in names],
    }
    (path / "run.json").write_text(json.dumps(document))
    return read_run(path)


def undisturbed_search(home: Path) -> StoredRun:
    """Without what its checks noticed of the machine that runs this test."""
    stored = searched(home)
    for file in stored.path.glob("trials/*/trial.json"):
        file.write_text(json.dumps({**json.loads(file.read_text()), "checks": []}))
    return read_run(stored.path)


#: Every kind of run, and the texts of its summary in their order.
KINDS: dict[str, tuple[Callable[[Path], StoredRun], list[str]]] = {
    "one treatment": (
        written(Shape(factors={}, repeats=6)),
        [
            "found.throughput",
            "found.intervals.unseen",
            "found.spread.one",
            "found.steady.too-short",
            "found.well.expected",
            "done.one",
        ],
    ),
    "one repeat": (
        written(Shape(repeats=1, intervals=False, monitors=False)),
        [
            "found.effects.one.once",
            "found.highest",
            "found.saturation.few",
            "found.descriptive",
            "found.steady.too-short",
            "found.well.expected",
            "done.factors.once",
        ],
    ),
    "two levels": (
        written(fake_runs.two_treatments()),
        [
            "found.effects.one",
            "found.highest",
            "found.saturation.few",
            "found.descriptive",
            "found.spread",
            "found.well.expected",
            "done.factors",
        ],
    ),
    "sweep": (
        written(Shape(factors={"load.clients": CLIENTS}, repeats=6, monitors=False, intervals=False)),
        [
            "found.saturation.identified.apart.waiting",
            "found.recommend.trade",
            "found.run-fell",
            "found.intervals.dependent",
            "found.spread",
            "found.well.expected",
            "done.factors",
        ],
    ),
    "sweep on three storages": (
        written(replace(fake_runs.two_factors(), monitors=False, intervals=False)),
        [
            "found.saturation.edge",
            "found.effects.main",
            "found.highest",
            "found.run-fell",
            "found.descriptive",
            "found.saturation.why.beyond",
            "found.well.expected",
        ],
    ),
    "factorial": (
        written(Shape(factors=STORAGE, repeats=3, monitors=False)),
        [
            "found.effects.main",
            "found.effects.main",
            "found.highest",
            "found.descriptive",
            "found.spread",
            "found.steady.too-short",
            "found.well.expected",
        ],
    ),
    "one at a time": (
        one_at_a_time,
        [
            "found.effects.alone",
            "found.effects.alone",
            "found.highest",
            "found.tied",
            "found.descriptive",
            "found.effects.invisible",
            "found.well.expected",
        ],
    ),
    "search": (
        undisturbed_search,
        [
            "found.search.maximum",
            "found.search.plateau",
            "found.descriptive.varied",
            "found.spread",
            "found.steady.too-short",
            "found.well",
            "found.search.recovered",
        ],
    ),
    "groups": (
        run_of_groups,
        [
            "found.check.advice",
            "found.effects.one",
            "found.highest",
            "found.group",
            "found.group",
            "found.saturation.few",
            "found.well.expected",
        ],
    ),
    "open loop": (
        written(fake_runs.rates()),
        [
            "found.kept-up.highest",
            "found.overloaded",
            "found.highest",
            "found.trials.some",
            "found.descriptive",
            "found.spread",
            "found.expect.met",
        ],
    ),
    "an hour with checkpoints": (
        written(fake_runs.an_hour()),
        [
            "found.effects.one.once",
            "found.highest",
            "found.descriptive",
            "found.dips",
            "found.dips.with",
            "found.well.expected",
            "found.steady.all",
        ],
    ),
    "in trouble": (
        written(fake_runs.troubled()),
        [
            "found.check.advice",
            "found.unfinished",
            "found.saturation.edge",
            "found.highest",
            "found.expect.missed",
            "found.trials.some",
            "found.checks",
        ],
    ),
    "mostly failed": (
        written(Shape(repeats=3, fates={n: Fate("failed", "the server went away") for n in (1, 2, 4, 5)})),
        [
            "found.trials.some",
            "found.throughput",
            "found.saturation.few",
            "found.descriptive",
            "found.spread.one",
            "found.expect.met",
            "found.errors.none",
        ],
    ),
    "nothing measured": (
        written(Shape(fates={n: Fate("failed", "no server there") for n in range(1, 5)})),
        ["found.nothing-measured", "found.trials.some", "done.factors"],
    ),
}


@pytest.fixture(scope="module")
def run_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], StoredRun]:
    made: dict[str, StoredRun] = {}

    def find(kind: str) -> StoredRun:
        if kind not in made:
            made[kind] = KINDS[kind][0](tmp_path_factory.mktemp("summary"))
        return made[kind]

    return find


Runs = Callable[[str], StoredRun]
kinds = pytest.mark.parametrize("kind", KINDS)


@kinds
def test_what_must_be_known_stands_first(run_of: Runs, kind: str) -> None:
    findings = summary.findings(ReportContext.of(run_of(kind), "en"))
    assert [finding.message.code for finding in findings] == KINDS[kind][1]


def sentences(report: Report) -> Sentences:
    (findings_block,) = (block for block in report.sections[0].blocks if isinstance(block, Sentences))
    return findings_block


@kinds
@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_sentence_leads_to_its_evidence_in_every_format(run_of: Runs, kind: str, lang: str) -> None:
    report = build(run_of(kind), lang)
    texts = sentences(report)
    assert 1 <= len(texts.findings) <= MOST
    assert len(texts.links) == len(texts.findings)
    in_page = set(re.findall(r'\bid="([^"]+)"', page(report)))
    in_markdown = markdown.render(report)
    anchors = set(re.findall(r'<a id="([^"]+)"></a>', in_markdown))
    links = [link for link in texts.links if link is not None]
    for link in links:
        assert link.anchor in in_page
        assert link.anchor in anchors
        assert f"](#{link.anchor})" in in_markdown
    titles = [section.title for section in report.sections]
    assert {link.title for link in links} <= set(titles[1:])
    # The terminal names the same section, without having made the report.
    there = {section.id for section in report.sections}
    for finding, link in zip(texts.findings, texts.links, strict=True):
        home = summary.section_of(finding)
        if link is None:
            assert home == summary.SUMMARY or home not in there
        else:
            assert link.title == Texts(lang)(f"section.{home}")


@kinds
def test_each_finding_stands_once(run_of: Runs, kind: str) -> None:
    """In the summary, in the section of its subject, or folded."""
    stored = run_of(kind)
    context, report = ReportContext.of(stored, "en"), build(stored)
    blocks = unfolded(block for section in report.sections for block in section.blocks)
    shown = [finding for block in blocks if isinstance(block, Sentences) for finding in block.findings]
    texts = [context.texts.message(finding.message) for finding in shown]
    assert len(texts) == len(set(texts))
    of_lines = {finding.message.code for finding in shown if finding.subject is Subject.SATURATION}
    for finding in condensed(summary.everything(context)):
        text = context.texts.message(finding.message)
        assert text in texts or finding.message.code in of_lines, text
    page = " ".join(re.sub(r"<[^>]*>", "", html.render(report)).split())
    for text in texts:
        assert page.count(str(html.escape(text))) == 1, text


@kinds
def test_a_program_gets_the_same(run_of: Runs, kind: str) -> None:
    stored = run_of(kind)
    done = CliRunner().invoke(main, ["report", str(stored.path), "--json"], standalone_mode=False)
    parsed = json.loads(done.output)["summary"]
    assert [finding["key"] for finding in parsed] == KINDS[kind][1]
    sections = {section.id for section in build(stored).sections}
    # A section of a subject with nothing but the sentence of the summary is not there.
    assert {finding["section"] for finding in parsed} <= sections | {
        "saturation",
        "effects",
        "recommendation",
    }


def test_places_are_those_of_texts() -> None:
    assert {*Evidence} - {Evidence.FINDINGS} == summary.PLACES.keys()
    for section, *_ in summary.PLACES.values():
        assert f"section.{section}" in catalogue()


@pytest.mark.parametrize(("rates", "tiles"), [(["500/s", "1000/s", "2000/s"], 1), (["500/s", "50000/s"], 0)])
def test_a_rate_that_was_not_kept_up_with_has_no_response_time_to_put_beside_its_throughput(
    tmp_path: Path, rates: list[str], tiles: int
) -> None:
    context = ReportContext.of(
        written(Shape(factors={"load.rate": rates}, repeats=1, monitors=False))(tmp_path), "en"
    )
    assert context.best is not None
    assert context.best.label == f"rate = {rates[-1]}"
    assert sum("response time" in tile.name for tile in summary.tiles(context)) == tiles

"""Markdown: the same report, with pictures beside it."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from loadcell.report import write
from loadcell.report.build import build
from loadcell.report.pictures import VEGA_LITE, Painter, paint
from loadcell.report.render import markdown
from loadcell.store.read import StoredRun

Stored = Callable[[str], StoredRun]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("plain, 1,230.5 (x)", "plain, 1,230.5 (x)"),
        ("173.8", "173.8"),
        ("1. item", r"1\. item"),
        ("- item", r"\- item"),
        ("# head", r"\# head"),
        ("---", r"\---"),
        ("a\n# b", "a # b"),
        ("a|b*c_d`e", r"a\|b\*c\_d\`e"),
        ("<b>x</b>&amp;", r"\<b\>x\</b\>\&amp;"),
    ],
)
def test_text_stays_text(text: str, written: str) -> None:
    assert markdown.escaped(text) == written


@pytest.mark.parametrize(
    "reference",
    [
        *("@torvalds", "@org/team", "a@example.org", "#123", "owner/name#123", "GH-12", "gh-12"),
        *("https://evil.example/x", "www.evil.example", "_www.evil.example", "HTTP://x"),
        *("!12", "~bug", "$12", "&12", "^12", "%v1.2", '%"next release"'),
    ],
)
def test_name_is_no_mention_reference_or_link(reference: str) -> None:
    """GitHub and GitLab look for them in the text that a reader sees, so that an escape does not help."""
    sentence = f"storage = {reference} is faster"
    for text in (markdown.escaped(sentence), markdown.coded(sentence)):
        seen = unescape(MarkdownIt("commonmark").render(text))
        assert reference not in seen
        assert reference in seen.replace("\u2060", "")


@pytest.mark.parametrize(
    "text", ["+4.9% (95% interval +2.1% … +7.0%)", "5%以内", "a & b, x: y/z", "#", "R&D"]
)
def test_plain_sentence_has_no_joiner(text: str) -> None:
    assert "\u2060" not in markdown.escaped(text)
    assert markdown.coded("`@name` and `http://x`") == "`@name` and `http://x`", "code is no reference"


def test_pictures_are_whole_svg_files_that_the_text_refers_to(
    runs: Callable[[str], Path], tmp_path: Path
) -> None:
    (written,) = write(runs("trouble"), "zh", ("md",), tmp_path)
    text = written.read_text(encoding="utf-8")
    pictures = sorted(path.relative_to(tmp_path) for path in (tmp_path / markdown.PICTURES).iterdir())
    assert len(pictures) == 5
    for picture in pictures:
        assert f"]({picture})" in text
        content = (tmp_path / picture).read_text(encoding="utf-8")
        root = ET.fromstring(content)
        assert root.tag.endswith("svg")
        assert "var(--" not in content, "colours are values outside the page"
        assert len(list(root.iter("{http://www.w3.org/2000/svg}path"))) > 5


def test_a_picture_is_shown_in_letters_as_wide_as_those_it_was_laid_out_with() -> None:
    svg = f'<text font-family="{markdown.MEASURED}">font-family="{markdown.MEASURED}"</text>'
    painted = paint(
        {"mark": "text", "data": {"values": [{}]}, "title": svg, "config": {"font": markdown.MEASURED}},
        VEGA_LITE,
    )
    root = ET.fromstring(markdown.lettered(painted))
    texts = list(root.iter("{http://www.w3.org/2000/svg}text"))
    assert svg in [text.text for text in texts]
    assert {text.get("font-family") for text in texts} == {markdown.SHOWN}


def test_pictures_are_painted_even_when_the_painter_dies(stored: Stored) -> None:
    drawings = [markdown.drawing(chart) for chart in build(stored("two")).charts()]
    with Painter(VEGA_LITE) as painter:
        assert painter._process is not None
        painter._process.kill()
        painter.hand_over(drawings)
        pictures = painter.pictures()
    assert len(pictures) == len(drawings)
    assert all(picture.startswith("<svg") for picture in pictures)


def test_pictures_are_painted_even_when_no_process_can_be_started(
    stored: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawings = [markdown.drawing(chart) for chart in build(stored("two")).charts()][:1]
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    with Painter(VEGA_LITE) as painter:
        painter.hand_over(drawings)
        assert [picture[:4] for picture in painter.pictures()] == ["<svg"]


def test_a_picture_that_cannot_be_painted_leaves_no_process_behind() -> None:
    with pytest.raises(ValueError, match="conversion failed"), Painter(VEGA_LITE) as painter:  # noqa: PT012
        painter.hand_over([{"mark": 7}])
        painter.pictures()
    assert painter._process is not None
    assert painter._process.returncode is not None


HOSTILE_NAMES = [
    *("\x1b[31m", "\0", "\b\f", "\u2028", "\ufffe", "\ud800", "\x9b"),
    *('a"\\u001b\\\\', "\r\n\t", "\u4e2d\U0001f600"),
]


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_no_name_ends_the_picture_library(name: str) -> None:
    """A control character in a level or a title aborted its process."""
    spec = {
        "title": name,
        "mark": "point",
        "config": {"aria": False},
        "data": {"values": [{"x": 1, "y": f"level {name}"}]},
        "encoding": {"x": {"field": "x"}, "y": {"field": "y", "type": "nominal", "title": name}},
    }
    with Painter(VEGA_LITE) as painter:
        painter.hand_over([spec])
        [picture] = painter.pictures()
    assert len(painter._painted) == 1, "not painted here instead"
    root = ET.fromstring(picture)
    texts = "".join(text.text or "" for text in root.iter("{http://www.w3.org/2000/svg}text"))
    if name == "\x1b[31m":
        assert "level \u241b[31m" in texts
    if name.isprintable():
        assert f"level {name}" in texts


def test_tables_are_tables(stored: Stored) -> None:
    """Each row has as many cells as its heading, whatever stands in them."""
    lines = markdown.render(build(stored("hostile"))).splitlines()
    widths: list[set[int]] = []
    for before, line in zip(["", *lines], lines, strict=False):
        if line.startswith("| "):
            if not before.startswith("| "):
                widths.append(set())
            widths[-1].add(line.replace(r"\|", "").count("|"))
    assert len(widths) > 4
    assert all(len(widths_of_table) == 1 for widths_of_table in widths)


def test_nothing_from_outside_is_markup(stored: Stored) -> None:
    text = markdown.render(build(stored("hostile")))
    outside_code = "".join(text.split("```")[::2])
    assert "<b>" not in outside_code.replace(r"\<b", "")
    assert r"\</script\>\<b\>bold\</b\>" in text


def test_a_plan_with_fences_in_it_stays_inside_its_fence(stored: Stored, tmp_path: Path) -> None:
    from dataclasses import replace

    from loadcell.report.blocks import Code
    from loadcell.report.texts import Texts

    block = Code("plan", "a: |\n  ```\n  text\n", "yaml")
    assert markdown._block(block, markdown._Page(Texts("en"))).splitlines()[2] == "````yaml"
    assert replace(block, text="x").text == "x"

"""Code in sentences, marked on pages, in Markdown and on terminals; hostile text cannot exploit it."""

from __future__ import annotations

import io
from collections.abc import Callable
from html.parser import HTMLParser

import pytest
from rich.console import Console

from loadcell.analysis.finding import Finding, Subject
from loadcell.model.catalogue import texts as catalogue
from loadcell.model.message import Message
from loadcell.report.blocks import Cell, Column, Definitions, Paragraph, Report, Section, Sentences, Table
from loadcell.report.render import markdown, terminal
from loadcell.report.render.html import coded, render
from loadcell.report.texts import Texts, pieces

#: Words with hyphens are not broken.
COMMAND = (
    '<code>cpupower <span class="word">frequency-set</span> <span class="word">-g</span> performance</code>'
)
EVIL = "`<script>alert(1)</script>` & `a`<b>``"


def finding(name: str = "powersave") -> Finding:
    """A message of the catalogue: its name is from outside, its last words are a command."""
    return Finding(Subject.HOST, Message("host-found.governor", {"name": name}).rated("caution"))


def report(*blocks: object, language: str = "en") -> Report:
    return Report(language, "`title`", "", "run", [], [Section("s", "s", list(blocks))], "0")  # type: ignore[arg-type]


class Balance(HTMLParser):
    """Which elements stand in which; raises where one is closed that is not open."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize(
    ("text", "page", "plain"),
    [
        ("Install `chrony`.", "Install <code>chrony</code>.", "Install chrony."),
        ("`a b` and `c`", "<code>a b</code> and <code>c</code>", "a b and c"),
        ("none", "none", "none"),
        ("a lone ` stays", "a lone ` stays", "a lone ` stays"),
        ("`` and ``", "`` and ``", "`` and ``"),
        ("` no `", "` no `", "` no `"),
        ("`over\nlines`", "`over\nlines`", "`over\nlines`"),
        ("安装 `chrony`。", "安装 <code>chrony</code>。", "安装 chrony。"),
        ("`<b>`", "<code>&lt;b&gt;</code>", "<b>"),
    ],
)
def test_code_is_what_stands_between_single_backticks(text: str, page: str, plain: str) -> None:
    assert str(coded(text)) == page
    assert terminal.coded(text).plain == plain


@pytest.mark.parametrize(
    "parts",
    [
        [("see `", False), ("a", True), ("`", False)],
        [("see ", False), ("`a`", True), (" `b`", False)],
        [("see ", False), ("a`", True), (" `b`", False)],
        [("see ", False), (EVIL, True), (" in `", False), (EVIL, True), ("`", False)],
    ],
)
def test_backticks_of_parameters_pair_with_none_of_the_sentences(parts: list[tuple[str, bool]]) -> None:
    written = str(coded(parts))
    assert Balance(written).open == []
    assert set(Balance(written).seen) <= {"b", "code"}
    last = parts[-2][0] if parts[-1][0] == "`" else "b"
    assert any(piece.code and last.replace("`", "")[:1] in piece.text for piece in pieces(parts))
    assert terminal.coded(parts).plain.replace("`", "") == "".join(text for text, _ in parts).replace("`", "")


def test_a_number_within_code_is_both() -> None:
    assert str(coded([("`x=", False), ("5", True), ("`", False)])) == "<code>x=<b>5</b></code>"


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_page_sets_code_off_wherever_sentences_stand(lang: str) -> None:
    table = Table(
        "t",
        "t",
        [Column("c", sentences=True), Column("d"), Column("e", code=True)],
        [[Cell("`one`"), Cell("`two`"), Cell("`three`")]],
        "`note`",
    )
    page = render(
        report(
            Paragraph("`text`"),
            Sentences([finding()]),
            table,
            Definitions([("name", "`value`")]),
            language=lang,
        )
    )
    for word in ("text", "one", "note", "value"):
        assert f"<code>{word}</code>" in page
    assert COMMAND in page
    for word in ("two", "three", "title"):
        assert f"<code>{word}</code>" not in page
        assert f"`{word}`" in page, "what is no sentence stays as it is"


def test_hostile_text_in_a_sentence_stays_text() -> None:
    page = render(report(Paragraph(EVIL), Sentences([finding(EVIL)]), Definitions([(EVIL, EVIL)])))
    assert "<script>alert" not in page
    assert "<code>&lt;script&gt;alert(1)&lt;/script&gt;</code>" in page
    assert COMMAND in page


def test_markdown_keeps_code_and_nothing_else() -> None:
    texts = Texts("en")
    assert markdown.coded("a_b `c_d` <e>") == r"a\_b `c_d` \<e\>"
    assert markdown.coded("1. `x`") == r"1\. `x`"
    assert markdown.coded("`a|b` ` `` c") == r"\`a\|b\` \` \`\` c"
    assert "`cpupower frequency-set -g performance`" in markdown.coded(texts.parts(finding().message))
    written = markdown.render(report(Paragraph(EVIL), Sentences([finding(EVIL)])))
    outside = "".join(written.split("`")[::2])
    assert "<script" not in outside.replace(r"\<", "")


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_terminal_shows_code_without_backticks(lang: str) -> None:
    out = io.StringIO()
    console = Console(file=out, width=200, highlight=False, color_system=None)
    terminal.render(report(Sentences([finding()]), language=lang), console)
    assert "cpupower frequency-set -g performance" in out.getvalue()
    assert "`" not in out.getvalue().replace("`title`", "")


def test_every_text_of_the_catalogue_has_its_backticks_in_pairs() -> None:
    odd: Callable[[str], bool] = lambda text: any("`" in piece.text for piece in pieces(text))  # noqa: E731
    texts = {
        (key, language): text
        for key, languages in catalogue().items()
        for language, text in languages.items()
    }
    assert [key for key, text in texts.items() if odd(text)] == []

"""Links between Markdown pages: files and anchors exist, and the table of contents has each page of docs."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(
    {
        *ROOT.glob("*.md"),
        *(page for page in DOCS.rglob("*.md") if "_build" not in page.parts),
        *ROOT.glob("*/README.md"),
    }
)
#: What `make docs` writes into the site.
BUILT = re.compile(r"samples/[\w-]+\.(en|zh)\.html")

_CODE = re.compile(r"^(`{3,})(?!\{toctree).*?^\1$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(<?([^)\s>]+)>?\)|<(?:a href|img src)=\"([^\"]+)\"|^\[[^\]]+\]: (\S+)", re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """Anchors of a page's headings, as GitHub and MyST make them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    count: Counter[str] = Counter()
    names = set()
    for heading in re.findall(r"^#+ +(.+?) *$", text, re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        names.add(f"{slug}-{count[slug]}" if count[slug] else slug)
        count[slug] += 1
    return names | set(re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE))


def links(page: Path) -> list[str]:
    """Targets of the links of a page, those of other sites excluded."""
    text = _CODE.sub("", page.read_text(encoding="utf-8"))
    targets = ["".join(match) for match in _LINK.findall(text)]
    return [target for target in targets if not re.match(r"[a-z]+:", target)]


def dead(page: Path) -> list[str]:
    """Links of a page that lead nowhere."""
    missing = []
    for target in links(page):
        name, _, anchor = target.partition("#")
        other = (page.parent / name).resolve() if name else page
        exists = other.exists() or BUILT.fullmatch(name)
        if not exists or (anchor and other.suffix == ".md" and anchor not in anchors(other)):
            missing.append(target)
    return missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert dead(page) == []


def test_pages_of_docs_link_only_to_pages_of_docs() -> None:
    outside = {
        (page.name, target)
        for page in PAGES
        if DOCS in page.parents
        for target in links(page)
        if target.partition("#")[0] and DOCS not in (page.parent / target).resolve().parents
    }
    assert outside == set()


def test_each_page_is_in_the_table_of_contents() -> None:
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    listed = {
        line
        for block in re.findall(r"```\{toctree\}\n(.*?)```", index, re.DOTALL)
        for line in block.splitlines()
        if line and not line.startswith(":")
    }
    sources = [*PAGES, *(DOCS / "examples").glob("*.ipynb")]
    pages = {str(page.relative_to(DOCS).with_suffix("")) for page in sources if DOCS in page.parents}
    assert pages - listed == {"index"}
    assert listed - pages == set()


def test_translations_link_to_each_other() -> None:
    for page in PAGES:
        if not page.name.endswith(".zh-CN.md"):
            continue
        original = page.with_name(page.name.replace(".zh-CN.md", ".md"))
        assert original.name in links(page), page
        assert page.name in links(original), original


def test_dead_links_are_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# One title\n\n[a](#one-title) [b](#two) [c](gone.md) [d](page.md#one-title) [e](https://example.org)\n"
        '`[f](code.md)` <a href="samples/x.en.html">\n\n```text\n[g](block.md)\n```\n'
    )
    assert dead(page) == ["#two", "gone.md"]

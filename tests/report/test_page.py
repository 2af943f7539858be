"""The HTML page: everything in it, nothing from outside, and text from outside is only text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from loadcell.report.build import build
from loadcell.report.render import html
from loadcell.store.read import StoredRun

Stored = Callable[[str], StoredRun]
ORDER = [
    "summary", "results", "curves", "saturation", "recommendation", "percentiles", "series", "environment",
    "method", "trouble", "checks", "reproduce",
]  # fmt: skip


class Page(HTMLParser):
    """A page taken apart: its tags with attributes, its text outside scripts, and its scripts."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.strings: list[str] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self._inside: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in {"script", "style"}:
            self._inside = tag
            if tag == "script":
                self.scripts.append((dict(attrs), ""))

    def handle_endtag(self, tag: str) -> None:
        if tag == self._inside:
            self._inside = None

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            attributes, text = self.scripts[-1]
            self.scripts[-1] = attributes, text + data
        elif self._inside is None:
            self.strings.append(data)

    @property
    def text(self) -> str:
        """The visible text, on one line."""
        return " ".join(" ".join(self.strings).split())

    def ids(self, tag: str) -> list[str]:
        """The ids of all elements of a kind."""
        return [
            attributes["id"] or "" for name, attributes in self.tags if name == tag and "id" in attributes
        ]

    def data(self) -> Any:
        """The embedded data."""
        return json.loads(next(text for attributes, text in self.scripts if attributes.get("id") == "data"))


@pytest.fixture(scope="session")
def page(stored: Stored) -> Callable[..., Page]:
    """The page of a run."""
    return lambda name, lang="en": Page(html.render(build(stored(name), lang)))


def test_sections_stand_in_the_order_readers_look_for_them(page: Callable[..., Page]) -> None:
    html_page = page("trouble")
    assert html_page.ids("section") == ORDER
    links = [
        attributes["href"] for tag, attributes in html_page.tags if tag == "a" and "class" not in attributes
    ]
    assert links == [f"#{name}" for name in ORDER]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_what_a_reader_needs_is_there(page: Callable[..., Page], lang: str) -> None:
    visible = page("trouble", lang).text
    for text in (
        "A run in trouble", "How many concurrent clients", "clients = 32", "3,274", "errors == 0", "40P01",
        "the server closed the connection during prepare", "Raise limits.prepare.", "interrupted by Ctrl-C",
        "the client was the limit", "AMD EPYC 7763", "Debian GNU/Linux 12", "PostgreSQL 16.4",
        "shared_buffers",
        "loadcell run", "--resume", "repeats: 3", "bench-01",
    ):  # fmt: skip
        assert text in visible, text


def test_chinese_pages_are_chinese(page: Callable[..., Page]) -> None:
    """None of the catalogue's English sentences remains, and the page declares its language."""
    from loadcell.model.catalogue import texts as catalogue

    html_page = page("trouble", "zh")
    assert ("html", {"lang": "zh-CN"}) in html_page.tags
    english = [
        texts["en"] for texts in catalogue().values() if "{" not in texts["en"] and texts["en"].count(" ") > 2
    ]
    assert len(english) > 50
    assert [text for text in english if text in html_page.text] == []


def test_every_repeat_is_in_the_table_and_every_failed_trial_has_its_reason(
    page: Callable[..., Page], stored: Stored
) -> None:
    text = page("trouble").text
    for record in stored("trouble").trials:
        if record.status != "ok":
            assert record.name in text
            assert record.reason in text
            assert record.advice in text
    assert len(stored("trouble").missing) == 2
    assert all(name in text for name in stored("trouble").missing)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_an_open_loop_has_a_section(page: Callable[..., Page], lang: str) -> None:
    html_page = page("rates", lang)
    sections = html_page.ids("section")
    assert sections.index("open-loop") == sections.index("results") + 1
    assert "open-loop" not in page("two").ids("section")
    due = {"en": "whether or not a connection was free", "zh": "不论当时是否有空闲连接"}
    assert due[lang] in html_page.text
    for figure in ("16,000", "0.400", "21.0", {"en": "2 of 2", "zh": "2/2"}[lang]):
        assert figure in html_page.text


def test_what_was_due_and_what_waited_is_drawn_over_time_and_for_every_rate(stored: Stored) -> None:
    charts = {chart.id: chart for chart in build(stored("rates")).charts()}
    load = next(iter(charts["chart-series"].series.values()))["load"]
    assert {"due_per_s", "backlog", "sent_p99_ms"} <= set(load)
    rows = charts["chart-waiting"].data["figures"]
    medians = {(row["x"], row["group"]): row["value"] for row in rows if row["role"] == "median"}
    assert {x for x, _ in medians} == {500, 1000, 2000}
    assert all(
        medians[x, "service time (from send)"] < medians[x, "response time (from schedule)"]
        for x in (500, 1000, 2000)
    )
    closed = {chart.id: chart for chart in build(stored("two")).charts()}
    assert "chart-waiting" not in closed
    assert "backlog" not in next(iter(closed["chart-series"].series.values()))["load"]


def test_below_six_repeats_there_is_no_interval(page: Callable[..., Page]) -> None:
    assert page("two").text.count("descriptive only") >= 2
    assert "1,174 – 1,228" in page("many factors").text


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_text_from_outside_is_only_text(page: Callable[..., Page], stored: Stored, lang: str) -> None:
    html_page = page("hostile", lang)
    evil = "</script><b>bold</b>{{ 7*7 }}"
    assert html_page.text.count(evil) > 8, (
        "title, question, treatment, message, reason and advice are all shown"
    )
    assert "49" not in re.findall(r"\b49\b", html_page.text)
    assert len(html_page.scripts) == 3, "no script was ended early and none was added"
    assert not any(
        tag == "b" and html_page.tags[n + 1 : n + 2] == [] for n, (tag, _) in enumerate(html_page.tags)
    )
    raw = html.render(build(stored("hostile"), lang))
    assert "<b>bold" not in raw
    assert evil in json.dumps(html_page.data(), ensure_ascii=False), "charts have it, whole"


def test_embedded_json_cannot_end_its_script() -> None:
    text = str(html.embedded({"x": "</script><!-- <b> & \u2028"}))
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == {"x": "</script><!-- <b> & \u2028"}


@pytest.mark.parametrize("name", ["two", "two hundred"])
def test_nothing_is_fetched_from_anywhere(page: Callable[..., Page], name: str) -> None:
    html_page = page(name)
    for tag, attributes in html_page.tags:
        for key in ("src", "href", "action", "data", "poster", "srcset"):
            assert (attributes.get(key) or "#").startswith(("#", "data:")), (tag, attributes)
    policy = next(a["content"] or "" for tag, a in html_page.tags if tag == "meta" and "http-equiv" in a)
    assert policy.startswith("default-src 'none';")
    assert "http" not in policy


def test_the_libraries_are_in_it_once_and_the_policy_names_every_script(page: Callable[..., Page]) -> None:
    import base64
    import gzip
    import hashlib

    html_page = page("two")
    code = [text for attributes, text in html_page.scripts if "type" not in attributes]
    [libraries] = (text for attributes, text in html_page.scripts if attributes.get("id") == "libraries")
    assert "window.vegaEmbed" in gzip.decompress(base64.b64decode(libraries)).decode()
    policy = next(a["content"] or "" for tag, a in html_page.tags if tag == "meta" and "http-equiv" in a)
    for text in code:
        assert base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() in policy


def test_a_report_of_200_trials_is_below_3_mb(stored: Stored) -> None:
    text = html.render(build(stored("two hundred")))
    assert len(text.encode()) < 3_000_000
    assert text.count("<option") >= 199


def test_long_series_are_thinned_and_say_so(stored: Stored) -> None:
    report = build(stored("long"))
    chart = next(chart for chart in report.charts() if chart.id == "chart-series")
    points = [len(sources["load"]["t"]) for sources in chart.series.values()]
    assert all(300 < count <= 500 for count in points)
    assert any("5 neighbouring samples" in caption for caption in chart.captions)


@pytest.mark.parametrize("name", ["nothing measured", "one repeat, no series", "nothing varied"])
def test_a_run_with_little_in_it_still_makes_a_page(page: Callable[..., Page], name: str) -> None:
    html_page = page(name)
    assert set(html_page.ids("section")) <= set(ORDER)
    assert {"summary", "results", "method", "reproduce"} <= set(html_page.ids("section"))
    assert ("trouble" in html_page.ids("section")) == (name == "nothing measured")


def test_a_page_without_charts_does_not_carry_the_libraries(page: Callable[..., Page]) -> None:
    html_page = page("nothing measured")
    assert html_page.data()["charts"] == []
    assert not any(attributes.get("id") == "libraries" for attributes, _ in html_page.scripts)


def test_torn_files_are_named(runs: Callable[[str], Path], tmp_path: Path) -> None:
    import shutil

    from loadcell.store.read import read_run

    torn = tmp_path / "torn"
    shutil.copytree(runs("two"), torn)
    intervals = next(torn.glob("trials/001*/intervals.csv"))
    intervals.write_bytes(intervals.read_bytes()[:-40])
    text = Page(html.render(build(read_run(torn)))).text
    assert f"trials/{intervals.parent.name}/intervals.csv" in text
    assert "is truncated" in text

"""The page in a real browser, without a network: every chart is drawn, in every light, and everything can be
reached.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import pytest

from browser import CHARTS, Browser
from fake_runs import Shape, write_run
from loadcell.report import write


@pytest.fixture(scope="module")
def page(runs: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """The page of a run, written once."""
    home = tmp_path_factory.mktemp("pages")

    def written(name: str, lang: str = "en") -> Path:
        path = home / f"{name.replace(' ', '-')}-{lang}.html"
        if not path.exists():
            write(runs(name), lang, ("html",), path)
        return path

    return written


OVER_TIME = {"chart-series", "chart-overlay"}
ALL = {"chart-throughput", "chart-latency", "chart-percentiles"} | OVER_TIME
UNFOLD = "document.querySelectorAll('details').forEach(details => { details.open = true; })"
ALL_DRAWN = "[...document.querySelectorAll('figure.chart .canvas')].every(canvas => canvas.dataset.drawn)"
LINES, FACTORS = {"chart-saturation", "chart-load-curve"}, {"chart-effects", "chart-interaction"}


@pytest.mark.parametrize(
    ("name", "charts"),
    [
        ("two", ALL),
        ("sweep", ALL | LINES),
        ("two hundred", ALL | LINES | FACTORS),
        ("trouble", ALL | LINES),
        ("rates", ALL | {"chart-waiting", "chart-rate-curve"}),
        ("watched", ALL | {"chart-waits"} | LINES),
        ("two factors", ALL | LINES | FACTORS),
        ("many factors", ALL | FACTORS | {"chart-repeats"}),
        ("hostile", ALL),
        ("nothing varied", ALL),
        ("pictures side by side", ALL | LINES | {"chart-effects"}),
        ("numbered", ALL | FACTORS),
        ("one repeat, no series", ALL - OVER_TIME),
        ("nothing measured", set()),
    ],
)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_chart_is_drawn_and_nothing_is_asked_for(
    browser: Browser, page: Callable[..., Path], name: str, charts: set[str], lang: str
) -> None:
    path = page(name, lang)
    browser.open(path)
    browser.ask(UNFOLD)
    browser.wait_for(ALL_DRAWN)
    drawn = browser.ask(CHARTS)
    assert {chart["id"] for chart in drawn} == charts
    for chart in drawn:
        assert chart["drawn"], chart
        assert chart["failed"] == 0, chart
        assert chart["marks"] >= 2, chart
        assert not {"undefined", "null", "NaN", "Infinity"} & set(chart["words"].split()), chart
        assert chart["wide"] <= chart["room"] + 1, chart
    assert {url for url in browser.requests if not url.startswith(("data:", "blob:"))} == {path.as_uri()}
    assert browser.complaints == []


@pytest.mark.parametrize("width", [420, 800, 1600])
def test_no_width_makes_the_page_scroll_sideways(
    browser: Browser, page: Callable[..., Path], width: int
) -> None:
    browser.open(page("two factors"), width=width)
    assert browser.ask("document.documentElement.scrollWidth") <= width
    for chart in browser.ask(CHARTS):
        assert chart["drawn"], chart
        assert chart["wide"] <= chart["room"] + 1, chart


def test_charts_follow_the_window(browser: Browser, page: Callable[..., Path]) -> None:
    browser.open(page("two"), width=1280)
    before = browser.ask(CHARTS)[0]["wide"]
    browser.resize(600)
    browser.wait_for(
        f"document.querySelector('#chart-throughput svg').getBoundingClientRect().width < {before - 200}"
    )


def test_labels_of_an_axis_do_not_overlap(browser: Browser, page: Callable[..., Path]) -> None:
    overlaps = """[...document.querySelectorAll('svg .role-axis-label')].flatMap(group => {
      const boxes = [...group.querySelectorAll('text')].filter(text =>
        getComputedStyle(text).opacity !== '0' && text.getAttribute('opacity') !== '0')
        .map(text => [text.textContent, text.getBoundingClientRect()]);
      return boxes.flatMap(([one, a], n) => boxes.slice(n + 1).filter(([, b]) =>
        a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3
      ).map(([other]) => one + ' / ' + other));
    })"""
    for name in ("sweep", "two hundred", "many factors", "pictures side by side"):
        for width in (1280, 420):
            browser.open(page(name), width=width)
            assert browser.ask(overlaps) == [], (name, width)


COLOURS = """({
  page: getComputedStyle(document.body).backgroundColor,
  ink: getComputedStyle(document.body).color,
  line: getComputedStyle(document.querySelector('#chart-throughput .mark-line path')).stroke,
  label: getComputedStyle(document.querySelector('#chart-throughput .role-axis-label text')).fill,
})"""


def test_light_and_dark_follow_the_reader_and_the_switch(browser: Browser, page: Callable[..., Path]) -> None:
    browser.open(page("two"))
    light = browser.ask(COLOURS)
    browser.open(page("two"), dark=True)
    dark = browser.ask(COLOURS)
    assert light["page"] == "rgb(255, 255, 255)"
    assert all(light[key] != dark[key] for key in light), "charts change with the page"
    browser.ask("document.querySelector('.themes [value=light]').click()")
    assert browser.ask(COLOURS) == light
    browser.ask("document.querySelector('.themes [value=auto]').click()")
    assert browser.ask(COLOURS) == dark


def test_every_colour_can_be_told_from_its_background(browser: Browser, page: Callable[..., Path]) -> None:
    """Contrast as WCAG 2.1 defines it: 4.5:1 for text, 3:1 for what is drawn."""
    from loadcell.report.palette import DARK, LIGHT

    def luminance(colour: str) -> float:
        parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for colours in (LIGHT, DARK):
        ground = luminance(colours["page"])
        for name, least in [
            *((text, 4.5) for text in ("ink", "soft", "accent", "good", "caution", "problem", "info")),
            *((f"c{n}", 3.0) for n in range(1, 9)),
        ]:
            high, low = sorted((luminance(colours[name]), ground), reverse=True)
            assert (high + 0.05) / (low + 0.05) >= least, (name, colours[name])


def test_print_is_light_whole_and_without_controls(browser: Browser, page: Callable[..., Path]) -> None:
    browser.open(page("two hundred"), dark=True)
    browser.media("print")
    assert browser.ask("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    controls = "[...document.querySelectorAll('.contents, .tools, details.chooser, .filter')]"
    assert browser.ask(f"{controls}.every(e => !e.offsetHeight)")
    table = "document.querySelector('#table-results').parentElement"
    assert browser.ask(f"{table}.scrollHeight <= {table}.clientHeight + 1"), "no row is hidden on paper"
    heads = "[...document.querySelectorAll('#table-results th button')]"
    displayed = f"{heads}.every(e => getComputedStyle(e).display === 'contents')"
    assert browser.ask(f"{heads}.length > 0 && {displayed}"), (
        "a button is painted on a table's first page alone"
    )
    choosers = "document.querySelectorAll('p.chooser select[data-chart]')"
    assert browser.ask(f"{choosers}.length") == 1
    assert browser.ask("document.querySelector('p.chooser').offsetHeight > 0"), "the trial's name is on paper"
    assert 5 <= browser.pdf_pages() <= 30
    browser.media("")


def test_another_trial_can_be_chosen(browser: Browser, page: Callable[..., Path]) -> None:
    browser.open(page("two"))
    paths = (
        "[...document.querySelectorAll('#chart-series .mark-line path')].map(p => p.getAttribute('d')).join()"
    )
    before = browser.ask(paths)
    browser.ask("""(() => { const select = document.querySelector('select[data-chart]');
      select.selectedIndex = (select.selectedIndex + 1) % select.options.length;
      select.dispatchEvent(new Event('change', {bubbles: true})); })()""")
    browser.wait_for(f"{paths} !== {before!r}")
    assert browser.ask("document.querySelectorAll('#chart-series .failed').length") == 0


def test_treatments_can_be_chosen_but_no_more_than_are_distinguishable(
    browser: Browser, page: Callable[..., Path]
) -> None:
    browser.open(page("sweep"))
    lines = "document.querySelectorAll('#chart-percentiles .mark-line path').length"
    before = browser.ask(lines)
    assert 3 <= before <= 8
    browser.ask("""document.querySelectorAll('.choices input:not(:checked)').forEach(
      input => { if (!input.disabled) input.click(); })""")
    browser.wait_for(f"{lines} === 8")
    assert browser.ask(
        "[...document.querySelectorAll('.choices input:not(:checked)')].every(i => i.disabled)"
    )


def test_a_percentile_can_be_chosen_where_lines_are_a_factor(
    browser: Browser, page: Callable[..., Path]
) -> None:
    browser.open(page("two factors"))
    top = "document.querySelector('#chart-latency .mark-line path').getAttribute('d')"
    before = browser.ask(top)
    browser.ask("""(() => { const select = document.querySelector('#chart-latency .vega-bindings select');
      select.value = 'p50'; select.dispatchEvent(new Event('input', {bubbles: true}));
      select.dispatchEvent(new Event('change', {bubbles: true})); })()""")
    browser.wait_for(f"{top} !== {before!r}")


def test_tables_sort_by_number_and_filter(browser: Browser, page: Callable[..., Path]) -> None:
    browser.open(page("two hundred"))
    rows = "[...document.querySelectorAll('#table-results tbody tr')]"
    column = f"{rows}.map(row => Number(row.cells[3].dataset.sort))"
    browser.ask("document.querySelectorAll('#table-results th button')[3].click()")
    assert (
        browser.ask("document.querySelectorAll('#table-results th')[3].getAttribute('aria-sort')")
        == "ascending"
    )
    assert browser.ask(column) == sorted(browser.ask(column))
    browser.ask("document.querySelectorAll('#table-results th button')[3].click()")
    assert browser.ask(column) == sorted(browser.ask(column), reverse=True)
    browser.ask("""(() => { const field = document.querySelector('input[data-table=table-results]');
      field.value = '512MB'; field.dispatchEvent(new Event('input', {bubbles: true})); })()""")
    shown = "[...document.querySelectorAll('#table-results tbody tr')].filter(row => !row.hidden).length"
    assert browser.ask(shown) == 25


def test_everything_can_be_reached_with_the_keyboard(browser: Browser, page: Callable[..., Path]) -> None:
    browser.open(page("sweep"))
    seen = set()
    for _ in range(60):
        browser.press("Tab")
        seen.add(
            browser.ask("""(() => { const e = document.activeElement;
          return e.closest('.themes') ? 'themes' : e.className === 'skip' ? 'skip' : e.dataset.save ? 'save'
            : e.closest('th') ? 'sort' : e.closest('.contents a') ? 'contents'
            : e.tagName.toLowerCase(); })()""")
        )
    assert {"skip", "contents", "themes", "sort", "save", "select", "summary", "div"} <= seen


def test_the_field_of_a_long_table_can_be_reached_with_the_keyboard(
    browser: Browser, page: Callable[..., Path]
) -> None:
    browser.open(page("two hundred"))
    for _ in range(60):
        browser.press("Tab")
        if browser.ask("document.activeElement.dataset.table") == "table-results":
            return
    raise AssertionError("no step of the keyboard came to it")


def test_every_chart_has_a_name_for_who_cannot_see_it(browser: Browser, page: Callable[..., Path]) -> None:
    browser.open(page("two"))
    assert browser.ask("""[...document.querySelectorAll('.canvas')].every(canvas =>
      document.getElementById(canvas.getAttribute('aria-labelledby')).textContent.length > 5)""")


def saved(browser: Browser, button: str) -> str:
    """The text of the file that a click on a button saves."""
    browser.ask("""(() => { window.saved = null;
      URL.createObjectURL = blob => { blob.text().then(t => window.saved = t);
      return 'data:,'; }; HTMLAnchorElement.prototype.click = () => {}; })()""")
    browser.ask(f"document.querySelector('[{button}]').click()")
    browser.wait_for("window.saved !== null")
    return str(browser.ask("window.saved"))


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline="")))


def test_saved_data_are_those_of_the_chart(
    browser: Browser, page: Callable[..., Path], runs: Callable[[str], Path]
) -> None:
    browser.open(page("two"))
    rows = rows_of(saved(browser, "data-csv=chart-throughput"))
    drawn = browser.ask(
        "JSON.parse(document.getElementById('data').textContent)"
        ".charts.find(chart => chart.id === 'chart-throughput').data"
    )
    for source, columns in drawn.items():
        of_source = [row for row in rows if row["source"] == source]
        for name, values in columns.items():
            assert len(values) == len(of_source)
            for row, value in zip(of_source, values, strict=True):
                assert (
                    row[name] == "" if value is None else row[name] == str(value) or float(row[name]) == value
                )
    assert rows


def test_saved_data_of_a_trial_are_those_of_the_chosen_one(
    browser: Browser, page: Callable[..., Path]
) -> None:
    browser.open(page("two"))
    first = rows_of(saved(browser, "data-csv=chart-series"))
    browser.ask("""(() => { const select = document.querySelector('select[data-chart=chart-series]');
      select.selectedIndex = 1; select.dispatchEvent(new Event('change')); })()""")
    assert rows_of(saved(browser, "data-csv=chart-series")) != first
    assert {"source", "t"} <= first[0].keys()


def test_no_saved_text_is_a_formula(browser: Browser, page: Callable[..., Path]) -> None:
    browser.open(page("hostile"))
    for row in rows_of(saved(browser, "data-csv=chart-percentiles")):
        for text in row.values():
            try:
                float(text)
            except ValueError:
                assert not text.startswith(("=", "+", "-", "@", "\t", "\r")), text


def test_a_saved_picture_carries_its_colours(browser: Browser, page: Callable[..., Path]) -> None:
    browser.open(page("two"), dark=True)
    text = saved(browser, "data-save=chart-throughput")
    assert text.startswith("<svg")
    assert "var(--" not in text
    assert "#56a9e8" in text.lower()


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_table_that_is_a_little_too_wide_is_set_tighter(
    browser: Browser, tmp_path: Path, lang: str
) -> None:
    """Twelve treatments of two factors, six repeats in the millions: the last column was out of sight."""
    factors = {"workload.ycsb.workload": [*"ABCDEF"], "target.store.engine": ["redb", "fjall"]}
    path = write_run(tmp_path / "run", Shape(factors=factors, repeats=6, monitors=False, pace=600.0))
    report = tmp_path / "report.html"
    write(path, lang, ("html",), report)
    browser.open(report, width=1280)
    cut = """[...document.querySelectorAll('.scroll')].filter(box => box.scrollWidth > box.clientWidth)
      .map(box => box.querySelector('table').id)"""
    assert browser.ask(cut) == []
    assert browser.ask("document.querySelector('#table-results').classList.contains('tight')")
    assert not browser.ask("document.querySelector('#table-expectations').classList.contains('tight')")

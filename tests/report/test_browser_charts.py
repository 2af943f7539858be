"""Distributions, heat maps, several trials and marks in a real browser: narrow, dark and printed."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

import fake_runs
from browser import Browser
from incidents.gc_texts import Log
from incidents.test_runs import spiral, trial_names, with_logs
from loadcell.report import write
from report.histogram_logs import add_logs

FOLDED = ("chart-distribution", "chart-overlay", "chart-heat")
UNFOLD = "document.querySelectorAll('details:not(.chooser)').forEach(details => { details.open = true; })"
#: A fast second with two modes, and one in which requests stood still.
FAST, STALL = {1.05: 90, 2.05: 10}, {1.05: 50, 105.0: 50}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two factors, two repeats; the target of one trial was restarted at second 3."""
    home = tmp_path_factory.mktemp("pages")
    factors = {"load.clients": [1, 4, 16], "target.postgres.settings.synchronous_commit": ["on", "off"]}
    run = fake_runs.write_run(home / "run", fake_runs.Shape(factors=factors))
    add_logs(run, [FAST, FAST, STALL, FAST])
    for trial in (run / "trials").iterdir():
        record = json.loads((trial / "trial.json").read_text())
        event = {
            "mono_ns": record["measure"]["started_mono_ns"] + 3 * 10**9,
            "utc": record["measure"]["started_utc"],
        }
        with (trial / "events.jsonl").open("a") as events:
            events.write(json.dumps({**event, "event": "restart", "reason": "it ended"}) + "\n")
    return write(run, "en", ("html",), home / "page.html")[0]


def opened(browser: Browser, page: Path, *, width: int = 1280, dark: bool = False) -> None:
    browser.open(page, width=width, dark=dark)
    browser.ask(UNFOLD)
    for chart in FOLDED:
        browser.wait_for(f"document.querySelector('#{chart} .canvas').dataset.drawn === 'yes'")


def marks(chart: str, kind: str) -> str:
    return f"document.querySelectorAll('#{chart} svg .mark-{kind} path').length"


def legend(chart: str) -> str:
    texts = f"document.querySelectorAll('#{chart} svg .role-legend-label text')"
    return f"[...{texts}].map(text => text.textContent)"


OVERLAPS = """[...document.querySelectorAll('svg')].flatMap(svg => {
  const boxes = [...svg.querySelectorAll('text')].filter(text => text.textContent &&
    getComputedStyle(text).opacity !== '0' && text.getAttribute('opacity') !== '0')
    .map(text => [text.textContent, text.getBoundingClientRect()]);
  return boxes.flatMap(([one, a], n) => boxes.slice(n + 1).filter(([, b]) =>
    a.left < b.right - 2 && b.left < a.right - 2 && a.top < b.bottom - 4 && b.top < a.bottom - 4
  ).map(([other]) => one + ' / ' + other));
})"""


@pytest.mark.parametrize(("width", "dark"), [(390, False), (390, True), (1280, False)])
def test_texts_do_not_overlap_and_nothing_is_cut_off(
    browser: Browser, page: Path, width: int, dark: bool
) -> None:
    opened(browser, page, width=width, dark=dark)
    assert browser.ask(OVERLAPS) == []
    assert browser.ask("document.documentElement.scrollWidth") <= width
    for chart in (*FOLDED, "chart-load-curve", "chart-series"):
        canvas = f"document.querySelector('#{chart} .canvas')"
        assert browser.ask(f"{canvas}.scrollWidth <= {canvas}.clientWidth + 1"), chart
    assert "\n".join(browser.complaints) == ""


def test_lines_cells_and_marks_are_drawn(browser: Browser, page: Path) -> None:
    opened(browser, page)
    assert browser.ask(marks("chart-distribution", "line")) == 2 * 6, "six treatments in two views"
    assert browser.ask(marks("chart-heat", "rect")) >= 8
    assert browser.ask(marks("chart-load-curve", "line")) == 2, "a curve for each level of the other factor"
    for chart in ("chart-series", "chart-heat", "chart-overlay"):
        words = f"document.querySelector('#{chart} svg').textContent.includes('restart')"
        assert browser.ask(words), chart


def test_repeats_and_any_trials_can_be_chosen(browser: Browser, page: Path) -> None:
    opened(browser, page)
    assert [name.split(")")[0][-2:] for name in browser.ask(legend("chart-overlay"))] == ["r1", "r2"]
    before = browser.ask(legend("chart-overlay"))
    choose = """(() => { const select = document.querySelector('select[data-repeats]');
      select.selectedIndex = (select.selectedIndex + 1) % 6;
      select.dispatchEvent(new Event('change', {bubbles: true})); })()"""
    browser.ask(choose)
    browser.wait_for(f"JSON.stringify({legend('chart-overlay')}) !== {json.dumps(json.dumps(before))!r}")
    browser.ask("""(() => { const box = '.choices[data-chart=chart-overlay] input';
      const unchecked = [...document.querySelectorAll(box)].filter(box => !box.checked);
      for (const box of unchecked.slice(0, 3)) box.click(); })()""")
    browser.wait_for(f"{legend('chart-overlay')}.length === 5")
    assert browser.ask("document.querySelector('select[data-repeats]').value") == ""
    assert "\n".join(browser.complaints) == ""


@pytest.mark.parametrize(
    ("chart", "columns", "count"),
    [
        ("chart-distribution", {"treatment", "from", "share", "below"}, 6 * 42),
        ("chart-heat", {"t", "low", "count"}, 8),
        ("chart-load-curve", {"line", "load", "throughput", "p99", "knee"}, 6),
        ("chart-overlay", {"trial", "t", "throughput_per_s", "response_p99_ms"}, 2 * 35),
    ],
)
def test_the_data_of_each_chart_is_saved_by_one_click(
    browser: Browser, page: Path, chart: str, columns: set[str], count: int
) -> None:
    opened(browser, page)
    text = browser.ask(f"""(async () => {{
      let saved; const create = URL.createObjectURL;
      URL.createObjectURL = blob => {{ saved = blob; return create.call(URL, blob); }};
      document.querySelector('[data-csv={chart}]').click();
      URL.createObjectURL = create;
      return await saved.text(); }})()""")
    rows = list(csv.DictReader(io.StringIO(text.lstrip("\ufeff"))))
    assert columns <= set(rows[0])
    main = {"chart-distribution": "classes", "chart-heat": "heat", "chart-load-curve": "points"}
    assert sum(row["source"] == main.get(chart, "load") for row in rows) == count


def test_on_paper_the_chosen_repeats_are_named(browser: Browser, page: Path) -> None:
    opened(browser, page)
    browser.media("print")
    assert browser.ask("document.querySelector('select[data-repeats]').offsetHeight > 0")
    assert browser.ask("document.querySelector('#chart-overlay details.chooser').offsetHeight") == 0
    browser.media("")


def test_a_finding_on_an_incident_leads_to_the_chart_of_its_trial(tmp_path: Path, browser: Browser) -> None:
    """A click on the link of a finding chooses the trial, whatever the reader chose before."""
    names = trial_names(tmp_path)
    slow = Log()
    for index in range(10):
        slow.young(1 + index, 500, 100, 1200 if index == 5 else 10)
    run = with_logs(tmp_path / "run", {names[1]: slow, names[2]: spiral()})
    browser.open(write(run, "en", ("html",), tmp_path / "page.html")[0], width=1280)
    chosen = "document.querySelector('select[data-chart=\"chart-series\"]').value"
    assert browser.ask(chosen) == names[2]
    browser.ask(f"document.querySelector('a[data-trial=\"{names[1]}\"]').click()")
    assert browser.ask(chosen) == names[1]

"""The report of a comparison: page, Markdown and terminal, in both languages."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

import fake_runs
from analysis.compare.simulated_runs import run_of
from browser import CHARTS, Browser
from loadcell.analysis.compare import differences, findings, sides
from loadcell.analysis.compare.compare import compare
from loadcell.analysis.compare.metrics import CannotCompareError
from loadcell.report.blocks import Table, Tiles
from loadcell.report.brief import next_steps
from loadcell.report.comparison.build import brief, build, document, ranking
from loadcell.report.comparison.charts import ratio_ticks, widest_ratio
from loadcell.report.comparison.gather import Gathered, Wanted, data, gather
from loadcell.report.comparison.words import Words
from loadcell.report.context import ReportContext
from loadcell.report.render import json as json_renderer
from loadcell.report.render import terminal
from loadcell.report.texts import Texts
from loadcell.store.layout import StoreError
from loadcell.store.read import StoredRun, read_run
from report import comparisons

Get = Callable[[str], Gathered]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results with runs of one plan and some of others."""
    home = tmp_path_factory.mktemp("compared") / "results"
    plan = home / "plan"
    comparisons.write(plan / "20260309T080000Z-aaaa", fake_runs.Shape(repeats=8), logs=True)
    comparisons.write(plan / "20260310T080000Z-bbbb", fake_runs.Shape(repeats=8, seed=11), logs=True)
    comparisons.other_machine(comparisons.write(plan / "moved", fake_runs.Shape(repeats=8, seed=12)))
    comparisons.write(
        home / "factors" / "20260311T080000Z-cccc",
        fake_runs.Shape(factors={"load.clients": [4, 16], "storage": ["local", "replicated"]}, repeats=8),
        logs=True,
    )
    comparisons.write(home / "levels" / "many", fake_runs.two_factors(6))
    comparisons.write(home / "hostile" / "evil", fake_runs.hostile(), logs=True)
    comparisons.write(home / "once" / "single", fake_runs.Shape(repeats=1))
    comparisons.write(home / "longer" / "changed", fake_runs.Shape(repeats=6, seconds=20))
    fates = {n: fake_runs.Fate("failed", "no server there") for n in range(1, 9)}
    comparisons.write(home / "broken" / "none", fake_runs.Shape(repeats=2, fates=fates))
    return home


@pytest.fixture(scope="module")
def get(home: Path) -> Get:
    """Comparisons by name, each made once."""
    plan = home / "plan"
    first, second = plan / "20260309T080000Z-aaaa", plan / "20260310T080000Z-bbbb"
    wanted = {
        "two runs": Wanted([(first, None), (second, None)]),
        "moved": Wanted([(first, None), (plan / "moved", None)]),
        "three runs": Wanted([(first, None), (second, None), (plan / "moved", None)]),
        "different plans": Wanted([(first, "main"), (home / "longer" / "changed", None)], anyway=True),
        "levels": Wanted([(home / "factors" / "20260311T080000Z-cccc", None)], factor="storage"),
        "many levels": Wanted([(home / "levels" / "many", None)], factor="load.clients"),
        "hostile": Wanted([(home / "hostile" / "evil", None)]),
        "once": Wanted([(home / "once" / "single", None)]),
        "nothing measured": Wanted([(home / "broken" / "none", None)]),
    }
    comparisons: dict[str, Gathered] = {}

    def comparison(name: str) -> Gathered:
        if name not in comparisons:
            comparisons[name] = gather(wanted[name])
        return comparisons[name]

    return comparison


ALL = [
    "two runs", "moved", "three runs", "different plans", "levels", "many levels", "hostile", "once",
    "nothing measured",
]  # fmt: skip


def printed(gathered: Gathered, lang: str = "en") -> str:
    out = io.StringIO()
    terminal.render(
        brief(gathered, lang),
        Console(file=out, width=80, highlight=False, color_system=None, force_terminal=True),
    )
    return out.getvalue()


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("name", ALL)
def test_a_terminal_of_80_columns_shows_it(get: Get, name: str, lang: str) -> None:
    output = printed(get(name), lang)
    assert [line for line in output.splitlines() if cell_len(line) > 80] == []
    assert "nan" not in output
    assert "inf" not in re.sub(r"inf[a-z]", "", output)


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("name", ALL)
def test_markdown_for_a_pull_request_has_no_pictures(get: Get, name: str, lang: str) -> None:
    text = document(get(name), lang, ("loadcell", "compare")).markdown()
    assert "![" not in text
    tables = [line for line in text.splitlines() if line.startswith("|")]
    assert tables
    assert "</script><b>" not in text


@pytest.mark.parametrize("name", ALL)
def test_json_is_plain_and_whole(get: Get, name: str) -> None:
    parsed = json.loads(json_renderer.render(data(get(name))))
    json.dumps(parsed, allow_nan=False)
    assert {row["verdict"] for row in parsed["rows"]} <= {
        "same",
        "faster",
        "slower",
        "ambiguous",
        "insufficient",
        "no-value",
    }
    assert len(parsed["rows"]) == len(get(name).comparison.rows)


def test_what_else_differs_follows_the_summary_and_heads_a_terminal(get: Get) -> None:
    for name in ("moved", "different plans"):
        gathered = get(name)
        assert [section.id for section in build(gathered).sections][:2] == ["summary", "differences"]
        output = " ".join(printed(gathered).split())
        warning = "The machines differ" if name == "moved" else "The runs have different plans"
        assert 0 <= output.index(warning) < output.index(" vs. ")
    assert "hostname, cpu.cores" in " ".join(printed(get("moved")).split())


def test_within_one_run_nothing_else_differs(get: Get) -> None:
    assert get("levels").all_differences == []
    assert "differences" not in {section.id for section in build(get("levels")).sections}


def test_a_terminal_says_why_there_is_no_verdict(get: Get) -> None:
    assert "insufficient (too few blocks): " in " ".join(printed(get("once")).split())
    assert "no value (no value): " in " ".join(printed(get("nothing measured")).split())
    assert "insufficient" not in printed(get("levels"))


def test_levels_are_paired_and_clear(get: Get) -> None:
    output = " ".join(printed(get("levels")).split())
    assert "storage = replicated is faster than storage = local" in output
    assert "Trials of the same block are compared (8 blocks)" in output
    assert "Values are medians of the trials" in output
    assert "not the quotient of the medians" in output


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_disturbances_of_the_machine_stand_beside_the_verdict(tmp_path: Path, lang: str) -> None:
    """Counted for each side, of trials whose values are compared; in every form of the comparison."""
    noticed = {1: ("steal", "noticed"), 2: ("neighbour", "noticed"), 3: ("steal", "noticed")}
    noticed[5] = ("direct-io", "noticed")  # nothing of the machine
    fates = {2: fake_runs.Fate("failed", "no server there")}  # its value is not compared
    shape = fake_runs.Shape(
        factors={"target.storage": ["local", "replicated"]}, repeats=6, noticed=noticed, fates=fates
    )
    gathered = gather(Wanted([(comparisons.write(tmp_path / "run", shape), None)]))
    sides_of = {trial.number: trial.treatment.split("=")[1] for trial in gathered.runs[0].trials}
    expected = {side: sum(sides_of[number] == side for number in (1, 3)) for side in ("local", "replicated")}
    counting = {side: 6 - (sides_of[2] == side) for side in expected}

    parsed = json.loads(json_renderer.render(data(gathered)))
    assert {item["side"]: (item["trials"], item["of"]) for item in parsed["disturbed"]} == {
        side: (expected[side], counting[side]) for side in expected
    }
    assert sum(item["kinds"].get("steal", 0) for item in parsed["disturbed"]) == 2
    assert "neighbour" not in str(parsed["disturbed"])
    codes = [finding.code for finding in findings.find(gathered.comparison, None)]
    assert codes[1] is differences.DISTURBED

    kind = Texts(lang)("compare.disturbance.steal").replace(" ", "")
    for text in (printed(gathered, lang), document(gathered, lang).markdown()):
        assert kind in re.sub(r"\s", "", text)
    tile = Texts(lang)("compare.tile.disturbed")
    tiles = [block for section in build(gathered, lang).sections for block in section.blocks]
    assert any(item.name == tile for block in tiles if isinstance(block, Tiles) for item in block.tiles)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_load_generator_that_waited_for_a_core_is_no_disturbance(tmp_path: Path, lang: str) -> None:
    """On a machine at its limit it shares the cores with the target; beside other work it is disturbed."""
    noticed = dict.fromkeys((1, 2, 3), ("client-waiting", "noticed"))
    shape = fake_runs.Shape(factors={"target.storage": ["local", "replicated"]}, repeats=6, noticed=noticed)
    gathered = gather(Wanted([(comparisons.write(tmp_path / "run", shape), None)]))
    parsed = json.loads(json_renderer.render(data(gathered)))
    assert [item["trials"] for item in parsed["disturbed"]] == [0, 0]
    assert sum(item["waited"] for item in parsed["disturbed"]) == 3
    codes = [finding.code for finding in findings.find(gathered.comparison, None)]
    assert differences.WAITED in codes
    assert differences.DISTURBED not in codes
    output = re.sub(r"\s", "", printed(gathered, lang))
    assert ("keepcoresfreefortheloadgenerator" if lang == "en" else "请为压测端留出CPU核心") in output
    assert ("quietmachine" if lang == "en" else "空闲的机器") not in output


def test_a_quiet_machine_gives_no_finding(get: Get) -> None:
    parsed = json.loads(json_renderer.render(data(get("levels"))))
    assert [item["trials"] for item in parsed["disturbed"]] == [0, 0]
    assert "disturbed" not in printed(get("levels"))


def test_several_are_ranked(get: Get) -> None:
    output = printed(get("many levels"))
    ranking = re.findall(r"^\d+ +(clients = \d+) .* ([a-z]+) *$", output, re.MULTILINE)
    assert [name for name, _ in ranking] == [f"clients = {n}" for n in (64, 32, 16, 8, 4, 2, 1)]
    assert "ranking" in {section.id for section in build(get("many levels")).sections}


def test_what_is_not_ranked_is_named() -> None:
    levels = {f"{s}-{n}": {"s": s, "load.clients": n} for s in "abc" for n in ("1", "2")}
    figures: dict[str, list[float | None]] = {
        name: [100.0, 101.0, 102.0, 101.0, 100.0, 102.0] for name in levels
    }
    figures["a-1"], figures["c-2"] = [101.0, 100.0, 102.0, 99.0, 101.0, 100.0], [None] * 6
    comparison = compare(sides.levels(*run_of(figures, levels=levels), factor="s"), cross_checks=0)
    section = ranking(Words(comparison, Texts("en")))
    assert section is not None
    (table,) = section.blocks
    assert isinstance(table, Table)
    assert len(table.rows) == 2
    assert table.note.endswith("Not ranked, for lack of values that the first one has: s = c.")


def test_one_repeat_is_called_descriptive_and_nothing_measured_is_called_that(get: Get) -> None:
    once = " ".join(printed(get("once")).split())
    assert once.count("which describes these trials only. A verdict needs 6 repeats: --set repeats=6.") == 1
    assert "Descriptive only" not in once
    output = " ".join(printed(get("nothing measured")).split())
    assert "one of them has no throughput" in output
    assert "are excluded: 0" in output


def test_runs_of_different_plans_are_refused_with_what_differs(home: Path) -> None:
    wanted = Wanted(
        [(home / "plan" / "20260309T080000Z-aaaa", None), (home / "factors" / "20260311T080000Z-cccc", None)]
    )
    with pytest.raises(CannotCompareError, match="different plans and have no treatment in common") as error:
        gather(wanted)
    text = str(error.value)
    assert "aaaa and cccc" in text
    assert "treatments: clients=16, clients=4 → " in text
    assert "loadcell list" in error.value.advice


def test_a_refusal_names_the_plans_and_the_settings_of_runs_without_a_common_treatment(
    tmp_path: Path,
) -> None:
    def renamed(run: dict[str, object]) -> None:
        run["title"] = "Another plan"
        for treatment in run["treatments"]:  # type: ignore[attr-defined]
            treatment["id"] += "-more"
            treatment["settings"]["load"]["duration"] = 99.0

    runs = [comparisons.write(tmp_path / name, fake_runs.Shape()) for name in ("one", "two")]
    comparisons.change(runs[1], renamed)
    with pytest.raises(CannotCompareError) as error:
        gather(Wanted([(run, None) for run in runs]))
    paths = [item.text.partition(":")[0] for item in error.value.differences]
    assert paths[:2] == ["title", "treatments"]
    assert "load.duration" in paths


def test_runs_without_a_common_treatment_are_refused_with_those_of_each(home: Path) -> None:
    plans = ("plan/20260309T080000Z-aaaa", "factors/20260311T080000Z-cccc")
    with pytest.raises(CannotCompareError, match="no treatment in common") as error:
        gather(Wanted([(home / plan, None) for plan in plans], anyway=True))
    assert [item.text.partition(":")[0] for item in error.value.differences] == ["aaaa", "cccc"]


def test_a_run_with_itself_is_refused(home: Path) -> None:
    run = home / "plan" / "20260309T080000Z-aaaa"
    with pytest.raises(CannotCompareError, match="run aaaa is named twice"):
        gather(Wanted([(run, None), (run.parent / ".." / run.parent.name / run.name, None)]))


def _labelled(path: Path, seed: int, labels: dict[str, str]) -> tuple[Path, None]:
    comparisons.write(path, fake_runs.Shape(repeats=2, seed=seed))
    return comparisons.change(path, lambda run: run.update(labels=labels)), None


def test_runs_are_named_by_labels_in_which_they_differ(tmp_path: Path) -> None:
    runs = [
        _labelled(tmp_path / f"20260309T08000{number}Z-aaa{number}", number, labels)
        for number, labels in enumerate(({"version": "1", "site": "a"}, {"version": "2", "site": "a"}))
    ]
    assert [side.label for side in gather(Wanted(runs)).comparison.sides.sides] == ["version=1", "version=2"]
    labelled_alike = [*runs, _labelled(tmp_path / "20260309T080009Z-aaa9", 9, {"version": "2", "site": "a"})]
    names = [side.label for side in gather(Wanted(labelled_alike)).comparison.sides.sides]
    assert names == ["aaa0", "aaa1", "aaa9"]
    grouped = gather(Wanted(labelled_alike[1:], against=runs[:1]))
    assert [side.label for side in grouped.comparison.sides.sides] == ["version=1", "version=2"]


def test_levels_are_of_one_run(home: Path) -> None:
    runs = [(home / "plan" / name, None) for name in ("20260309T080000Z-aaaa", "20260310T080000Z-bbbb")]
    with pytest.raises(CannotCompareError, match="levels are compared within one run"):
        gather(Wanted(runs, factor="load.clients"))


def test_a_directory_that_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        gather(Wanted([(tmp_path, None)]))


def test_identical_arms_beside_a_run_say_what_noise_is(tmp_path: Path) -> None:
    shape = fake_runs.Shape(repeats=16)
    plan = tmp_path / "plan"
    comparisons.arms(plan / "20260309T080000Z-aaaa", shape)
    for number, seed in ((9, 5), (10, 6)):
        comparisons.write(
            plan / f"202603{number:02d}T090000Z-b{number:03d}", fake_runs.Shape(repeats=8, seed=seed)
        )
    arms = gather(Wanted([(plan / "20260309T080000Z-aaaa", None)]))
    assert arms.comparison.sides.kind == "arms"
    assert "The arms are identical" in printed(arms)
    runs = [(path, None) for path in sorted(plan.iterdir())[1:]]
    gathered = gather(Wanted(runs))
    assert gathered.noise_from == "20260309T080000Z-aaaa"
    assert all(row.noise is not None and 0 < row.noise < 0.2 for row in gathered.comparison.rows)
    named = gather(Wanted(runs, noise=plan / "20260309T080000Z-aaaa"))
    assert named.comparison == gathered.comparison


def test_a_run_of_identical_arms_says_how_to_compare_them(tmp_path: Path) -> None:
    run = comparisons.arms(tmp_path / "arms", fake_runs.Shape(repeats=4))
    steps = [command for _, command in next_steps(ReportContext.of(read_run(run), "en"))]
    assert f"loadcell compare {run}" in steps


def test_a_run_with_levels_says_how_to_compare_them(stored: Callable[[str], StoredRun]) -> None:
    pair, several = stored("two"), stored("many factors")
    commands = [
        [command for _, command in next_steps(ReportContext.of(run, "en")) if " compare " in command]
        for run in (pair, several)
    ]
    assert commands[0] == [f"loadcell compare {pair.path}"]
    assert commands[1] == [f"loadcell compare '{several.path}' --factor load.clients"]


def test_an_aa_run_of_another_plan_is_refused(tmp_path: Path) -> None:
    def slower(run: dict[str, object]) -> None:
        for treatment in run["treatments"]:  # type: ignore[attr-defined]
            treatment["settings"]["load"]["duration"] = 99.0

    arms = comparisons.change(comparisons.arms(tmp_path / "arms", fake_runs.Shape(repeats=12)), slower)
    run = comparisons.write(tmp_path / "run", fake_runs.Shape())
    with pytest.raises(CannotCompareError, match=r"load\.duration: 30s → 99\.0") as error:
        gather(Wanted([(run, None)], noise=arms))
    assert "A/A run" in error.value.finding
    assert gather(Wanted([(run, None)])).noise_from is None
    with pytest.raises(CannotCompareError, match="no arms"):
        gather(Wanted([(run, None)], noise=run))


def test_a_log_that_cannot_be_read_leaves_only_its_trial_out(tmp_path: Path) -> None:
    run = comparisons.write(tmp_path / "run", fake_runs.Shape(repeats=6), logs=True)
    logs = sorted(run.glob("trials/*/latency.hlog"))
    logs[0].write_text("Tag=transaction/response,0,1,1,nonsense\n")
    logs[1].unlink()
    gathered = gather(Wanted([(run, None)]))
    counts = [len(gathered.histograms(side, "", 60)) for side in (0, 1)]
    assert sum(counts) == len(logs) - 2
    assert "chart-distributions" in {chart.id for chart in build(gathered).charts()}


# --- the page, in a browser
# ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "charts"),
    [
        ("two runs", {"chart-forest", "chart-shifts", "chart-distributions", "chart-series"}),
        ("levels", {"chart-forest", "chart-shifts", "chart-distributions", "chart-series"}),
        ("hostile", {"chart-forest", "chart-shifts", "chart-distributions", "chart-series"}),
        ("many levels", {"chart-forest", "chart-series"}),
        ("once", {"chart-forest", "chart-series"}),
        ("nothing measured", set()),
    ],
)
def test_every_chart_is_drawn_and_nothing_is_asked_of_the_network(
    get: Get, browser: Browser, tmp_path: Path, name: str, charts: set[str]
) -> None:
    for lang in ("en", "zh"):
        (page,) = document(get(name), lang, ("loadcell",)).publish(("html",), tmp_path / f"{lang}.html")
        browser.requests.clear()
        browser.complaints.clear()
        browser.open(page)
        drawn = browser.ask(CHARTS)
        assert {chart["id"] for chart in drawn} == charts
        for chart in drawn:
            assert chart["drawn"], chart
            assert not chart["failed"], chart
            assert chart["marks"] > 3, chart
            assert chart["wide"] <= chart["room"] + 2, chart
            assert "undefined" not in chart["words"]
        assert browser.complaints == []
        assert [url for url in browser.requests if not url.startswith(("file:", "data:"))] == []


def test_markdown_with_pictures(get: Get, tmp_path: Path) -> None:
    written = document(get("levels"), "en", ("loadcell", "compare", "cccc")).publish(("html", "md"), tmp_path)
    assert written == [tmp_path / "comparison.html", tmp_path / "comparison.md"]
    text = written[1].read_text()
    for picture in re.findall(r"!\[[^]]*\]\(([^)]+)\)", text):
        assert (tmp_path / picture).read_text().startswith("<svg")
    assert text.count("![") == 3
    assert "loadcell compare cccc" in text


def test_ratios_lie_symmetrically_on_a_logarithmic_axis() -> None:
    assert widest_ratio([1.0, 0.25, 2.0]) == pytest.approx(4**1.08)
    assert widest_ratio([None, 1.0]) == 1.02
    assert widest_ratio([0.0]) == widest_ratio([1e9]) == 1000, "no bounds: the axis ends"
    for furthest in (1.02, 1.3, 3.7, 54, 1000):
        ticks = ratio_ticks(furthest)
        assert ticks == pytest.approx([1 / tick for tick in reversed(ticks)])
        assert 3 <= len(ticks) <= 11


def test_axes_give_changes_in_percent_and_label_percentiles_from_the_median_on(get: Get) -> None:
    charts = {chart.id: chart for chart in build(get("levels")).charts()}
    forest, shifts = (json.dumps(charts[name].spec) for name in ("chart-forest", "chart-shifts"))
    assert "(datum.value - 1) * 100" in forest
    assert "×" not in forest
    assert "'p50'" in shifts
    assert "'p10'" not in shifts
    assert {"p10", "p25", "p50"} <= {row["percentile"] for row in charts["chart-shifts"].data["shifts"]}


def test_typical_trials_are_drawn_on_one_time_axis(get: Get) -> None:
    """Draw the trial of each side next to its median, with the values of its intervals."""
    gathered = get("two runs")
    (chart,) = [item for item in build(gathered).charts() if item.id == "chart-series"]
    assert [context for context, _ in chart.choices] == list(gathered.comparison.sides.contexts)
    words = Words(gathered.comparison, Texts("en"))
    for context, sources in chart.series.items():
        for index, run in enumerate(gathered.runs):
            trials = [item for item in gathered.comparison.sides.sides[index].trials[context] if item.counts]
            ranked = sorted(item.throughput_per_s or 0.0 for item in trials)
            middle = (ranked[3] + ranked[4]) / 2
            typical = min(trials, key=lambda item: abs((item.throughput_per_s or 0.0) - middle))
            load = sources["load"]
            drawn = [
                value
                for value, side in zip(load["throughput_per_s"], load["trial"], strict=True)
                if side == words.side(index)
            ]
            names = zip(load["name"], load["trial"], strict=True)
            assert {name for name, side in names if side == words.side(index)} == {typical.name}
            recorded = run.intervals()
            of_trial = recorded.take(recorded.text("trial").isin(typical.name))
            recorded_speed = of_trial.take(of_trial.text("kind").isin("transaction")).numbers(
                "throughput_per_s"
            )
            assert drawn == pytest.approx(recorded_speed.tolist(), rel=1e-3)


def test_the_title_is_in_the_language_of_the_page(get: Get) -> None:
    gathered = get("two runs")
    first = gathered.runs[0]
    titled = replace(first, run=replace(first.run, title="GET on a server", title_zh="GET 压测"))
    gathered = replace(gathered, runs=[titled, *gathered.runs[1:]])
    assert [build(gathered, lang).title for lang in ("en", "zh")] == ["GET on a server", "GET 压测"]

"""The pages on one machine and on two: HTML, Markdown, terminal and JSON, in both languages."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

import fake_runs
import machines
from loadcell.report.blocks import Chart, Report, Table
from loadcell.report.hosts import page
from loadcell.report.hosts.comparison import brief, build, document
from loadcell.report.hosts.gather import Compared, Source, compared, source
from loadcell.report.hosts.page import findings
from loadcell.report.render import html, markdown, terminal
from loadcell.report.render import json as json_renderer
from loadcell.report.texts import Texts
from loadcell.store.layout import StoreError
from report import comparisons

EN = Texts("en")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two machines' baselines, what ran on both, and two that are known from JSON."""
    home = tmp_path_factory.mktemp("hosts")
    other = {**machines.HOST, "hostname": "bench-02", "governor": "powersave"}
    other["cpu"] = {**machines.HOST["cpu"], "cores": 16, "max_mhz": 3500.0}
    machines.write_baseline(home / "a", repeats=6)
    paces = {"memory": 1.5, "cpu": 0.8, "disk": 2.0, "network-rr": 1.0}
    machines.write_baseline(home / "b", repeats=6, seed=8, host=other, pace=paces)
    machines.write_baseline(home / "short", failed=frozenset({"disk-write", "cpu-all"}))
    for name, pace, seed in (("db-a", 1.0, 3), ("db-b", 1.5, 4)):
        shape = fake_runs.Shape(repeats=6, pace=pace, seed=seed, monitors=False, intervals=False)
        comparisons.write(home / name, shape)
    for name in ("KUNPENG", "M2"):
        (home / f"{name.lower()}.json").write_text(json.dumps(getattr(machines, name)))
    return home


@pytest.fixture(scope="module")
def baseline(home: Path) -> Source:
    return source(str(home / "a"))


@pytest.fixture(scope="module")
def two(home: Path) -> Compared:
    return compared(str(home / "a"), str(home / "b"), [(str(home / "db-a"), str(home / "db-b"))])


def printed(report: Report) -> str:
    console = Console(file=io.StringIO(), width=80, highlight=False)
    terminal.render(report, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def charts(report: Report) -> dict[str, Chart]:
    return {chart.id: chart for chart in report.charts()}


def tables(report: Report) -> dict[str, Table]:
    blocks = (block for section in report.sections for block in section.blocks)
    return {block.id: block for block in blocks if isinstance(block, Table)}


# -- one machine


def test_the_page_has_inventory_findings_scores_and_pictures(baseline: Source) -> None:
    report = page.build(baseline, "en")
    assert [section.id for section in report.sections] == [
        "summary",
        "pictures",
        "scores",
        "inventory",
        "method",
    ]
    assert report.title == "bench-01"
    rows = tables(report)["table-scores"].rows
    assert len(rows) == len(baseline.machine.scores)
    assert ["Memory", "MEMCPY 256 MiB, 1 thread"] in [[cell.text for cell in row[:2]] for row in rows]


def test_the_staircase_shows_every_size_and_where_caches_end(baseline: Source) -> None:
    drawn = charts(page.build(baseline, "en"))["chart-staircase"]
    assert [row["name"] for row in drawn.data["steps"]][:3] == ["4 KiB", "16 KiB", "64 KiB"]
    assert [row["name"] for row in drawn.data["caches"]] == ["L1 32 KiB", "L2 1 MiB", "L3 32 MiB"]


def test_the_roofs_are_of_caches_memory_disk_and_network(baseline: Source) -> None:
    drawn = charts(page.build(baseline, "en"))["chart-roofs"]
    layers = [row["layer"] for row in drawn.data["knees"]]
    assert layers == [
        "L1 cache",
        "L2 cache",
        "L3 cache",
        "Memory",
        "Network",
        "Disk, reads",
        "Disk, flushed writes",
    ]


def test_trials_that_failed_are_said_and_leave_the_rest(home: Path) -> None:
    short = source(str(home / "short"))
    report = page.build(short, "en")
    codes = [finding.message.code for finding in findings(short, EN)]
    assert "hosts.found.incomplete" in codes
    assert "disk-write/write_mib_per_s" not in {score.id for score in short.machine.scores}
    assert "Disk, flushed writes" not in [row["layer"] for row in charts(report)["chart-roofs"].data["knees"]]


def test_a_probe_of_which_no_pass_ended_is_reported(tmp_path: Path) -> None:
    path = machines.write_baseline(tmp_path / "slow", repeats=1, only=("cpu-1", "memory-triad-1"))
    for record in path.glob("trials/*triad-1*/trial.json"):
        comparisons.change(record.parent, lambda trial: trial["totals"].update(figures={}), record.name)  # type: ignore[attr-defined]
    (finding,) = [
        candidate
        for candidate in findings(source(str(path)), EN)
        if candidate.message.code == "hosts.found.no-figure"
    ]
    assert Texts("en").message(finding.message).startswith("1 benchmark has no result")
    assert "STREAM Triad 256 MiB, 1 thread." in Texts("en").message(finding.message)
    assert "内存 STREAM Triad 256 MiB，1 线程" in Texts("zh").message(finding.message)


def test_of_many_probes_without_a_value_some_are_named(tmp_path: Path) -> None:
    sizes = ("4KiB", "16KiB", "64KiB", "256KiB", "1MiB")
    path = machines.write_baseline(
        tmp_path / "slow", repeats=1, only=("cpu-1", *(f"latency-{size}" for size in sizes))
    )
    for record in path.glob("trials/*latency*/trial.json"):
        comparisons.change(record.parent, lambda trial: trial["totals"].update(figures={}), record.name)  # type: ignore[attr-defined]
    (finding,) = [
        candidate
        for candidate in findings(source(str(path)), EN)
        if candidate.message.code.startswith("hosts.found.no-figure")
    ]
    text = Texts("en").message(finding.message)
    assert text.startswith("5 benchmarks have no result")
    assert "among them Access within 4 KiB, " in text
    assert "1 MiB" not in text


def test_remarks_of_trials_are_reported(tmp_path: Path) -> None:
    path = machines.write_baseline(tmp_path / "cached", repeats=1, only=("cpu-1", "disk-randread"))
    (record,) = path.glob("trials/*disk-randread*/trial.json")
    checks = [{"name": "direct-io", "verdict": "noticed", "detail": {}}]
    comparisons.change(record.parent, lambda trial: trial.update(checks=checks), record.name)
    report = page.build(source(str(path)), "en")
    assert "the file system does not support direct I/O" in markdown.render(report)


def test_trials_that_were_not_run_are_reported_with_the_command_to_resume(tmp_path: Path) -> None:
    path = machines.write_baseline(tmp_path / "half", repeats=2, only=("cpu-1", "disk-randread"))
    shutil.rmtree(next(path.glob("trials/*cpu-1*")))
    (finding,) = [
        candidate
        for candidate in findings(source(str(path)), EN)
        if candidate.message.code == "hosts.found.missing"
    ]
    assert finding.message.arguments == {"count": 1, "of": 4, "run": "half"}


def test_scores_that_scatter_are_said(home: Path, tmp_path: Path) -> None:
    path = machines.write_baseline(tmp_path / "noisy", scatter=0.2, only=("cpu-1", "disk-randread"))
    assert "hosts.found.wide" in [finding.message.code for finding in findings(source(str(path)), EN)]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_terminal_of_80_columns_holds_it(baseline: Source, lang: str) -> None:
    text = printed(page.brief(baseline, lang, ["/results/host.html"]))
    assert max(cell_len(line) for line in text.splitlines() if str(baseline.path) not in line) <= 80
    assert "Example 9000" in text
    assert "/results/host.html" in text
    assert f"loadcell compare {baseline.path}" in text
    assert ("素数计算" if lang == "zh" else "Primes") in text


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_page_is_written_beside_the_run(baseline: Source, lang: str) -> None:
    (written_page,) = page.document(baseline, lang, ("loadcell", "host", "--baseline")).publish(
        ("html",), baseline.path
    )
    assert written_page == baseline.path / "host.html"
    text = written_page.read_text(encoding="utf-8")
    assert ("机器与基准测试" if lang == "zh" else "Machine and benchmarks") in text
    assert "loadcell host --baseline" in text


def test_text_from_outside_is_escaped(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>"
    host = {**machines.HOST, "hostname": evil, "cpu": {**machines.HOST["cpu"], "model": evil}}
    stored = source(str(machines.write_baseline(tmp_path / "evil", host=host, repeats=1)))
    assert evil not in html.render(page.build(stored, "en"))
    other = machines.write_baseline(tmp_path / "good", repeats=1)
    both = compared(str(stored.path), str(other))
    assert evil not in html.render(build(both, "en"))
    assert "<script>" not in markdown.render(build(both, "en", pictures=False))


def test_its_json_is_what_compare_takes(baseline: Source, tmp_path: Path) -> None:
    stored = tmp_path / "a.json"
    stored.write_text(json_renderer.render(page.data(baseline, "en"), EN))
    assert source(str(stored)).machine == baseline.machine


# -- two machines


def test_two_machines_have_differences_ratios_and_what_the_workload_follows(two: Compared) -> None:
    report = build(two, "en", ("loadcell", "compare", "a", "b"))
    assert [section.id for section in report.sections] == [
        "summary",
        "follows-1",
        "inventory",
        "baselines",
        "method",
    ]
    drawn = tables(report)
    assert [row[0].text for row in drawn["table-facts-differ"].rows] == [
        "Clock",
        "Cores",
        "Frequency governor",
    ]
    assert len(drawn["table-ratios"].rows) == len(two.machines.rows)
    standing = {row[0].text: row[5].text for row in drawn["table-candidates-1"].rows}
    assert standing["MEMCPY 256 MiB, 1 thread"] == "likely explanation"
    assert standing["Primes, 1 thread"] == "opposite direction"
    assert standing["CPU clock"] == "opposite direction"
    assert standing["Access within 256 MiB"] == "no difference"
    assert standing["Random reads"].startswith("possible part: ")


def test_other_differences_than_the_machines_are_reported(two: Compared, home: Path) -> None:
    codes = [finding.message.code for finding in two.of(two.workloads[0])]
    assert codes[0] == "hosts.follows.elsewhere"  # both runs of the workload are of one machine
    assert "compare.differs.target" not in codes
    other = comparisons.write(
        home / "db-c", fake_runs.Shape(repeats=6, version="0.2.0", monitors=False, intervals=False)
    )
    comparison = compared(str(home / "a"), str(home / "b"), [(str(home / "db-a"), str(other))])
    assert "compare.differs.tools" in [
        finding.message.code for finding in comparison.of(comparison.workloads[0])
    ]


@pytest.mark.parametrize(("lang", "title"), [("en", "Orders"), ("zh", "订单")])
def test_a_workload_has_the_title_in_the_language_of_the_report(
    home: Path, tmp_path: Path, lang: str, title: str
) -> None:
    stored = shutil.copytree(home / "db-a", tmp_path / "db-a")
    record = json.loads((stored / "run.json").read_text(encoding="utf-8"))
    record |= {"title": "Orders", "title_zh": "订单"}
    (stored / "run.json").write_text(json.dumps(record), encoding="utf-8")
    comparison = compared(
        str(home / "a"), str(home / "b"), [(str(stored), str(home / "db-b"))], lang, anyway=True
    )
    assert comparison.workloads[0].hypothesis.workload.name == title


def test_the_picture_has_every_ratio_and_the_workload(two: Compared) -> None:
    drawn = charts(build(two, "en"))["chart-ratios"]
    assert len(drawn.data["points"]) == len(two.machines.rows)
    assert drawn.data["workloads"][0]["times"] == pytest.approx(1.5, rel=0.05)


def test_one_run_of_each_machine_gives_intervals(two: Compared) -> None:
    times = {row.score.id: row.times for row in two.machines.rows}
    assert (times["memory-memcpy-1/mib_per_s"].low or 0) > 1
    assert (times["cpu-1/events_per_s"].high or 1) < 1
    assert (times["disk-sync/sync_ms"].low or 0) > 1  # half the time


def test_published_scores_come_as_one_value_each(home: Path) -> None:
    comparison = compared(str(home / "kunpeng.json"), str(home / "m2.json"))
    rows = {row[0].text: row for row in tables(build(comparison, "en"))["table-ratios"].rows}
    assert rows["MEMCPY 256 MiB, 1 thread"][4].text == "×6.81"
    assert rows["MEMCPY 256 MiB, 1 thread"][5].text == "–"
    assert comparison.incomplete  # sysbench's cpu test was run on one of them only


def test_scores_of_all_processors_name_the_number_of_each_machine(tmp_path: Path) -> None:
    for name, threads in (("two", 2), ("one", 1), ("other", 1)):
        scores = [
            machines.score("cpu-1", "events_per_s", [100.0]),
            machines.score("cpu-all", "events_per_s", [100.0 * threads], threads=threads),
        ]
        host = {**machines.HOST, "hostname": name, "cpu": {"threads": 2, "usable_threads": threads}}
        (tmp_path / f"{name}.json").write_text(json.dumps({"host": host, "scores": scores}))

    def names(first: str, second: str) -> list[str]:
        drawn = build(compared(str(tmp_path / first), str(tmp_path / second)), "en")
        return sorted(point["row"] for point in charts(drawn)["chart-ratios"].data["points"])

    assert names("two.json", "one.json") == ["Primes, 1 thread", "Primes, 2 threads (second: 1)"]
    assert names("one.json", "other.json") == ["Primes, 1 thread (cpu-1)", "Primes, 1 thread (cpu-all)"]
    [fact] = compared(str(tmp_path / "two.json"), str(tmp_path / "one.json")).machines.differing
    assert (fact.key, fact.values) == ("usable_threads", (2, 1))


def test_what_one_processor_and_all_of_them_did_alike_stands_once(tmp_path: Path) -> None:
    only = ("cpu-1", "cpu-all", "memory-triad-1", "memory-triad-all", "disk-sync")
    for name, seed in (("a", 1), ("b", 2)):
        run = machines.write_baseline(tmp_path / name, only=only, seed=seed) / "run.json"
        run.write_text(
            run.read_text(encoding="utf-8").replace('"clients": 16', '"clients": 1'), encoding="utf-8"
        )
    stored = source(str(tmp_path / "a"))
    names = [row[1].text for row in tables(page.build(stored, "en"))["table-scores"].rows]
    assert names.count("Primes, 1 thread") == 1
    assert len(names) == len(set(names)) == 4
    output = printed(page.brief(stored, "en"))
    assert output.count("Primes, 1 thread") == 1
    scores = {
        score["id"]: score for score in json.loads(json_renderer.render(page.data(stored, "en")))["scores"]
    }
    assert scores["cpu-all/events_per_s"]["same_as"] == "cpu-1/events_per_s"
    assert "same_as" not in scores["cpu-1/events_per_s"]
    both = tables(build(compared(str(tmp_path / "a"), str(tmp_path / "b")), "en"))["table-ratios"]
    assert [row[0].text for row in both.rows].count("Primes, 1 thread") == 1


def test_what_a_virtual_disk_says_of_itself_is_not_taken_for_a_kind(tmp_path: Path) -> None:
    for name, disk in (("one", "vda"), ("other", "nvme0n1")):
        host = {"hostname": name, "disks": [{"name": disk, "rotational": disk == "vda", "scheduler": "none"}]}
        (tmp_path / f"{name}.json").write_text(json.dumps({"host": host}))
    both = compared(str(tmp_path / "one.json"), str(tmp_path / "other.json"))
    (kind,) = [fact for fact in both.machines.facts if fact.key == "disk_kind"]
    assert kind.values == (None, "SSD")


def test_facts_are_said_in_the_readers_language_and_none_is_not_unknown(tmp_path: Path) -> None:
    facts: dict[str, dict[str, object]] = {
        "one": {"smt": "notsupported", "virtualisation": "none", "mitigations": {"meltdown": "Not affected"}},
        "other": {"smt": "on", "virtualisation": "kvm", "mitigations": {"meltdown": "Mitigation: PTI"}},
    }
    for name, fact in facts.items():
        (tmp_path / f"{name}.json").write_text(json.dumps({"host": {"hostname": name, **fact}}))
    both = compared(str(tmp_path / "one.json"), str(tmp_path / "other.json"))
    texts = {
        lang: [
            [cell.text for cell in row[1:3]] for row in tables(build(both, lang))["table-facts-differ"].rows
        ]
        for lang in ("en", "zh")
    }
    assert texts["en"] == [["none: a core has one thread", "on"], ["none", "meltdown"], ["none", "kvm"]]
    assert texts["zh"] == [["不支持：每核一个线程", "开启"], ["无", "meltdown"], ["无", "kvm"]]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_two_machines_on_a_terminal(two: Compared, lang: str) -> None:
    text = printed(brief(two, lang, "loadcell compare a b --out hosts.html"))
    assert max(cell_len(line) for line in text.splitlines()) <= 80 + len(
        "loadcell compare a b --out hosts.html"
    )
    assert ("假设" if lang == "zh" else "Hypothesis") in text
    assert "×1.5" in text


def test_their_json_has_everything(two: Compared) -> None:
    parsed = json.loads(document(two, "en").json())
    assert parsed["what"] == "hosts"
    (workload,) = parsed["workloads"]
    assert "memory-memcpy-1/mib_per_s" in workload["hypothesis"]
    assert workload["interval"] is not None
    assert {candidate["standing"] for candidate in workload["candidates"]} == {
        "near",
        "part",
        "alike",
        "against",
    }
    assert all(finding["text"] for finding in parsed["findings"])


def test_page_and_markdown_are_written_together(two: Compared, tmp_path: Path) -> None:
    written = document(two, "en").publish(("html", "md"), tmp_path)
    assert [path.name for path in written] == ["hosts.html", "hosts.md"]
    assert (tmp_path / "report-pictures" / "chart-ratios.svg").stat().st_size > 1000
    assert "Hypothesis" in (tmp_path / "hosts.md").read_text(encoding="utf-8")


def test_one_machine_measured_twice_has_two_names(home: Path) -> None:
    comparison = compared(str(home / "a"), str(home / "short"))
    assert [machine.label for machine in comparison.machines.machines] == ["bench-01 (a)", "bench-01 (short)"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not complete JSON"),
        ("[]", "has no description of a machine"),
        ('{"host": {}}', "has no description of a machine"),
        ('{"host": {"hostname": "x"}, "scores": [{"id": "a"}]}', "score a: there is no metric None"),
        ('{"host": {"hostname": "x"}, "scores": 5}', "score 1 is not a mapping"),
    ],
)
def test_a_file_that_is_no_machine_says_what_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(StoreError, match=message) as caught:
        source(str(path))
    assert "loadcell host --json" in caught.value.advice


def test_a_run_of_something_else_is_no_machine(home: Path) -> None:
    with pytest.raises(StoreError, match="is not a host benchmark"):
        source(str(home / "db-a"))


def test_a_machine_is_not_compared_with_itself(home: Path) -> None:
    with pytest.raises(StoreError, match="are the same"):
        compared(str(home / "a"), str(home / "a"))

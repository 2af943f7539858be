"""The report of a run that was profiled: what it says, and the flame graph in a real browser."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from browser import Browser
from loadcell import _engine
from loadcell.model.json import document
from loadcell.plan.profile import profile_kinds
from loadcell.report import write
from loadcell.report.brief import next_steps, of_run
from loadcell.report.build import build
from loadcell.report.context import ReportContext
from loadcell.report.profiles import presentations
from loadcell.report.render.markdown import render
from loadcell.store.query import trial_rows
from loadcell.store.read import read_run

HOSTILE = '<img src=x onerror="document.title=1">'
FOLDED = (
    "\n".join(
        [
            "postgres: checkpointer;main;write_[k] 40",
            "postgres: client backend;main;PostgresMain;[postgres] 120",
            "postgres: client backend;main;PostgresMain;exec;exec;parse 100",
            f"postgres: client backend;main;PostgresMain;exec;{HOSTILE} 60",
            "postgres: client backend;main;PostgresMain;send_[k];tcp_[k] 80",
        ]
    )
    + "\n"
)
SAMPLES = 400
SHAPE = "one repeat, no series"


def profiled(
    source: Path, home: Path, change: Callable[[dict[str, Any]], None] | None = None, prefix: str = "profile"
) -> Path:
    """A copy of a run, with a profile of its first treatment."""
    shutil.copytree(source, home)
    stored = read_run(home)
    like = stored.trials[0]
    name = f"{prefix}-{like.treatment}"
    trial_path = home / "trials" / name
    trial_path.mkdir()
    totals = {**document(like)["totals"], "throughput_per_s": 0.9 * like.totals.throughput_per_s}
    account = {
        "kind": "cpu", "tool": "perf", "samples": SAMPLES, "event": "cpu-clock", "frequency": 99,
        "call_graph": "dwarf",
    }  # fmt: skip
    trial_document = {
        **document(like), "name": name, "number": len(stored.planned) + 1, "repeat": 9, "block": 9,
        "role": "profile",
        "status": "ok", "totals": totals, "profile": account,
        "files": {"profile.folded": len(FOLDED), "profile.svg": 1}, "monitors": {},
    }  # fmt: skip
    if change is not None:
        change(trial_document)
    (trial_path / "trial.json").write_text(json.dumps(trial_document))
    if "profile.folded" in trial_document["files"]:
        (trial_path / "profile.folded").write_text(FOLDED)
        (trial_path / "profile.svg").write_text(_engine.flame_graph(FOLDED, "clients=1", "as tested"))
    run = {
        **document(stored.run),
        "unscored": [
            {key: trial_document[key] for key in ("number", "name", "treatment", "repeat", "block", "role")}
        ],
    }
    (home / "run.json").write_text(json.dumps(run))
    return home


@pytest.fixture(scope="module")
def run(runs: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return profiled(runs(SHAPE), tmp_path_factory.mktemp("profiled") / "run")


def section(path: Path, lang: str = "en") -> Any:
    return next(section for section in build(read_run(path), lang).sections if section.id == "profile")


def sentences(path: Path) -> str:
    """The text of the section in Markdown."""
    report = build(read_run(path))
    return render(replace(report, sections=[section(path)]))


def test_a_profile_is_in_nothing_but_its_own_section(run: Path, runs: Callable[[str], Path]) -> None:
    plain, with_profile = read_run(runs(SHAPE)), read_run(run)
    assert [trial.name for trial in with_profile.unscored] == ["profile-" + plain.trials[0].treatment]
    assert with_profile.trials == plain.trials
    assert with_profile.missing == plain.missing == []
    assert len(trial_rows([with_profile])) == len(plain.trials)
    sections = [section.id for section in build(with_profile).sections]
    assert [section.id for section in build(plain).sections] == [
        section for section in sections if section != "profile"
    ]
    for before, after in zip(
        build(plain).sections, [s for s in build(with_profile).sections if s.id != "profile"], strict=True
    ):
        if before.id != "reproduce":  # which names the directory
            assert before.blocks == after.blocks


def test_functions_and_processes_have_their_shares(run: Path) -> None:
    functions, processes = section(run).blocks[-2:]
    rows = {row[0].text: [cell.text for cell in row[1:]] for row in functions.rows}
    assert rows["[postgres]"] == ["no symbol", "30%", "30%", "120"]
    assert rows["parse"] == ["program and libraries", "25%", "25%", "100"]
    assert rows["exec"] == ["program and libraries", "0%", "40%", "0"]
    assert rows["tcp"] == ["kernel", "20%", "20%", "80"]
    assert rows["main"][2] == "100%"
    assert [row[0].text for row in functions.rows][:2] == ["[postgres]", "parse"]
    assert [[cell.text for cell in row] for row in processes.rows] == [
        ["postgres: client backend", "90%", "360"],
        ["postgres: checkpointer", "10%", "40"],
    ]


def test_the_widest_functions_are_named(run: Path) -> None:
    text = sentences(run)
    assert "Widest functions, by self time (at least 10% of the samples): parse 25%, tcp 20%" in text


@pytest.mark.parametrize(
    ("lang", "sentence"),
    [("en", "No function above 5.0%: the widest named function"), ("zh", "没有函数超过 5.0%：按自身时间计")],
)
def test_a_flat_profile_is_reported_as_such(
    runs: Callable[[str], Path], tmp_path: Path, lang: str, sentence: str
) -> None:
    home = profiled(runs(SHAPE), tmp_path / "run")
    [samples] = home.glob("trials/*/profile.folded")
    samples.write_text("".join(f"one;main;work{number} 10\n" for number in range(20)))
    report = build(read_run(home), lang)
    assert sentence in render(replace(report, sections=[section(home, lang)]))


def few(document: dict[str, Any]) -> None:
    """The profile's own account of a short one."""
    document["profile"]["samples"] = 12


def test_functions_that_no_share_is_known_of_are_one(runs: Callable[[str], Path], tmp_path: Path) -> None:
    home = profiled(runs(SHAPE), tmp_path / "run", few)
    [samples] = home.glob("trials/*/profile.folded")
    samples.write_text(
        "one;main;work;add 4\none;main;work;mul 2\none;main;once;deep 1\none;main;twice 3\ntwo;other 2\n"
    )
    functions, processes = section(home).blocks[-2:]
    assert [[cell.text for cell in row] for row in functions.rows] == [
        ["add", "program and libraries", "33%", "33%", "4"],
        ["main", "program and libraries", "0%", "83%", "0"],
        ["work", "program and libraries", "0%", "50%", "0"],
        ["all others (5)", "several kinds", "67%", "67%", "8"],
    ]
    assert "Of 12 samples." in functions.note
    assert "3 of 8 functions have their own row: first by self time, then" in functions.note
    assert [[cell.text for cell in row] for row in processes.rows] == [
        ["one", "83%", "10"],
        ["two", "<33%", "2"],
    ]
    assert [cell.text for cell in section(home, "zh").blocks[-2].rows[-1][:2]] == ["其余全部（5 个）", "多种"]


def test_what_it_cost_and_how_sure_it_is_are_said(run: Path) -> None:
    text = sentences(run)
    assert "400 samples of cpu-clock, 99 per second of CPU time" in text
    assert "an error of at most 2.9 percentage points" in text  # 1.96 * sqrt(0.1 * 0.9 / 400)
    assert "30% of the samples are in code without symbols" in text
    assert "During sampling, throughput was" in text
    assert "trials/profile-" in text


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (
            lambda trial: (
                trial.update(status="failed", reason="perf is not installed", advice="install it.", files={})
                or trial.pop("profile")
            ),
            "was not profiled: perf is not installed. Remedy: install it.",
        ),
        (lambda trial: trial.update(files={}), "no samples, because"),
    ],
)  # fmt: skip
def test_the_reason_is_reported_where_there_is_none(
    runs: Callable[[str], Path], tmp_path: Path, change: Callable[[dict[str, Any]], None], text: str
) -> None:
    assert text in sentences(profiled(runs(SHAPE), tmp_path / "run", change))


BARS = "[...document.querySelectorAll('.flame g[data-node]')]"
NAMES = f"{BARS}.map(bar => bar.getAttribute('aria-label').split(' – ')[0])"


def search(browser: Browser, text: str) -> str:
    browser.ask(
        f"(() => {{ const field = document.querySelector('.flame input'); field.value = {json.dumps(text)};"
        "field.dispatchEvent(new Event('input')); })()"
    )
    return str(browser.ask("document.querySelector('.flame .matched').textContent"))


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_it_can_be_searched_and_zoomed_in_the_page(browser: Browser, run: Path, lang: str) -> None:
    write(run, lang, ("html",))
    browser.open(run / "report.html", dark=lang == "zh")
    assert browser.complaints == []
    assert len(browser.ask(NAMES)) == 14
    assert HOSTILE in browser.ask(NAMES)
    assert browser.ask("document.title") != "1"

    assert search(browser, "EXEC").endswith("40.0%")  # one within the other is counted once
    assert browser.ask("document.querySelectorAll('.flame g.hit').length") == 2
    assert search(browser, "nothing has this name").endswith("0.0%")
    assert search(browser, "") == ""

    button = "document.querySelector('.flame button')"
    assert browser.ask(f"{button}.hidden") is True
    browser.ask(
        f"{BARS}.find(bar => bar.getAttribute('aria-label').startsWith('exec'))"
        ".dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    )
    everything = "all samples" if lang == "en" else "全部样本"
    assert sorted(browser.ask(NAMES)) == sorted([
        everything, "postgres: client backend", "main", "PostgresMain", "exec", "exec", "parse", HOSTILE,
    ])  # fmt: skip
    assert "40.0%" in browser.ask("document.querySelector('.flame .told').textContent")
    browser.ask(f"{button}.click()")
    assert len(browser.ask(NAMES)) == 14

    browser.press("Enter")  # the focus is on the root: nothing changes
    assert len(browser.ask(NAMES)) == 14
    assert browser.requests == [(run / "report.html").as_uri()]


def test_it_fits_a_narrow_page(browser: Browser, run: Path) -> None:
    write(run, "en", ("html",))
    browser.open(run / "report.html", width=400)
    wide = "document.querySelector('.flame svg').getBoundingClientRect().width <= innerWidth"
    assert browser.ask(wide)


def test_the_picture_beside_it_can_be_searched_by_itself(browser: Browser, run: Path) -> None:
    [picture] = run.glob("trials/profile-*/profile.svg")
    browser.show(picture)
    browser.wait_for("typeof search === 'function' && document.getElementById('matched') !== null")
    assert browser.complaints == []
    browser.ask("search('exec')")
    assert "40" in browser.ask("document.getElementById('matched').textContent")


OFF_CPU = (
    "postgres: client backend;main;exec;lockwait;futex_[k];schedule_[k] 3000000\n"
    "postgres: client backend;main;send;schedule_[k];waiting for a CPU_[k] 1000000\n"
)


def off_cpu_run(source: Path, home: Path) -> Path:
    def change(trial: dict[str, Any]) -> None:
        trial["profile"] = {
            "kind": "off-cpu", "tool": "perf", "samples": 800, "event": "context-switches", "waits": 900,
            "call_graph": "dwarf",
        }  # fmt: skip

    profiled(source, home, change)
    [file] = home.glob("trials/*/profile.folded")
    file.write_text(OFF_CPU)
    return home


@pytest.mark.parametrize(
    ("lang", "texts"),
    [
        ("en", ["On-CPU and off-CPU time", "900 waits of the target's threads, 800 of them",
                "4 s off CPU", "outside the kernel: lockwait 75%, send 25%", "Off-CPU flame graph"]),
        ("zh", ["On-CPU 与 off-CPU 时间", "被测系统线程共等待 900 次", "lockwait 75%", "off-CPU 火焰图"]),
    ],
)  # fmt: skip
def test_waits_are_reported_with_their_time(
    runs: Callable[[str], Path], tmp_path: Path, lang: str, texts: list[str]
) -> None:
    home = off_cpu_run(runs(SHAPE), tmp_path / "run")
    report = build(read_run(home), lang)
    text = render(replace(report, sections=[section(home, lang)]))
    for expected in texts:
        assert expected in text
    functions = section(home, lang).blocks[-2]
    times = {row[0].text: row[-1].text for row in functions.rows}
    assert (times["lockwait"], times["send"], times["schedule"]) == ("3 s", "1 s", "4 s")


ALLOCATED = "main;Service.serve_[j];byte[]_[i] 3145728\nmain;Service.serve_[j];java.lang.String_[i] 1048576\n"
WAITED = "pool;Service.serve_[j];java.lang.Object_[i] 3000000\n"
CLASSES = {
    "before": {"instances": 100, "bytes": 4096},
    "after": {"instances": 1100, "bytes": 4096 + 24000},
    "grown": 1,
    "classes": [
        {
            "name": "Service$Kept",
            "before": {"instances": 0, "bytes": 0},
            "after": {"instances": 1000, "bytes": 24000},
        }
    ],
}


def jvm_run(source: Path, home: Path, folded: str, **account: Any) -> Path:
    def change(trial: dict[str, Any]) -> None:
        trial["profile"] = {"tool": "async-profiler 4.3", "event": "x", "samples": 8, **account}
        if not folded:
            trial["files"] = {}

    profiled(source, home, change)
    for file in home.glob("trials/*/profile.folded"):
        file.write_text(folded)
    return home


@pytest.mark.parametrize(
    ("kind", "folded", "account", "texts", "amount"),
    [
        (
            "jvm-allocation",
            ALLOCATED,
            {"event": "alloc"},
            {
                "en": ["about 4 MiB allocated in", "from 8 samples", "byte[] 75%, java.lang.String 25%"],
                "zh": ["约分配 4 MiB", "由 8 个样本估计", "内存分配火焰图", "byte[] 75%"],
            },
            ["byte[]", "class", "75%", "75%", "3 MiB"],
        ),
        (
            "jvm-lock",
            WAITED,
            {"event": "lock"},
            {
                "en": ["waited about 3 s for contended locks", "from 8 samples", "lock: java.lang.Object"],
                "zh": ["合计约 3 s", "由 8 个样本估计", "锁等待火焰图"],
            },
            ["java.lang.Object", "class", "100%", "100%", "3 s"],
        ),
        (
            "jvm-cpu",
            FOLDED,
            {"event": "ctimer", "frequency": 99},
            {
                "en": ["400 samples of ctimer", "a timer of CPU time took the samples (ctimer)"],
                "zh": ["由 CPU 时间定时器采样（ctimer）"],
            },
            None,
        ),
        (
            "jvm-cpu",
            FOLDED,
            {"event": "cpu-clock:u", "frequency": 99},
            {"en": ["samples of user space only"], "zh": ["只允许在用户态采样"]},
            None,
        ),
        (
            "jvm-lock",
            "",
            {"event": "lock", "samples": 0},
            {"en": ["no wait for a contended lock was sampled"], "zh": ["没有采到对争用锁的等待"]},
            None,
        ),
    ],
)  # fmt: skip
def test_profiles_of_jvms_have_their_own_amounts(
    runs: Callable[[str], Path],
    tmp_path: Path,
    kind: str,
    folded: str,
    account: dict[str, Any],
    texts: dict[str, list[str]],
    amount: list[str] | None,
) -> None:
    home = jvm_run(runs(SHAPE), tmp_path / "run", folded, kind=kind, **account)
    for lang, expected in texts.items():
        report = build(read_run(home), lang)
        text = render(replace(report, sections=[section(home, lang)])).replace("\\", "")
        for part in expected:
            assert part in text
    if amount is not None:
        assert [cell.text for cell in section(home).blocks[-2].rows[0]] == amount


def test_every_kind_has_a_presentation() -> None:
    # that of the plugin of pytest is none of a plan
    assert set(presentations()) == {*profile_kinds(), "test-cpu"}


@pytest.mark.parametrize(
    ("lang", "texts"),
    [("en", ["does not know profiles of the kind page-faults (by perf 9)", "profile by function"]),
     ("zh", ["不认识类型为 page-faults 的剖析", "各函数在剖析中的占比"])],
)  # fmt: skip
def test_a_kind_of_a_later_version_is_not_shown_as_cpu_time(
    runs: Callable[[str], Path], tmp_path: Path, lang: str, texts: list[str]
) -> None:
    home = jvm_run(runs(SHAPE), tmp_path / "run", FOLDED, kind="page-faults", tool="perf 9")
    drawn = section(home, lang)
    text = render(replace(build(read_run(home), lang), sections=[drawn])).replace("\\", "")
    for expected in texts:
        assert expected in text
    for claim in ("CPU time", "CPU 时间", "samples of", "个样本"):
        assert claim not in text
    steps = next_steps(ReportContext.of(read_run(home), lang))
    [reason] = [reason for reason, command in steps if command.endswith("profile.svg")]
    assert "CPU" not in reason


def test_a_failed_profile_of_another_kind_is_not_shown_as_cpu_time(
    runs: Callable[[str], Path], tmp_path: Path
) -> None:
    def change(trial: dict[str, Any]) -> None:
        del trial["profile"]
        trial.update(status="failed", reason="it has no faults", advice="try again.", files={})

    text = sentences(profiled(runs(SHAPE), tmp_path / "run", change, "profile-page-faults"))
    assert "was not profiled: it has no faults" in text
    assert "CPU" not in text


@pytest.mark.parametrize(
    ("lang", "texts"),
    [("en", ["Classes with the largest growth", "live objects had 4 KiB before the load"]),
     ("zh", ["增长最多的类", "存活对象在压测前为 4 KiB"])],
)  # fmt: skip
def test_classes_that_grew_are_a_table(
    runs: Callable[[str], Path], tmp_path: Path, lang: str, texts: list[str]
) -> None:
    home = jvm_run(runs(SHAPE), tmp_path / "run", "", kind="jvm-classes", samples=0, classes=CLASSES)
    text = render(replace(build(read_run(home), lang), sections=[section(home, lang)]))
    for expected in texts:
        assert expected in text
    table = section(home, lang).blocks[-1]
    assert [cell.text for cell in table.rows[0]] == [
        "Service$Kept", "0", "1,000", "+1,000", "0 B", "23.4 KiB", "+23.4 KiB",
    ]  # fmt: skip
    brief = of_run(read_run(home), lang)
    [shown] = next(part for part in brief.sections if part.id == "memory").blocks
    assert shown.rows == table.rows

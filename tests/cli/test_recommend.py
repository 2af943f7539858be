"""`loadcell recommend RUN...`: the best level of each factor, in a terminal, as a page and as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fake_runs import Fate, Shape, write_run
from lines import CliRunner
from loadcell.cli import main

MEMORY = "target.postgres.settings.shared_buffers"
#: The second trial of the largest level has no result.
SHAPE = Shape(
    factors={MEMORY: ["64MB", "1GB", "30GB"], "load.clients": [4]},
    repeats=3,
    fates={6: Fate("timed-out", "the load did not end within its limit of 1 min")},
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("recommend") / "run", SHAPE)


def recommended(*words: str, lang: str = "en") -> str:
    done = CliRunner(env={"COLUMNS": "120"}).invoke(main, ["recommend", *words, "--lang", lang])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_each_level_has_its_values_and_its_result(run: Path) -> None:
    data = json.loads(recommended(str(run), "--json"))
    [of_run] = data["runs"]
    [factor] = of_run["factors"]
    assert factor["factor"] == MEMORY
    results = {level["level"]: level["result"] for level in factor["levels"]}
    assert sorted(results) == ["1GB", "30GB", "64MB"]
    broken = next(level for level in factor["levels"] if level["counting"] < level["trials"])
    assert broken["result"] == "unusable"
    assert all(level["p99"] > 0 for level in factor["levels"])


def test_the_terminal_has_evidence_and_a_command(run: Path) -> None:
    page = " ".join(recommended(str(run)).split())
    assert "1 of 3 trials failed" in page
    assert "the load did not end within its limit" in page
    assert f"loadcell run {run} --only shared_buffers=" in page, "with the options of the run"
    assert f"{MEMORY}:" in page


def test_the_page_is_written_in_chinese(run: Path, tmp_path: Path) -> None:
    path = tmp_path / "recommendation.html"
    recommended(str(run), "--out", str(path), lang="zh")
    page = path.read_text(encoding="utf-8")
    assert "变异系数（乖离率）" in page
    assert "不可用" in page


FSYNC = "target.postgres.settings.fsync"


@pytest.fixture
def two_factors(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run", Shape(factors={MEMORY: ["64MB", "1GB"], FSYNC: ["on", "off", "x"]}))


def _of_one(run: Path) -> Path:
    """The record of a trial of 1GB and x."""
    return next(path for path in sorted(run.glob("trials/*/trial.json")) if "1GB,fsync=x" in str(path))


def test_combinations_without_values_of_every_level_are_named(two_factors: Path) -> None:
    for path in two_factors.glob("trials/*1GB,fsync=x*/trial.json"):
        record = json.loads(path.read_text(encoding="utf-8"))
        path.write_text(json.dumps({**record, "status": "failed", "totals": None}), encoding="utf-8")
    terminal = " ".join(recommended(str(two_factors)).split())
    assert "compared without x, since a usable level has an unusable treatment or no values there" in terminal
    assert "1GB: 2 of 6 trials failed" in terminal
    assert "比较时未计入 x" in recommended(str(two_factors), lang="zh")


def test_a_missing_p99_has_its_reason(two_factors: Path) -> None:
    path = _of_one(two_factors)
    record = json.loads(path.read_text(encoding="utf-8"))
    record["totals"]["response"]["count"] = 50
    path.write_text(json.dumps(record), encoding="utf-8")
    terminal = " ".join(recommended(str(two_factors)).split())
    assert "No p99 of 1GB in at least one trial: fewer than 100 requests succeeded" in terminal
    assert "p99: compared without x" in terminal
    assert "不足 100 个" in recommended(str(two_factors), lang="zh")


def test_a_tool_without_a_p99_is_the_reason_of_none(two_factors: Path) -> None:
    path = _of_one(two_factors)
    record = json.loads(path.read_text(encoding="utf-8"))
    del record["totals"]["response"]["p99_ms"]
    path.write_text(json.dumps(record), encoding="utf-8")
    terminal = " ".join(recommended(str(two_factors)).split())
    assert "No p99 of 1GB in at least one trial: the tool reports none" in terminal
    assert "fewer than 100 requests" not in terminal
    assert "未报告" in recommended(str(two_factors), lang="zh")


def test_repeats_that_do_not_count_are_none(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run", Shape(factors={MEMORY: ["64MB", "1GB"]}, repeats=2))
    trials = {
        trial: json.loads(trial.read_text(encoding="utf-8")) for trial in path.glob("trials/*/trial.json")
    }
    for trial, record in trials.items():
        record["status"] = "invalid" if record["repeat"] == 2 else record["status"]
        trial.write_text(json.dumps(record), encoding="utf-8")
    assert "without repeats" in " ".join(recommended(str(path)).split())
    for trial, record in trials.items():
        record["status"] = "ok"
        record["totals"]["response"] = None
        record["totals"]["transactions"] = {"attempted": 0, "succeeded": 0}
        trial.write_text(json.dumps(record), encoding="utf-8")
    assert "without repeats" not in " ".join(recommended(str(path)).split()), "nothing to compare"


def test_a_run_without_its_plan_has_no_command(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run", SHAPE)
    (path / "plan.yaml").unlink()
    terminal = recommended(str(path))
    assert "Run the best levels again" not in terminal
    assert "Their settings" in terminal


def test_the_command_keeps_levels_of_factors_that_are_not_chosen(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run", SHAPE)
    record = json.loads((path / "run.json").read_text(encoding="utf-8"))
    record["only"] = ["clients=4", "shared_buffers=64MB", "shared_buffers=1GB"]
    (path / "run.json").write_text(json.dumps(record), encoding="utf-8")
    terminal = " ".join(recommended(str(path)).split())
    assert f"loadcell run {path} --only clients=4 --only shared_buffers=" in terminal
    assert terminal.count("--only") == 2


def test_disturbances_of_the_machine_are_stated_by_level(tmp_path: Path) -> None:
    shape = Shape(factors={MEMORY: ["64MB", "1GB"]}, repeats=3, noticed={3: ("steal", "noticed")})
    path = write_run(tmp_path / "run", shape)
    terminal = " ".join(recommended(str(path)).split())
    assert "The machine was disturbed in trials of these levels" in terminal
    assert "1 of 3 trials" in terminal
    assert "0 of 3" not in terminal, "only levels with a disturbance"
    assert "steal time of other virtual machines" in terminal
    assert "CPU 时间被宿主机抢占" in recommended(str(path), lang="zh")


def test_one_repeat_is_stated(tmp_path: Path) -> None:
    shape = Shape(factors={MEMORY: ["64MB", "1GB"], FSYNC: ["on", "off", "x"]}, repeats=1)
    path = write_run(tmp_path / "run", shape)
    terminal = " ".join(recommended(str(path)).split())
    assert terminal.count("The run has one repeat") == 2
    assert "--set repeats=6" in terminal


def test_a_criterion_that_decides_nothing_is_named(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run", Shape(factors={MEMORY: ["64MB", "1GB"]}, repeats=2))
    for trial in path.glob("trials/*=1GB*/trial.json"):
        record = json.loads(trial.read_text(encoding="utf-8"))
        record["totals"]["response"]["count"] = 50
        trial.write_text(json.dumps(record), encoding="utf-8")
    terminal = " ".join(recommended(str(path)).split())
    assert "p99: not compared, since not every usable level has values" in terminal
    assert "P99：未作比较" in recommended(str(path), lang="zh")


def test_several_runs_are_judged_one_by_one(run: Path) -> None:
    page = recommended(str(run), str(run))
    assert page.count("Run the best levels again") == 2


def test_a_run_without_a_factor_to_choose_from_is_an_error(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run", Shape(factors={"load.clients": [4, 8]}, repeats=2))
    done = CliRunner().invoke(main, ["recommend", str(path)])
    assert done.exit_code == 2
    assert "no factor with several levels" in done.output


@pytest.mark.parametrize("text", ["5", "-1%", "200%", "many"])
def test_a_limit_is_a_percentage(run: Path, text: str) -> None:
    done = CliRunner().invoke(main, ["recommend", str(run), "--most-failed", text])
    assert done.exit_code == 2
    assert "--most-failed" in done.output


#: Sizes of the report, on the machine of 32 GiB that the run has.
JVM = {
    "heap": "12GiB",
    "young": "5GiB",
    "direct": "10GiB",
    "collector": "G1",
    "properties": {"shards": 4, "je.maxMemoryPercent": 10, "je.maxOffHeapMemory": 1342177280},
}
SIZED = ("--memory", "64GiB", "--shards", "8")


@pytest.fixture(scope="module")
def jvm_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    factors = {"target.jvm.properties.je.maxMemoryPercent": [5, 10, 20]}
    path = tmp_path_factory.mktemp("recommend") / "jvm"
    return write_run(path, Shape(factors=factors, repeats=3, jvm=JVM))


def test_a_machine_gets_a_sizing_with_evidence(jvm_run: Path) -> None:
    sizing = json.loads(recommended(str(jvm_run), *SIZED, "--json"))["sizing"]
    assert sizing["heap_bytes"] == 24 * 2**30
    assert sizing["direct_bytes"] == 20 * 2**30
    assert sizing["off_heap_shard_bytes"] == 1280 * 2**20
    assert sizing["remaining_bytes"] == 10 * 2**30, (
        "64 without heap, direct memory and caches outside the heap"
    )
    assert sizing["settings"]["target.jvm.heap"] == "24GiB"
    assert sizing["settings"]["target.jvm.properties.shards"] == 8
    terms = {term["term"]: term for term in sizing["terms"]}
    assert terms["heap"]["evidence"] == terms["collector"]["evidence"] == "constant"
    assert terms["version"]["evidence"] == "unset"
    cache = terms["cache"]
    assert cache["evidence"] in ("best", "left")
    assert (len(cache["trials"]), cache["trials_of_other_levels"]) == (3, 6)
    assert cache["tested"]["target.jvm.properties.je.maxMemoryPercent"] * 4 / 100 == cache["coefficient"]


def test_the_terminal_and_the_page_have_the_formula(jvm_run: Path, tmp_path: Path) -> None:
    terminal = " ".join(recommended(str(jvm_run), *SIZED).split())
    assert "0.375 × memory" in terminal
    assert "0.5 × (memory − heap)" in terminal
    assert "memory − heap − direct − off-heap" in terminal
    assert "Direct memory: not tested. All trials that set it had direct: 10GiB" in terminal
    assert 'target.jvm.heap: "24GiB"' in terminal
    path = tmp_path / "recommendation.html"
    recommended(str(jvm_run), *SIZED, "--out", str(path), lang="zh")
    page = path.read_text(encoding="utf-8")
    assert "堆外缓存" in page
    assert "0.375 × memory" in page


def test_a_small_test_stands_for_a_smaller_machine(jvm_run: Path) -> None:
    words = ("--memory", "64GiB", "--shards", "4", "--tested-memory", "48GiB")
    sizing = json.loads(recommended(str(jvm_run), *words, "--json"))["sizing"]
    assert (sizing["heap_bytes"], sizing["tested_memory_bytes"]) == (16 * 2**30, 48 * 2**30)
    assert sizing["direct_bytes"] == 48 * 2**10 * 10 // 36 * 2**20, "rounded down to MiB"
    terminal = " ".join(recommended(str(jvm_run), *words).split())
    assert "The heap of the tested machine had 25% of 48 GiB" in terminal


def test_what_the_run_does_not_show_is_stated(jvm_run: Path) -> None:
    terminal = " ".join(recommended(str(jvm_run), "--memory", "100GiB", "--shards", "12").split())
    assert "The formula gives a heap of 37.5 GiB" in terminal
    assert "From 32 GiB to 40 GiB a heap lacks compressed object pointers" in terminal
    assert "a heap of 31 GiB is 2.58 times the largest one tested (12 GiB)" in terminal
    assert "12 shards, but at most 4 were tested" in terminal


#: The heap of a machine of 100 GiB is 37.5 GiB by the formula.
LARGE = ("--memory", "100GiB", "--shards", "4")


@pytest.mark.parametrize(
    ("changes", "words", "finding"),
    [
        (
            {"collector": "ZGC"},
            LARGE,
            "does not apply, since with ZGC no heap has compressed object pointers",
        ),
        (
            {"collector": None, "flags": {"ObjectAlignmentInBytes": 16}},
            LARGE,
            "since with ObjectAlignmentInBytes=16 object pointers are compressed below 64 GiB",
        ),
        (
            {"flags": {"G1HeapRegionSize": "2m"}},
            SIZED,
            "Left out of the settings: G1HeapRegionSize=2m. Sizes in flags fit the tested heap",
        ),
        ({"version": "5.0.73"}, SIZED, "Caches outside the heap are left out: version 5.0.73 has none"),
        (
            {"properties": {"shards": 8, "je.maxMemoryPercent": 20}},
            SIZED,
            "The caches in the heap together have 38.4 GiB and leave no room in the heap of 24 GiB",
        ),
    ],
)
def test_settings_that_do_not_fit_together_are_stated(
    tmp_path: Path, changes: dict[str, Any], words: tuple[str, ...], finding: str
) -> None:
    factors = {"target.jvm.properties.fill": ["100%", "120%"]}
    run = write_run(tmp_path / "run", Shape(factors=factors, repeats=2, jvm={**JVM, **changes}))
    done = CliRunner(env={"COLUMNS": "120"}).invoke(main, ["recommend", str(run), *words, "--lang", "en"])
    assert finding in " ".join(done.stdout.split())
    assert ("Settings for this machine" in done.stdout) is (done.exit_code == 0)
    assert done.exit_code == int("no room" in finding)


def test_a_sizing_that_does_not_fit_has_no_settings(tmp_path: Path) -> None:
    factors = {"target.jvm.properties.fill": ["100%", "120%"]}
    jvm = {**JVM, "direct": "18GiB"}
    run = write_run(tmp_path / "run", Shape(factors=factors, repeats=2, jvm=jvm))
    done = CliRunner(env={"COLUMNS": "120"}).invoke(main, ["recommend", str(run), *SIZED])
    terminal = " ".join(done.stdout.split())
    assert done.exit_code == 1
    assert "together need 70 GiB, more than the 64 GiB of the machine" in terminal
    assert "less direct memory (direct)" in terminal.replace("`", "")
    assert "--tested-memory" in terminal
    assert "Settings for this machine" not in terminal
    done = CliRunner().invoke(main, ["recommend", str(run), *SIZED, "--json"])
    sizing = json.loads(done.stdout)["sizing"]
    assert (done.exit_code, sizing["fits"], sizing["settings"]) == (1, False, {})


def test_a_flag_has_its_name_where_no_collector_is_set(tmp_path: Path) -> None:
    jvm = {**JVM, "collector": None, "flags": {"UseNUMA": True}}
    factors = {"target.jvm.properties.je.maxMemoryPercent": [5, 10]}
    run = write_run(tmp_path / "run", Shape(factors=factors, repeats=2, jvm=jvm))
    terminal = " ".join(recommended(str(run), *SIZED).split())
    assert "Collector and flags UseNUMA=true not tested" in terminal
    assert "target.jvm.flags.UseNUMA: true" in terminal


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--memory", "64"], "64GiB"),
        (["--memory", "64G", "--shards", "8"], "did you mean"),
        (["--memory", "10MB", "--shards", "8"], "at least 1GiB"),
        (["--memory", "-1GB", "--shards", "8"], "negative"),
        (["--memory", "64GiB", "--shards", "0"], "from 1 to 1024"),
        (["--memory", "64GiB", "--shards", "many"], "from 1 to 1024"),
        (["--memory", "64GiB"], "--memory requires --shards: add, for example, --shards 8"),
        (["--shards", "8"], "--shards requires --memory: add, for example, --memory 64GiB"),
        (
            ["--tested-memory", "1GB"],
            "requires --memory and --shards: add, for example, --memory 64GiB --shards 8",
        ),
        ([*SIZED, "--tested-memory", "1B"], "at least 1MiB"),
        ([*SIZED, "--tested-memory", "12GiB"], "does not fit"),
    ],
)
def test_a_machine_has_memory_and_shards(jvm_run: Path, words: list[str], problem: str) -> None:
    done = CliRunner().invoke(main, ["recommend", str(jvm_run), *words])
    assert done.exit_code == 2
    assert problem in done.output


def test_a_run_of_another_target_cannot_be_sized(run: Path) -> None:
    done = CliRunner().invoke(main, ["recommend", str(run), *SIZED])
    assert done.exit_code == 2
    assert "target jvm" in done.output
    assert "Traceback" not in done.output

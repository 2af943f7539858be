"""`loadcell show RUN TRIAL`: a trial wholly in the language of the reader."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from fake_runs import Shape, write_run
from lines import CliRunner
from loadcell.cli import main

SHAPE = Shape(
    factors={"load.clients": [4]},
    repeats=1,
    expect=("latency.p99 < 20ms",),
    noticed={1: ("steal", "noticed")},
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("show") / "run", SHAPE)


def shown(run: Path, language: str) -> str:
    result = CliRunner().invoke(main, ["show", str(run), "1", "--lang", language])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_trial_in_chinese_has_no_english_words(run: Path) -> None:
    page = shown(run, "zh")
    for text in ("吞吐量", "发起", "响应时间", "服务时间", "平均值", "P99.9", "警告", "测量"):
        assert text in page
    assert "CPU 时间被宿主机抢占" in page
    assert "利特尔法则（Little's Law） 正常" in " ".join(page.split())
    assert not re.search(r"counting-identity|littles-law|client-limit|sampling-gap", page)
    assert not re.search(r"\b(throughput|attempted|succeeded|mean|p\d+|met|missed|ok|measure)\b(?! <)", page)


def test_a_metric_has_its_unit(run: Path, tmp_path: Path) -> None:
    again = tmp_path / "run"
    shutil.copytree(run, again)
    [file] = again.glob("trials/*/trial.json")
    record = json.loads(file.read_text(encoding="utf-8"))
    record["totals"]["figures"] = {"pause": 26.48, "tpmC": 1234.0}
    record["totals"]["metrics"] = {"pause": {"kind": "time", "better": "lower", "headline": False}}
    file.write_text(json.dumps(record), encoding="utf-8")
    page = " ".join(shown(again, "en").split())
    assert "pause 26.5 ms" in page
    assert "tpmC 1,234" in page


def test_a_trial_in_english(run: Path) -> None:
    page = " ".join(shown(run, "en").split())
    for text in (
        "throughput",
        "in flight",
        "response time service time",
        "p99.9",
        "20ms met",
        "steal time warning",
    ):
        assert text in page
    assert "P99" not in page


@pytest.mark.parametrize(("language", "present", "absent"), [("zh", "P99", "，p99"), ("en", "p99", "P99")])
def test_metrics_have_one_form_of_percentiles(language: str, present: str, absent: str) -> None:
    page = CliRunner(env={"COLUMNS": "160"}).invoke(main, ["plans", "metrics", "--lang", language]).stdout
    assert present in page
    assert absent not in page

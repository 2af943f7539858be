"""The one catalogue of texts: complete in every language, and nothing in it that nobody says."""

from __future__ import annotations

import importlib
import itertools
import pkgutil
import re
import tomllib
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import get_args

import pytest

import loadcell
import loadcell.analysis
import loadcell.linux
import loadcell.report
from loadcell import lazy
from loadcell.analysis import error_codes
from loadcell.analysis.error_codes import error_meaning
from loadcell.model.catalogue import LANGUAGES, flattened, placeholders
from loadcell.model.catalogue import texts as catalogue
from loadcell.model.message import Message, declared, labelled
from loadcell.model.panels import aggregate_tables, all_panels, key_value_tables
from loadcell.report.texts import Texts
from loadcell.workloads.probe_options import (
    CpuOptions,
    DiskOptions,
    LatencyOptions,
    MemoryOptions,
    NetworkOptions,
    Test,
)
from loadcell.workloads.tool import Tool, ToolOptions
from loadcell.workloads.tpcc import Tpcc, TpccOptions

#: Every definition by which the machine is probed.
PROBES = (
    CpuOptions(),
    *(MemoryOptions(test=test) for test in get_args(Test)),
    LatencyOptions(),
    DiskOptions(),
    DiskOptions(direct=False),
    *(NetworkOptions.model_validate({"test": test}) for test in ("rr", "crr", "stream")),
)
NOTES = (
    {
        note
        for options in itertools.product((False, True), repeat=3)
        for note in Tpcc(
            TpccOptions(keying_time=options[0], think_time=options[1], limit_txns_per_min=options[2])
        ).notes()
    }
    | {note for section in PROBES for note in section.notes()}
    | {*Tool(ToolOptions(mbw="1")).notes()}
)


def sources() -> dict[str, str]:
    """Everything that says something: Python and templates of analysis and report."""
    homes = [Path(str(files(package))) for package in (loadcell.analysis, loadcell.linux, loadcell.report)]
    return {
        str(path): path.read_text(encoding="utf-8")
        for home in homes
        for path in home.rglob("*")
        if path.suffix in {".py", ".j2", ".js"}
    }


@cache
def composite_codes() -> frozenset[str]:
    """Every key that code puts together: those declared as labels anywhere in loadcell."""
    for module in pkgutil.walk_packages(loadcell.__path__, "loadcell."):
        if module.name != "loadcell.__main__":
            lazy.load(importlib.import_module(module.name))
    return labelled() | declared().keys()


def named() -> set[str]:
    """Every key that stands somewhere in quotes, with the suffixes that findings add to it."""
    quoted = {text for source in sources().values() for text in re.findall(r"[\"']([\w.-]+)[\"']", source)}
    endings = {ending for ending in quoted if ending.startswith(".")}
    panels = all_panels()
    codes = {
        code
        for panel in panels
        for code in (panel.title, *(line.name for line in (*panel.lines, *panel.alternative)))
    }
    for table in aggregate_tables():
        codes |= {table.title, f"{table.title}.note", *(column.heading for column in table.columns)}
    for served in key_value_tables():
        codes |= {served.title, f"{served.title}.note"}
    return quoted | codes | {key + ending for key, ending in itertools.product(quoted, endings)}


def test_every_text_is_there_in_every_language() -> None:
    assert {key: set(texts) for key, texts in catalogue().items() if set(texts) != set(LANGUAGES)} == {}
    assert [
        key for key, texts in catalogue().items() if not all(text.strip() for text in texts.values())
    ] == []


#: Texts with a placeholder for each language.
PER_LANGUAGE = frozenset({"progress.title"})


def test_every_language_has_the_same_placeholders() -> None:
    unequal = {
        key: texts
        for key, texts in catalogue().items()
        if key not in PER_LANGUAGE and len({placeholders(text) for text in texts.values()}) != 1
    }
    assert unequal == {}


def test_placeholders_are_well_formed() -> None:
    remaining = {
        key: text
        for key, texts in catalogue().items()
        for text in texts.values()
        if set("{}") & set(re.sub(r"\{\w+(\|[^|{}]*\|[^|{}]*|:units)?\}", "", text))
    }
    assert remaining == {}


def test_a_sentence_ends_as_one_in_every_language() -> None:
    """A text that ends with a full stop does so in both languages; `...` is none."""
    unequal = {
        key: texts
        for key, texts in catalogue().items()
        if texts["en"].removesuffix("...").endswith((".", "!", "?"))
        != texts["zh"].endswith(("。", "！", "？"))
    }
    assert unequal == {}


def test_chinese_is_chinese() -> None:
    """Only marks, units and names that are the same in both languages may lack a Chinese character."""
    same = {key for key, texts in catalogue().items() if texts["en"] == texts["zh"]}
    assert same == {
        "mark.none",
        "mark.quoted",
        "column.number",
        "series.cpu",
        "series.wal",
        "env.cpu",
        "figure.iops",
        "unit.MiB",
        "unit.MiB.many",
        "unit.MiB.short",
        "column.law.sigma",
        "column.law.kappa",
        "compact.ms",
        "lost.advice.exact",
        "connect-failed.advice.exact",
        "load.other.advice.exact",
        "run.damaged-record",
        "tool.no-placeholder.advice",
        "baseline.unknown.advice",
        "engine.error",
        "error.with-remedy.below",
        "engine.script",
        "engine.script-shell",
        "engine.spec.script",
        "allowed.names",
        "plan.found-no-name.advice",
        "plan.group-unknown-setting.advice",
        "plan.not-utf8.advice",
        "plan.placement-impossible",
        "plan.restated",
        "plan.single-value.advice",
        "plan.unknown-key.advice",
        "plan.unknown-level.advice",
        "plan.unknown-monitor.advice",
        "plan.unknown-setting.advice",
        "plan.unknown-target.advice",
        "plan.unknown-workload.advice",
        "plan.yaml-invalid.advice",
        "plan.yaml-unintelligible.advice",
        "tool.unknown-placeholder.advice",
    }
    latin = {
        key for key, texts in catalogue().items() if not re.search(r"[\u3400-\u9fff]", texts["zh"])
    } - same
    assert latin == {
        "found.figure", "found.figure.alone", "hosts.found.why", "hosts.found.why.bare", "limit.candidate",
        "limit.candidate.lacking", "limit.case",
        "mark.list", "evidence.separator", "compare.treatments-of-run",
        "fault.management-answer",
        "fault.range", "fault.verdict-of", "found.faults.case",
        "mark.colon", "mark.detail", "mark.of", "mark.semicolon", "figure.of-part", "compare.place.bare",
            "compare.terminal.why",
        "column.p50", "column.p95", "column.p99", "column.percentile", "progress.p99", "show.column.p99",
        *(f"statistic.{name}" for name in ("p50", "p90", "p95", "p99", "p99.9", "p99.99")),
        "compare.percentile", "series.full-gc", "series.young-gc", "tail.p99_ms",
        "series.p50", "series.p95", "series.p99", "terminal.p50", "terminal.p95", "terminal.p99",
        "compare.refused", "compare.refused.differences", "compare.changed", "compare.levels-measure",
        "progress.course", "progress.unscored.failed", "progress.without-result",
        "import.unread-line", "progress.phase-ended", "progress.title",
        "load.other", "tool.failed", "damaged", "ycsb.file-remarks", "hosts.bad-scores",
        "benchmarksql.file-remarks",
        "error.with-remedy", "error.with-remedy.continued", "metric-meaning.of-group", "check-page.placement",
        "compare.summary.title", "compare.summary.title.slower", "compare.summary.gate.rows",
        "found.plan-differs.of", "plans.plan",
        "found.faults.management.case", "found.faults.groups.case", "found.expect.case",
        "best-level.criterion.p99", "service.ended",
        "found.expect.of-fault", "fault.timing.both", "fault.timing.amount", "errors.of-fault",

    }  # fmt: skip


def labels() -> set[str]:
    """The keys of the report's texts; those of messages are declared (tests/model/test_catalogue.py)."""
    home = Path(str(files(loadcell.report)))
    return {
        key
        for file in home.glob("messages*.toml")
        for key in flattened(tomllib.loads(file.read_text(encoding="utf-8")))
    }


def test_no_key_is_unused() -> None:
    assert labels() - named() - composite_codes() - metric_names() == set()


def metric_names() -> set[str]:
    """The keys of metrics that a workload, a tool or a monitor reports under that name."""
    home = Path(str(files(loadcell)))
    quoted = {
        text
        for path in home.rglob("*.py")
        if not path.is_relative_to(home / "report")
        for text in re.findall(r"[\"']([\w.-]+)[\"']", path.read_text(encoding="utf-8"))
    }
    return {f"figure.{name}" for name in quoted}


def test_notes_of_workloads_are_labels() -> None:
    assert {f"note.{note}" for note in NOTES} == {key for key in labelled() if key.startswith("note.")}


def test_no_key_is_missing() -> None:
    families = {key.split(".")[0] for key in catalogue()}
    looks_like_one = re.compile(rf"({'|'.join(families)})(\.[a-z0-9_-]+)+")
    other = {"page.js", "page.html", "page.css"}
    asked = {key for key in _in_calls() if looks_like_one.fullmatch(key)} - other
    assert asked - set(catalogue()) == set()
    assert composite_codes() - set(catalogue()) == set()


def _in_calls() -> set[str]:
    """The keys passed to a catalogue, a Message or a Line."""
    call = re.compile(r"""(?:texts|Message|t|Line|Panel|or_none)\((?:"[\w-]+", )?"([\w.-]+)\"""")
    return {key for source in sources().values() for key in call.findall(source)}


def test_templates_hold_no_prose() -> None:
    for path, source in sources().items():
        if path.endswith((".html.j2",)):
            bare = re.sub(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}|<[^>]*>", " ", source, flags=re.DOTALL)
            assert re.findall(r"[^\W\d_]{2,}", bare) == [], path
        if path.endswith(".js"):
            code = re.sub(r"^\s*//.*$|/\*.*?\*/", "", source, flags=re.MULTILINE)
            texts = re.findall(r"\"([^\"]*)\"", code)
            assert [text for text in texts if re.search(r"[A-Z]?[a-z]+ [a-z]+ ", text)] == [], path


def test_numbers_are_written_by_their_unit_and_plurals_by_their_number() -> None:
    texts = Texts("en")
    assert texts("count.failed", count=1200) == "1,200 failed"
    assert texts("done.lengths", warmup_s=5.0, duration_s=90.0) == (
        "Each trial had a warm-up of 5 s under load and a measurement of 1 min 30 s."
    )
    assert texts("found.check.unknown", check="x", count=1, of=1) == "x: 1 of 1 trial."
    assert texts("found.check.unknown", check="x", count=1, of=2) == "x: 1 of 2 trials."


def test_phrases_stand_in_phrases_and_lists_are_joined_as_the_language_does() -> None:
    phrase = Message(
        "found.trials.some",
        {
            "ok_count": 1, "count": 3,
            "others": (Message("count.failed", {"count": 1}), Message("count.invalid", {"count": 1})),
        },
    )  # fmt: skip
    assert "1 failed, 1 invalid" in Texts("en").message(phrase)
    assert "1 次失败、1 次无效" in Texts("zh").message(phrase)


def test_what_throughput_counts_is_called_what_the_workload_counts() -> None:
    failed = Message("found.errors.some", {"count": 2, "failed_share": 0.01})
    message = Message("found.errors.some", {"count": 1, "failed_share": 0.01})
    assert Texts("en").message(failed).startswith("2 transactions failed")
    assert Texts("en", "request").message(failed).startswith("2 requests failed")
    assert Texts("en", "request").message(message).startswith("1 request failed")
    assert Texts("zh").message(failed).startswith("有 2 个事务失败（占已结束事务的")
    assert Texts("zh", "request").message(failed).startswith("有 2 个请求失败（占已结束请求的")
    assert Texts("zh", "operation").message(failed).startswith("有 2 次操作失败（占已结束操作的")
    assert Texts("en", "operation")("column.transactions") == "Operations"
    assert Texts("en", "request")("terminal.throughput") == "req/s"
    marked = in_brackets(Texts("en", "request"), message)
    assert marked.startswith("[1] request failed ([1.0%]")


def in_brackets(texts: Texts, phrase: Message, plain: Callable[[str], str] = str) -> str:
    """A phrase with its numbers in brackets, and everything else passed through `plain`."""
    return "".join(f"[{text}]" if figure else plain(text) for text, figure in texts.parts(phrase))


def test_the_words_of_the_unit_are_no_parameters() -> None:
    assert placeholders("{count} {count:units} of {units}, {Units} a {unit} ({unit_short}/s)") == {"count"}


def test_numbers_are_marked_and_everything_is_passed_through_the_escape() -> None:
    phrase = Message("found.at-edge", {"treatment": "<b>"})
    text = in_brackets(Texts("en"), phrase, str.upper)
    assert text.startswith("[<b>] WAS THE HIGHEST LEVEL TESTED")


def test_what_to_do_is_a_sentence_and_no_figure() -> None:
    advice = Message("advice.neighbour")
    phrase = Message(
        "found.check.advice",
        {"check": Message("check-name.neighbour"), "count": 3, "of": 4, "advice": advice},
    )
    assert in_brackets(Texts("en"), phrase).endswith("[3] of [4] trials. Run one experiment at a time.")


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(ValueError, match="there are en, zh"):
        Texts("fr")


def test_a_missing_parameter_is_a_mistake() -> None:
    with pytest.raises(KeyError):
        Texts("en")("count.failed")


def test_codes_mean_in_english_what_the_record_says() -> None:
    meanings = {key: texts["en"] for key, texts in catalogue().items() if key.startswith("code.")}
    recorded = {f"code.{code}": error_codes.meaning(code) for code in error_codes.MEANINGS}
    recorded |= {code.code: code().text for code in error_codes.CLASSES.values()}
    assert meanings == recorded
    assert error_codes.meaning("23505") == "a unique key already existed"
    assert error_codes.meaning("08P01") == "connection exception"


def test_a_code_is_in_the_readers_language_or_as_recorded() -> None:
    zh = Texts("zh")
    assert zh.value("meaning", error_meaning("23505", "a unique key already existed")) == "唯一键已存在"
    assert zh.value("meaning", error_meaning("23999", "?")) == "违反完整性约束"
    assert zh.value("meaning", error_meaning("gone", "as recorded")) == "as recorded"


def test_chinese_and_latin_have_a_blank_between_them_also_where_a_placeholder_is() -> None:
    zh = Texts("zh")
    percentile = zh("compare.metric.percentile", percent="50")
    assert zh("compare.place", metric=percentile, context="写入 8", change=0.05).startswith(
        "写入 8 时的 P50 响应时间"
    )
    assert zh("compare.place", metric="吞吐量", context="写入 8", change=0.05).startswith("写入 8 时的吞吐量")
    marked = in_brackets(zh, Message("compare.place", {"metric": "p50", "context": "c", "change": 0.05}))
    assert marked.startswith("[c] 时的 [p50]（")


@pytest.mark.parametrize(
    ("language", "key", "names", "text"),
    [
        ("en", "series.unmatched", ["a", "b", "c"], "there were no samples for the metrics a, b and c"),
        ("en", "series.unmatched", ["a", "b"], "there were no samples for the metrics a and b"),
        ("en", "series.unmatched", ["a"], "there were no samples for the metrics a"),
        ("zh", "series.unmatched", ["a", "b", "c"], "指标 a、b 和 c 没有样本"),
        ("zh", "series.unmatched", ["a = 40%", "b"], "指标 a = 40% 和 b 没有样本"),
        ("zh", "series.unmatched", ["吞吐量", "延迟"], "指标 吞吐量和延迟 没有样本"),
        ("en", "faults.several", ["a", "b", "c"], "x is the beginning of several identifiers: a, b, c"),
        ("zh", "faults.several", ["a", "b", "c"], "x 是多个 ID 的开头：a、b、c"),
        ("en", "allowed.names", ["a", "b", "c"], "a, b, c"),
        ("en", "allowed.effect", ["a", "b", "c"], "one of a, b, c"),
        ("en", "allowed.choice", ["a", "b"], "a, b or z"),
        ("zh", "allowed.choice", ["a", "b"], "a、b 或 z"),
        ("zh", "kv.placeholder", ["a", "b"], "没有占位符 `x`：可用 a 和 b"),
    ],
)
def test_a_list_in_a_sentence_has_an_and(language: str, key: str, names: list[str], text: str) -> None:
    """Behind a colon, in a choice or before further items it is a bare list."""
    entry = catalogue()[key][language]
    (placeholder,) = placeholders(entry) - {"id", "last", "name"}
    arguments = {"id": "x", "name": "x", "last": "z", placeholder: names}
    assert Texts(language)(key, **{name: arguments[name] for name in placeholders(entry)}) == text
    if language == "en":
        assert Message(key, arguments).text == text


def test_all_of_several_are_no_ratio_in_chinese() -> None:
    texts = Texts("zh")
    assert texts("found.checks", count=5, of=5, checks="x") == "全部 5 次试验出现有效性警告：x。"
    assert texts("found.checks", count=2, of=5, checks="x") == "5 次试验中有 2 次出现有效性警告：x。"
    better = texts("compare.places.faster", other="B", other_count=1, count=3, of=3, places="x")
    assert better == "在其余 3 项数据中，B 都更好：x。"


def test_a_share_above_all_digits_is_a_word_in_chinese() -> None:
    text = Texts("zh")("limit.load.offered", achieved_share=0.99999)
    assert text == "被测系统完成了超过 99.9% 的目标速率"


@pytest.mark.parametrize(("count", "subject"), [(1, "It"), (2, "Any of them")])
def test_one_different_setting_is_no_plural(count: int, subject: str) -> None:
    text = Texts("en")("compare.differs.plan", count=count, paths=["load.clients", "order"][:count])
    assert f"{subject} may be the cause of a difference in the results." in text

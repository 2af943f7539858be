"""Why trials failed, were stopped or are invalid, in the reader's language; as recorded where the catalogue
has no more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fake_runs import Fate, Shape, write_run
from loadcell.analysis.error_codes import remedy, why
from loadcell.execution.checks import CHECK_CLIENT_LIMIT
from loadcell.execution.context import PHASE_PREPARE, TIMED_OUT_WITHIN
from loadcell.model import catalogue
from loadcell.model.engine_messages import engine_failure, failure_remedy, load_failure, load_outcome
from loadcell.model.message import Message, as_written
from loadcell.model.trial_record import TrialRecord
from loadcell.report import write
from loadcell.report.texts import Texts
from loadcell.store.read import DAMAGED_CUT_OFF, LEFT_LINES, Damage
from loadcell.systems.redis.connection import REDIS_MAXMEMORY, SERVER_CANNOT, WHERE_SERVER
from loadcell.systems.shared.data_sets import DOING_DROP_DATA_SETS
from loadcell.systems.shared.server_errors import CONNECTION_REFUSED
from records import trial


def record(reason: Message, **fields: Any) -> TrialRecord:
    """Record of a trial with this reason."""
    of_reason = {
        "reason": reason.text, "advice": reason.advice,
        "reason_code": reason.code, "reason_args": reason.plain_arguments,
    }  # fmt: skip
    return trial(**{**of_reason, **fields})


def reason_and_advice(of: TrialRecord, language: str = "zh") -> tuple[str, str]:
    """Message and advice."""
    texts = Texts(language)
    return texts.recorded(why(of)), texts.recorded(remedy(of))


CLOSED = CONNECTION_REFUSED(where="127.0.0.1:6379", said="Connection refused")


def test_a_code_is_in_the_readers_language_with_the_servers_words_as_they_are() -> None:
    assert reason_and_advice(record(CLOSED)) == (
        "127.0.0.1:6379 没有服务器响应：“Connection refused”",
        "请检查主机和端口，以及服务器是否在运行并在那里监听",
    )
    assert reason_and_advice(record(CLOSED), "en") == (CLOSED.text, CLOSED.advice)


def test_numbers_are_written_as_the_report_writes_them() -> None:
    late = TIMED_OUT_WITHIN(phase=PHASE_PREPARE(), limit="prepare", limit_s=90.0)
    assert reason_and_advice(record(late))[0] == "准备未在 1 min 30 s 的时限内结束"
    assert reason_and_advice(record(late), "en")[0] == "prepare did not end within its limit of 1 min 30 s"


def test_a_reason_within_a_reason_is_in_the_same_language_and_lends_its_advice() -> None:
    full = REDIS_MAXMEMORY(where=WHERE_SERVER(), said="OOM")
    assert reason_and_advice(record(SERVER_CANNOT(doing=DOING_DROP_DATA_SETS(), why=full))) == (
        "无法删除数据集：服务器已用尽其 maxmemory：“OOM”",
        "请提高它，或减少加载的键",
    )


def test_that_the_target_died_stands_round_the_reason() -> None:
    died = replace(record(CLOSED), reason="the target died during the load (...)", died_during="load")
    assert (
        reason_and_advice(died)[0]
        == "被测系统在负载阶段异常退出（127.0.0.1:6379 没有服务器响应：“Connection refused”）"
    )
    assert reason_and_advice(died)[1].startswith("请检查主机和端口")
    unknown = trial(reason="the target died during up (x)", died_during="up", advice="y")
    assert reason_and_advice(unknown) == ("the target died during up (x)", "y")


def failed(code: str, step: str, **arguments: str) -> Message:
    return engine_failure({"code": code, "reason": {"code": step, "args": arguments}})


def test_what_the_engine_says_is_quoted_behind_what_it_means() -> None:
    failure = load_failure("spec", "the plan is odd", as_written("mend it"))
    assert reason_and_advice(record(failure)) == ("引擎不接受对它的要求（“the plan is odd”）", "mend it")
    assert reason_and_advice(record(failure), "en") == ("the plan is odd", "mend it")
    of_server = load_failure("42P01", "cannot copy: no such table", None)
    assert reason_and_advice(record(of_server)) == ("表不存在（“cannot copy: no such table”）", "")
    assert reason_and_advice(record(load_failure("IOException", "it broke", None)))[0] == "it broke"


def test_the_activity_of_the_engine_is_in_the_readers_language() -> None:
    failure = record(failed("OOM", "engine.fill-keys", said="command not allowed"))
    assert reason_and_advice(failure, "en")[0].startswith("cannot fill the keys: command not allowed")
    assert "无法写入各键：command not allowed" in reason_and_advice(failure)[0]
    store = record(failed("no-space", "engine.load-store", path="/a", said="No space left on device"))
    assert (
        reason_and_advice(store)[0]
        == "设备上没有剩余空间（“无法把数据加载到 /a 中的存储：No space left on device”）"
    )


@pytest.mark.parametrize(
    ("protocol", "code", "zh"),
    [
        ("resp", "OOM", "请提高它、选择会淘汰数据的 maxmemory-policy"),
        ("mysql", "1461", "请提高服务器的 max_prepared_stmt_count"),
        ("store", "no-space", "请腾出空间，或在 `target.store.data` 中指定另一设备上的目录"),
        ("host", "io-uring", "请使用 `engine: psync` 并增加客户端"),
    ],
)
def test_the_advice_of_the_engine_is_in_the_readers_language(protocol: str, code: str, zh: str) -> None:
    advice = catalogue.texts()[f"remedy.{protocol}.{code}"]["en"]
    failure = record(load_failure(code, "cannot load", failure_remedy(protocol, code)))
    assert reason_and_advice(failure, "en")[1] == advice
    assert zh in reason_and_advice(failure)[1]


def test_values_of_the_engine_make_the_sentence_exact() -> None:
    words = {"finding": "12000 requests were due ...", "advice": "lower the rate"}
    figures = {
        "waiting": 12_000,
        "overdue_s": 3.21,
        "due_per_s": 5012.3,
        "ended_per_s": 1043.8,
        "clients": 16,
    }
    overloaded = trial(reason=words["finding"], advice=words["advice"], reason_code="overloaded")
    assert reason_and_advice(replace(overloaded, reason_args=words))[0] == (
        "请求速率超过被测系统的承受能力，积压不断增长（“12000 requests were due ...”）"
    )
    assert reason_and_advice(replace(overloaded, reason_args={**words, **figures}))[0] == (
        "有 12,000 个请求未能按计划发出，最早的已逾期 3.2 s，且积压仍在增长："
        "目标速率每秒 5,012 个，每秒完成 1,044 个，共 16 个连接"
    )
    assert reason_and_advice(replace(overloaded, reason_args={**words, **figures}), "en")[0].startswith(
        "12,000 scheduled requests could not be sent, the oldest for 3.2 s, "
        "and the backlog grew: 5,012/s offered"
    )


def test_an_end_without_values_is_in_the_readers_language_alone() -> None:
    stopped = trial(
        reason="the load was stopped before its end", advice="run it again", reason_code="stopped"
    )
    assert reason_and_advice(stopped) == ("负载在到时之前被停止", "请重新运行该试验")
    assert reason_and_advice(stopped, "en") == (stopped.reason, stopped.advice)
    unsettled = replace(stopped, reason_code="unsettled", reason_args={"limit_s": 5.0})
    assert reason_and_advice(unsettled)[0] == "预热的最后一批请求在 5 s 内没有得到响应"


def test_the_remedy_for_refused_connections_is_in_the_readers_language() -> None:
    arguments = {
        "refused": 1, "clients": 9, "where": "a", "said": "b", "code": "53300", "group": "g", "here": False,
    }  # fmt: skip
    full = load_outcome("connect-failed", arguments, "postgres")
    assert reason_and_advice(record(full)) == (
        "客户端组 g：9 个客户端中有 1 个无法连接到 a：“b”",
        "请提高服务器的 max_connections，或减少客户端",
    )
    assert (
        reason_and_advice(record(full), "en")[1]
        == "raise max_connections on the server, or use fewer clients"
    )
    unknown = Message("lost", {"code": "odd", "finding": "x", "advice": "y"}, recorded=("x", "y"))
    assert reason_and_advice(record(unknown)) == (
        "被测系统失联（“x”）",
        "请确认被测系统仍在运行且可以连接（“y”）",
    )


def test_the_group_whose_load_ended_is_named_before_the_exact_sentence() -> None:
    words = {
        "finding": "client group a: no client could connect to 127.0.0.1:80 for 5 s",
        "advice": "see the port",
    }
    lost = trial(reason=words["finding"], advice=words["advice"], reason_code="lost")
    figures = {"group": "a", "where": "127.0.0.1:80", "said": "Connection refused"}
    assert reason_and_advice(replace(lost, reason_args={**words, **figures}))[0] == (
        "客户端组 a：无法再访问 127.0.0.1:80：“Connection refused”"
    )
    silent = {**words, **figures, "said": {"code": "nothing-said"}}
    assert (
        reason_and_advice(replace(lost, reason_args=silent))[0]
        == "客户端组 a：无法再访问 127.0.0.1:80：“没有任何输出”"
    )
    assert reason_and_advice(replace(lost, reason_args={**words, "group": "a"}), "en")[0] == words["finding"]
    assert reason_and_advice(replace(lost, reason_args={**words, **figures, "group": ["a"]}))[0].startswith(
        "无法再访问 127.0.0.1"
    )


@pytest.mark.parametrize(
    "more",
    [
        {"reason_code": None, "reason_args": {}},
        {"reason_code": "a-code-of-later", "reason_args": {"x": 1}},
        {"reason_args": {}},
        {"reason_args": None},
        {"reason_args": {"where": {"code": "nowhere"}, "said": None}},
        {"reason_args": {"where": ["a"], "said": {"args": 3}}},
    ],
)
def test_what_has_no_code_here_or_lacks_its_arguments_stands_as_recorded(more: Mapping[str, Any]) -> None:
    assert reason_and_advice(record(CLOSED, **more))[0] == CLOSED.text


def test_records_of_before_stand_as_they_are() -> None:
    before = trial(reason="the clients could not connect", advice="See output.log.")
    assert reason_and_advice(before) == ("the clients could not connect", "See output.log.")
    overloaded = replace(before, reason_code="overloaded")
    assert reason_and_advice(overloaded)[0] == before.reason
    assert reason_and_advice(trial()) == ("", "")


def test_files_that_are_not_whole_are_said_in_the_readers_language() -> None:
    damage = Damage(
        "trials/001/host.csv",
        DAMAGED_CUT_OFF(size="81", whole="90"),
        LEFT_LINES(count=7),
    )
    assert str(damage) == "trials/001/host.csv: is truncated (81 of 90 bytes); its first 7 lines are used"
    assert (
        Texts("zh").message(damage.reason)
        == "trials/001/host.csv：已被截断（90 字节中只有 81 字节）；使用其前 7 行"
    )


def test_a_report_says_them_in_both_languages(tmp_path: Path) -> None:
    limit = CHECK_CLIENT_LIMIT()
    fates = {
        1: Fate("failed", CLOSED.text, CLOSED.advice, code=CLOSED.code, args=CLOSED.plain_arguments),
        2: Fate(
            "invalid", limit.text, limit.advice, measured=True, code=limit.code, args=limit.plain_arguments
        ),
        3: Fate("failed", "<b>as it was said</b>", "do something"),
    }
    run = write_run(tmp_path / "run", Shape(fates=fates, seconds=10, monitors=False))
    [page] = write(run, "zh", ["html"], tmp_path / "zh.html")
    text = page.read_text(encoding="utf-8")
    assert "没有服务器响应：“Connection refused”" in text
    assert "瓶颈在压测端：其某个线程" in text
    assert "&lt;b&gt;as it was said&lt;/b&gt;" in text
    assert "no server responds at" not in text
    [page] = write(run, "en", ["html"], tmp_path / "en.html")
    assert "no server responds at 127.0.0.1:6379: Connection refused" in page.read_text(encoding="utf-8")

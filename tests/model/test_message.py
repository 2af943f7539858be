"""Messages: codes with checked arguments, in English for records."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadcell.execution.context import PHASE_PREPARE, TIMED_OUT_WITHIN
from loadcell.model.engine_messages import engine_failure, error_remedy, load_failure, load_outcome
from loadcell.model.message import ForeignText, MessageCode, MessageError, Seconds, as_written
from loadcell.systems.base import HOME_NOT_USABLE, TARGET_NOT_UP, TargetError
from loadcell.systems.mysql.server import MYSQL_MISSING
from loadcell.systems.redis.connection import REDIS_MAXMEMORY, SERVER_CANNOT, WHERE_SERVER
from loadcell.systems.shared.data_sets import DOING_DROP_DATA_SETS
from loadcell.systems.shared.disk_image import IMAGE_NO_ROOM
from loadcell.workloads.tool_runner import TOOL_NO_FIGURE


def remedy_code(protocol: str, code: str) -> str | None:
    remedy = error_remedy(protocol, code)
    return remedy and remedy.code


def test_a_code_says_what_was_found_and_what_to_do() -> None:
    reason = HOME_NOT_USABLE(path=Path("/a"), said="Permission denied", kind="redis")
    assert reason.text == "cannot use /a: Permission denied"
    assert reason.advice == "name a directory in `target.redis.data` that loadcell may write to"
    assert reason.plain_arguments == {"path": "/a", "said": "Permission denied", "kind": "redis"}


def test_numbers_are_written_with_their_unit_and_lists_are_joined() -> None:
    phase = PHASE_PREPARE()
    assert TIMED_OUT_WITHIN(phase=phase, limit="prepare", limit_s=1.5).text == (
        "prepare did not end within its limit of 1.5 s"
    )
    room = IMAGE_NO_ROOM(size="9GiB", path="/a", free_bytes=3 * 2**29, kind="mysql")
    assert room.text == "no space for an image of 9GiB in /a (1.50 GiB free)"
    assert MYSQL_MISSING(places=("/usr/sbin", "/opt")).text.endswith("and /usr/sbin, /opt)")
    assert TOOL_NO_FIGURE(program="ab", count=1200).text.endswith("(lines not understood: 1,200)")


def test_a_reason_stands_in_a_reason_and_lends_it_its_advice() -> None:
    why = REDIS_MAXMEMORY(where=WHERE_SERVER(), said="OOM")
    reason = SERVER_CANNOT(doing=DOING_DROP_DATA_SETS(), why=why)
    assert reason.text == "cannot drop data sets: the server has exhausted its maxmemory: OOM"
    assert reason.advice == "raise it, or load fewer keys"
    assert reason.plain_arguments["why"]["code"] == "redis.maxmemory"
    assert reason.plain_arguments["why"]["args"]["where"]["finding"] == "the server"


def test_the_end_of_a_file_of_records_is_no_damage_of_the_file() -> None:
    remedy = error_remedy("stream", "stream.file")
    assert remedy is not None
    assert (
        "If the file has no more lines, records were still scheduled at its end: lower `load.rate`"
        in remedy.text
    )


def test_a_reason_in_free_words_has_no_code() -> None:
    assert (as_written("it broke", "mend it").code, as_written("it broke").advice) == ("", "")
    error = TargetError("it broke", advice="mend it", during="collect")
    assert (str(error), error.finding, error.advice, error.during) == (
        "it broke",
        "it broke",
        "mend it",
        "collect",
    )


def test_an_error_says_its_reason() -> None:
    error = MessageError(TARGET_NOT_UP())
    assert (str(error), error.advice) == ("the target was not started", "call `up` first")


def test_a_failure_of_a_load_has_its_class_its_text_and_its_remedy() -> None:
    reason = load_failure("42P01", "cannot load: no table", None)
    assert (reason.code, reason.text, reason.advice) == ("load.42P01", "cannot load: no table", "")
    assert reason.plain_arguments == {"finding": "cannot load: no table", "advice": ""}
    step = {"code": "engine.load-store", "args": {"path": "/a", "said": "b: full: really"}}
    doing = engine_failure({"code": "no-space", "reason": step}, "store")
    assert doing.text == "cannot load the store in /a: b: full: really"
    assert doing.plain_arguments["finding"]["code"] == "engine.load-store"
    assert doing.plain_arguments["finding"]["args"] == {"path": "/a", "said": "b: full: really"}
    assert doing.plain_arguments["remedy"]["code"] == "remedy.store.no-space"
    registered = engine_failure(
        {"code": "OOM", "reason": {"code": "engine.fill-keys", "args": {"said": "OOM"}}}, "resp"
    )
    assert registered.advice.startswith("the server's maxmemory is exhausted")


def test_a_failure_of_a_client_group_names_it() -> None:
    arguments = {"path": "load.clients", "value": "0", "group": "ro"}
    refused = engine_failure({"code": "spec", "reason": {"code": "engine.spec.value", "args": arguments}})
    assert refused.text == "client group ro: `load.clients` cannot be `0`"


def test_a_failure_after_several_attempts_has_their_number() -> None:
    arguments = {"name": "t", "said": "Deadlock found", "attempts": 6}
    reason = engine_failure(
        {"code": "40001", "reason": {"code": "engine.load-table", "args": arguments}}, "mysql"
    )
    assert reason.text == "cannot load table t: Deadlock found (6 attempts)"
    assert reason.advice == "make sure that no other program uses these tables while data are loaded"


def test_a_failed_reconnection_names_the_rollback_before_it() -> None:
    arguments = {"where": "db:3306", "said": "Connection refused", "rolled_back": "Deadlock found"}
    reason = engine_failure(
        {"code": "connection", "reason": {"code": "engine.connect", "args": arguments}}, "mysql"
    )
    assert reason.text.endswith(
        "Connection refused; the server had rolled back the transaction before: Deadlock found"
    )


def test_numbers_of_the_engine_that_are_no_counts_are_written_as_they_are() -> None:
    arguments = {"clients": 1000, "needed": 1064, "allowed": 1024}
    reason = engine_failure({"code": "limit", "reason": {"code": "engine.descriptors", "args": arguments}})
    assert reason.text.startswith("1,000 clients need 1064 file descriptors")
    assert "`ulimit -Hn 1064`" in reason.advice


def test_the_outcome_of_a_load_is_reported_by_its_arguments() -> None:
    arguments = {
        "where": "db:5432",
        "here": False,
        "limit_s": 5,
        "said": "Connection refused",
        "code": "connection",
    }
    lost = load_outcome("lost", arguments, "postgres")
    assert lost.text == "no client could connect to db:5432 for 5 s: Connection refused"
    assert lost.advice == "check that the server runs, and its host and port"
    here = {"where": "/data", "here": True, "limit_s": 0, "said": None, "code": "connection", "group": "a"}
    assert load_outcome("lost", here, "store").text.startswith("client group a: access to /data was lost")


def test_what_to_do_about_a_failure_is_by_what_is_spoken_or_of_this_machine() -> None:
    assert remedy_code("resp", "WRONGTYPE") == "remedy.resp.WRONGTYPE"
    assert remedy_code("http", "tls") == "remedy.http.tls"
    assert remedy_code("http", "ports") == remedy_code("resp", "ports") == "short-of.ports"
    assert remedy_code("http", "http-404") is None
    assert remedy_code("postgres", "WRONGTYPE") is None


def test_a_code_checks_its_arguments() -> None:
    with pytest.raises(TypeError, match=r"takes \['kind', 'path', 'said'\]"):
        HOME_NOT_USABLE(path="/a")
    with pytest.raises(TypeError, match="'count' is no number"):
        TOOL_NO_FIGURE(program="ab", count="many")
    with pytest.raises(TypeError, match="'places' is no list"):
        MYSQL_MISSING(places="/usr/sbin")
    assert HOME_NOT_USABLE.pick(path="/a", said="full", kind="redis", port=3).arguments.keys() == {
        "path",
        "said",
        "kind",
    }


def test_a_code_is_declared_once_and_its_argument_names_state_their_units() -> None:
    with pytest.raises(ValueError, match="declared twice"):
        MessageCode("target.not-up")
    with pytest.raises(ValueError, match="does not end in the suffix of its unit"):
        MessageCode("test.never-declared", limit=Seconds)


def test_text_from_outside_is_marked() -> None:
    assert isinstance(REDIS_MAXMEMORY(where="here", said="OOM").arguments["said"], ForeignText)

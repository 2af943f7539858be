"""A reason: a code with its arguments, said in English where it is raised."""

from __future__ import annotations

from pathlib import Path

from loadcell.reasons import ReasonedError, because, in_words, of_load, remedy_of, texts
from loadcell.systems.base import TargetError


def test_a_code_says_what_was_found_and_what_to_do() -> None:
    reason = because("home.not-usable", path=Path("/a"), said="Permission denied", kind="redis")
    assert reason.finding == "cannot use /a: Permission denied"
    assert reason.advice == "name a directory in `target.redis.data` that loadcell may write to"
    assert reason.arguments == {"path": "/a", "said": "Permission denied", "kind": "redis"}


def test_numbers_are_written_with_their_unit_and_lists_are_joined() -> None:
    phase = because("phase.prepare")
    assert because("timed-out.within", phase=phase, limit="prepare", limit_s=1.5).finding == (
        "prepare did not end within its limit of 1.5 s"
    )
    room = because("image.no-room", size="9GiB", path="/a", free_bytes=3 * 2**29, kind="mysql")
    assert room.finding == "there is no room for an image of 9GiB in /a (1.5 GiB are free)"
    assert because("mysql.missing", places=("/usr/sbin", "/opt")).finding.endswith("in /usr/sbin, /opt")
    assert because("tool.no-figure", program="ab", count=1200).finding.endswith(
        "(lines not understood: 1,200)"
    )


def test_a_reason_stands_in_a_reason_and_lends_it_its_advice() -> None:
    why = because("redis.maxmemory", where=because("where.server"), said="OOM")
    reason = because("server.cannot", doing=because("doing.remove-the-keys"), why=why)
    assert reason.finding == "cannot remove the keys: the server has used up its maxmemory: OOM"
    assert reason.advice == "raise it, or load fewer keys"
    assert reason.arguments["why"]["code"] == "redis.maxmemory"
    assert reason.arguments["why"]["args"]["where"]["finding"] == "the server"


def test_a_reason_in_words_of_its_own_has_no_code() -> None:
    assert (in_words("it broke", "mend it").code, in_words("it broke").advice) == (None, "")
    error = TargetError("it broke", advice="mend it", during="collect")
    assert (str(error), error.finding, error.advice, error.during) == (
        "it broke",
        "it broke",
        "mend it",
        "collect",
    )


def test_an_error_says_its_reason() -> None:
    error = ReasonedError(because("target.not-up"))
    assert (str(error), error.advice) == ("the target was not brought up", "call `up` first")


def test_what_the_engine_says_is_kept_in_its_own_words() -> None:
    reason = of_load("42P01", "cannot load: no table", "make it")
    assert (reason.code, reason.finding, reason.advice) == ("load.42P01", "cannot load: no table", "make it")
    assert reason.arguments == {"finding": "cannot load: no table", "advice": "make it"}
    known = of_load("OOM", "cannot load the keys: OOM", texts()["remedy.resp.OOM"]["en"])
    assert known.advice.startswith("the server has used up its maxmemory")
    assert known.arguments["remedy"]["code"] == "remedy.resp.OOM"
    doing = of_load("no-space", "cannot load the store in /a: b: full: really", "")
    assert doing.finding == "cannot load the store in /a: b: full: really"
    assert doing.arguments["finding"]["code"] == "engine.load-store"
    assert doing.arguments["finding"]["args"] == {"path": "/a", "said": "b: full: really"}


def test_what_to_do_about_a_failure_is_by_what_is_spoken_or_of_this_machine() -> None:
    assert remedy_of("resp", "WRONGTYPE") == "remedy.resp.WRONGTYPE"
    assert remedy_of("http", "tls") == "remedy.http.tls"
    assert remedy_of("http", "ports") == remedy_of("resp", "ports") == "short-of.ports"
    assert remedy_of("http", "http-404") is None
    assert remedy_of("postgres", "WRONGTYPE") is None

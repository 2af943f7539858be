"""`loadcell stream HOST:PORT`: the plan of its words, and wrong ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from lines import called, planned, refused
from servers import free_port


def test_words_are_a_plan() -> None:
    plan = planned(
        "stream", "localhost:9000", "--keys", "50", "--distribution", "zipfian", "--size", "1kB",
        "--answers", "each", "-c", "2", "-n", "1000",
    )  # fmt: skip
    assert plan["target"] == {"stream": {"url": "tcp://localhost:9000"}}
    work = plan["workload"]["stream"]
    assert work["fields"]["key"] == {"from": 0, "to": 49, "distribution": "zipfian"}
    assert (work["size"], work["answers"], work["order"]) == ("1kB", "each", "all")
    assert (plan["load"]["clients"], plan["load"]["requests"]) == (2, 1000)


def test_a_socket_and_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,a\n")
    plan = planned("stream", "/run/in.sock", "--file", str(tmp_path / "a.csv"))
    assert plan["target"]["stream"]["socket"] == "/run/in.sock"
    assert plan["workload"]["stream"] == {"file": str(tmp_path / "a.csv")}
    plan = planned("stream", "/run/in.sock", "--file", str(tmp_path / "a.csv"), "--answers", "each")
    assert plan["workload"]["stream"]["repeat"] is False
    assert plan["load"]["warmup"] == "0s"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("localhost",), "not the address of a stream service"),
        (("http://localhost:80",), "not the address of a stream service"),
        (("localhost:90000",), "not the address of a stream service"),
        (("localhost:9000", "--file", __file__, "--size", "1kB"), "--file replaces generated records"),
        (("localhost:9000", "--file", "/no/file"), "there is no file '/no/file'"),
        (("localhost:9000", "--answers", "some"), "some"),
        (("localhost:9000", "--distribution", "cauchy"), "cauchy"),
    ],
)
def test_wrong_words_are_named(words: tuple[str, ...], message: str) -> None:
    assert message in refused("stream", *words)


def test_a_service_that_does_not_listen_is_no_run(tmp_path: Path) -> None:
    done = called(tmp_path, "stream", f"127.0.0.1:{free_port()}", "-d", "1s")
    assert done.returncode == 2
    assert "cannot connect to 127.0.0.1" in done.stderr
    assert not (tmp_path / "results").exists()

"""Redis against servers that do what none should: every failure has a class, and nothing hangs, grows or is
lost.
"""

from __future__ import annotations

import socket
from typing import Any

import pytest

from engine.loads import MS, Result, assert_counted, operation, run
from hostile import Answer, Hostile, never, resets, says

#: Deeper and longer than any server's answers are.
NEST = b"*1\r\n" * 10_000
GETS = {"mix": {"get": 1}}
HELLO = b"%2\r\n+server\r\n+redis\r\n+proto\r\n:3\r\n"


class HostileRedis(Hostile):
    """A server that accepts every login, as Redis does, and then gives the answers of the test."""

    def target(self, **more: Any) -> dict[str, Any]:
        """The engine's `target` section."""
        return super().target(**{"protocol": "resp", **more})

    def _converse(self, stream: socket.socket) -> None:
        requests = stream.makefile("rb")
        while line := requests.readline():
            words = [requests.read(int(requests.readline()[1:]) + 2)[:-2] for _ in range(int(line[1:]))]
            first = {b"HELLO": HELLO, b"PING": b"+PONG\r\n"}.get(words[0])
            if first is not None:
                stream.sendall(first)
                continue
            with self._lock:
                self.requests += 1
            if not self._answer(stream, self.requests, b" ".join(words)):
                return


def load(answer: Answer, options: dict[str, Any] = GETS, **more: Any) -> Result:
    """A short load on a server that answers so; its counts agree."""
    settings = {"clients": 2, "warmup_ns": 0, "duration_ns": 300 * MS, "timeout_ns": 4000 * MS, **more}
    with HostileRedis(answer) as server:
        result = run(server.target(), options, workload="kv", **settings)
    assert result["outcome"] == "completed", result["reason"]
    assert_counted(result)
    return result


def errors(result: Result) -> dict[str, str]:
    """Messages of failed transactions, by code."""
    return {
        error["code"]: error["message"] for error in result["errors"] if error["operation"] == "transaction"
    }


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        (NEST, "protocol", "a list of another length or shape"),
        (b"$9223372036854775807\r\n", "protocol", "claims a length"),
        (b"*9223372036854775807\r\n", "protocol", "claims a length"),
        (b"$536870913\r\n", "protocol", "claims a length"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "protocol", "this is not RESP"),
        (b"$3\r\nabcd\r\n", "protocol", ""),
        (b"*2\r\n+a\r\n+b\r\n", "protocol", "a list of another length or shape"),
        (b"+" + b"x" * 100_000, "protocol", "more than 65536 bytes"),
        (b"-MOVED 3999 10.0.0.7:6381\r\n", "MOVED", "3999 10.0.0.7:6381"),
        (b"-OOM command not allowed when used memory > 'maxmemory'.\r\n", "OOM", "not allowed"),
    ],
)
def test_an_answer_that_is_no_success_has_a_class(text: bytes, code: str, message: str) -> None:
    result = load(says(text))
    messages = errors(result)
    assert messages.keys() == {code}
    assert message in messages[code]
    assert operation(result, "transaction")["succeeded"] == 0


@pytest.mark.parametrize("nest", [NEST, b"%1\r\n+k\r\n" * 10_000, b"*?\r\n" * 10_000])
def test_lists_in_lists_without_end_are_refused_where_lists_may_come(nest: bytes) -> None:
    result = load(says(nest), {"mix": {}, "commands": {"see": {"commands": ["LRANGE ${key} 0 -1"]}}})
    assert errors(result).keys() == {"protocol"}
    assert "lists in lists, more than 32 deep" in errors(result)["protocol"]


@pytest.mark.parametrize("answer", [says(b"$9\r\nhalf", continues=False), says(b"", continues=False), resets])
def test_a_connection_that_breaks_fails_what_was_asked_on_it(answer: Answer) -> None:
    result = load(answer)
    assert errors(result).keys() == {"connection"}
    transaction = operation(result, "transaction")
    assert (transaction["succeeded"], transaction["failed"] > 0) == (0, True)


def test_a_request_without_an_answer_ends_at_the_time_out() -> None:
    result = load(never, timeout_ns=50 * MS)
    assert errors(result).keys() == {"timeout"}
    assert operation(result, "transaction")["failed_response"]["min_ns"] >= 50 * MS


def test_a_large_value_comes_in_pieces_and_is_passed_over() -> None:
    value = b"$1000000\r\n" + b"v" * 1_000_000 + b"\r\n"
    result = load(says(value))
    assert errors(result) == {}
    assert operation(result, "get")["succeeded"] > 0


def test_a_key_that_is_elsewhere_fails_its_own_operation_and_no_other() -> None:
    asked: list[bytes] = []

    def every_other(stream: socket.socket, number: int, command: bytes) -> bool:
        asked.append(command)
        stream.sendall(b"-MOVED 1 10.0.0.7:6381\r\n" if number % 2 else b"$1\r\nv\r\n")
        return True

    result = load(every_other, clients=1)
    lifetime = result["lifetime"]
    assert all(command.startswith(b"GET ") for command in asked)
    assert lifetime["transactions"] + lifetime["failed"] == len(asked)
    assert abs(lifetime["transactions"] - lifetime["failed"]) <= 1
    assert result["client"]["reconnects"] == 0

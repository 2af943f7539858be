"""Files that may hold a secret are recognised; files of ordinary workloads are not taken for such."""

from __future__ import annotations

import pytest

from loadcell.plan.secret_files import may_hold_secret


@pytest.mark.parametrize(
    "content",
    [
        b"user=benchmarksql\npassword=PWbmsql\n",
        b'{"user": "me", "password": "hunter22"}',
        b"api_key: 12345678\n",
        b"-----BEGIN RSA PRIVATE KEY-----\nMII",
        b"url=postgres://me:hunter22@db/x\n",
        b"CREATE USER me PASSWORD 'hunter22';\n",
        b"create user me identified by 'hunter22';\n",
        b"user,password\nme,hunter22\n",
        b'"user";"token"\n"me";"abc"\n',
    ],
)
def test_a_secret_is_recognised(content: bytes) -> None:
    assert may_hold_secret(content)


@pytest.mark.parametrize(
    "content",
    [
        b"CREATE TABLE users (id int, password text, token text);\n",
        b"id,name\n1,password\n2,secret sauce\n",
        b"recordcount=1000\nfieldcount=3\n",
        b'{"user": "${user}", "password": "${password}"}',
        b"password=\n",
        b"UPDATE users SET password = :password WHERE id = :id;\n",
        b"password: null\n",
        b"GET http://127.0.0.1:8080/a@b\n",
        b"PAR1\0\0\x15\x04password,\x15\n",
        b"",
    ],
)
def test_ordinary_files_hold_none(content: bytes) -> None:
    assert not may_hold_secret(content)


def test_a_secret_of_the_plan_is_recognised_anywhere() -> None:
    assert may_hold_secret(b"\0\1 opensesame \2", ["opensesame"])
    assert not may_hold_secret(b"\0\1 closesesame \2", ["opensesame"])

"""A secret is named in a plan, never written; and what is written of it is refused without being shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadcell.plan.secrets import MissingSecretError, Secrets
from plan.fake_parts import PLAN, mistakes, read

SECRET = "hunter2-hunter2"


def with_options(options: str) -> str:
    return PLAN.replace("{database: {}}", f"{{database: {options}}}")


@pytest.mark.parametrize(
    "text",
    [
        with_options(f"{{password: {SECRET}}}"),
        with_options(f"{{password: [{SECRET}]}}"),
        with_options("{password: 12345}"),
        with_options(f"{{settings: {{ssl_passphrase: {SECRET}}}}}"),
        with_options(f"{{dsn: 'postgresql://user:{SECRET}@host/db'}}"),
        with_options(f"{{dsn: 'postgresql://:{SECRET}@host/db'}}"),
        with_options(f"{{dsn: 'postgresql://host/db?user=u&password={SECRET}'}}"),
        with_options(f"{{dsn: 'host=h password={SECRET} dbname=d'}}"),
        with_options(f"{{dsn: \"host=h password='{SECRET}' dbname=d\"}}"),
        with_options(f"{{dsn: 'postgresql://user:${{env:PART}}{SECRET}@host/db'}}"),
        with_options(f"{{paswsord: 1, password: {SECRET}}}"),
        PLAN + f"factors: {{target.database.password: [{SECRET}]}}",
        PLAN + f"factors: {{who: {{me: {{target.database.dsn: 'postgres://u:{SECRET}@h/'}}}}}}",
    ],
)
def test_a_secret_written_out_is_a_mistake_that_does_not_repeat_it(text: str, tmp_path: Path) -> None:
    problems = mistakes(tmp_path, text, env={"PART": "x"})
    reported = [problem for problem in problems if "${env:NAME}" in (problem.allowed or "")]
    assert reported
    assert reported[0].mark.line
    result = "\n".join(str(problem) for problem in problems)
    assert SECRET not in result
    assert "12345" not in result


@pytest.mark.parametrize(
    "options",
    [
        "{password: '${env:PW}'}",
        "{dsn: 'postgresql://user:${env:PW}@host/db'}",
        "{dsn: 'postgresql://user@host:5432/db'}",
        "{dsn: 'host=h user=u password=${env:PW}'}",
        "{settings: {password_encryption: scram-sha-256}}",
    ],
)
def test_references_stay_as_written(options: str, tmp_path: Path) -> None:
    document = read(tmp_path, with_options(options), env={"PW": SECRET}).base.document()
    assert SECRET not in str(document)
    if "PW" in options:
        assert "${env:PW}" in str(document)


def test_a_missing_variable_names_the_nearest(tmp_path: Path) -> None:
    (problem,) = mistakes(
        tmp_path, with_options("{password: '${env:SBTEST_PASWORD}'}"), env={"SBTEST_PASSWORD": "x"}
    )
    assert problem.nearest == "SBTEST_PASSWORD"


def test_dollars_in_prose_are_prose(tmp_path: Path) -> None:
    assert read(tmp_path, PLAN + "title: what ${5} buys\n").title == "what ${5} buys"


def test_secrets_are_revealed_and_taken_out_again() -> None:
    secrets = Secrets({"PW": "p@ss word", "OTHER": "p@ss"})
    assert secrets.redact("p@ss word") == "p@ss word"
    assert secrets.reveal("postgres://u:${env:PW}@h and ${env:OTHER}") == "postgres://u:p@ss word@h and p@ss"
    assert (
        secrets.redact("said p@ss word, p%40ss%20word and p@ss")
        == "said ${env:PW}, ${env:PW} and ${env:OTHER}"
    )
    assert secrets.reveal("no reference") == "no reference"


@pytest.mark.parametrize(
    ("secret", "text", "redacted"),
    [
        ("1234", "at 12345, 2026-1234, 11234 and 1.1234: 1234", "at 12345, 2026-1234, 11234 and 1.1234: *"),
        ("2026", "2026-11-22T10:00:00Z, code 2026", "2026-11-22T10:00:00Z, code *"),
        ("22:1", "10:22:15 or 22:1", "10:22:15 or *"),
        ("----", "-------- ---- --", "-------- * --"),
        (",,,,", "a,,,,,b ,,,, c", "a,,,,,b * c"),
        ("pass", "password=pass, bypass passes pass_word", "password=*, bypass passes pass_word"),
        ("postgres", "postgresql://postgres:postgres@h", "postgresql://*:*@h"),
        ("hunter", "mysql -phunter --user=hunter -hhunters", "mysql -p* --user=* -hhunters"),
        ("hunter2-hunter2", "xhunter2-hunter2y", "x*y"),
        ("s3cret", "postgres://app1:s3cret@db/x", "postgres://app1:*@db/x"),
        ("s3cret", "auth failed: app1:s3cret", "auth failed: app1:*"),
        ("s3cret", "password=s3cret,5 tries; xs3cret", "password=*,5 tries; xs3cret"),
        ("s3cret", "密码s3cret错误", "密码*错误"),
        ("hunter", "密码hunter不正确", "密码*不正确"),
        ("84613391", "auth failed: app1:84613391", "auth failed: app1:*"),
        ("84613391", "postgres://app1:84613391@db, 17:84613391@db", "postgres://app1:*@db, 17:*@db"),
        ("84613391", "password=84613391,5 tries, 密码84613391错误", "password=*,5 tries, 密码*错误"),
        ("84613391", "postgres://17:84613391,5 and 17:84613391", "postgres://17:*,5 and 17:84613391"),
        ("10:00", "2026-11-22T10:00:00Z, 22T09:10:00.5", "2026-11-22T10:00:00Z, 22T09:10:00.5"),
        ('qu"ote d', '{"dsn": "qu\\"ote d"} qu%22ote%20d', '{"dsn": "*"} *'),
    ],
)
def test_a_secret_is_replaced_where_it_stands_by_itself(secret: str, text: str, redacted: str) -> None:
    secrets = Secrets({"PW": secret})
    secrets.reveal("${env:PW}")
    assert secrets.redact(text) == redacted.replace("*", "${env:PW}")


@pytest.mark.parametrize("secret", [".", "ab", "a,b"])
def test_a_secret_of_fewer_than_four_characters_is_refused(secret: str, tmp_path: Path) -> None:
    (problem,) = mistakes(tmp_path, with_options("{password: '${env:PW}'}"), env={"PW": secret})
    assert problem.finding == "the secret in the environment variable PW is shorter than 4 characters"
    assert "a longer secret" in (problem.allowed or "")
    assert f'"{secret}"' not in str(problem)
    with pytest.raises(MissingSecretError, match="shorter than 4 characters"):
        Secrets({"PW": secret}).reveal("${env:PW}")


def test_an_empty_secret_takes_nothing_out() -> None:
    secrets = Secrets({"PW": ""})
    assert secrets.reveal("${env:PW}") == ""
    assert secrets.redact("a text") == "a text"


def test_a_secret_that_is_not_there_says_what_to_do() -> None:
    with pytest.raises(MissingSecretError, match="PW is not set: export it"):
        Secrets({}).reveal("${env:PW}")


def test_a_level_of_a_factor_may_have_the_places_that_a_workload_has(tmp_path: Path) -> None:
    for level in ("workload.mix.script: ['say ${name}']", "who: {me: {workload.mix.script: 'say ${name}'}}"):
        problems = mistakes(tmp_path, PLAN + f"factors: {{{level}}}")
        assert not [problem for problem in problems if "${env:NAME}" in (problem.allowed or "")]
    elsewhere = mistakes(tmp_path, PLAN + "factors: {target.database.dsn: ['${name}']}")
    assert [problem.allowed for problem in elsewhere if problem.finding == 'found "${name}"'] == [
        "${env:NAME}"
    ]

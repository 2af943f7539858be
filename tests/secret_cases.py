"""Texts with and without secrets, which every part that looks for secrets must distinguish alike."""

from __future__ import annotations

#: A text, and the parts of it that no copy may keep.
WITH_SECRET: tuple[tuple[str, str], ...] = (
    ("password=482913", "482913"),
    ("token: 77120034", "77120034"),
    ("postgres://bench:5582913@db/bench", "5582913"),
    ("$ PGPASSWORD=Zebra-9917xx pgbench -c 5", "Zebra-9917xx"),
    ("Authorization: Bearer sesame.open17", "sesame.open17"),
    ("Authorization: ApiKey sesame", "sesame"),
    ('Authorization: Digest username="me", response="sesame"', "sesame"),
    ("curl -H 'Authorization: Bearer sesame open' http://h/", "sesame open"),
    ('wrk.headers["Authorization"] = "Bearer sesame"', "sesame"),
    ("Cookie: session=sesame; theme=dark", "sesame"),
    ("X-Api-Key: sesame", "sesame"),
    ("x-auth-user: sesame", "sesame"),
    ("api_key=sk_live_0123456789abcdef", "sk_live_0123456789abcdef"),
    ("the key sk_live_0123456789abcdef was used", "sk_live_0123456789abcdef"),
    ("aws_secret_access_key = sesame/open+17=", "sesame/open+17="),
    ("sysbench --mysql-password sesame cpu run", "sesame"),
    ("password=$esame17xyz", "esame17xyz"),
    ("password=/sesame/open==", "/sesame/open=="),
    ("password=se,sameXYZ", "sameXYZ"),
    ("password=se;same&XYZ", "XYZ"),
    ("http://h/login?password=sesame&user=me", "sesame"),
    ("redis://u:se@same@h:6379/0", "same@"),
    (r'password="se\"same"', "same"),
    ('{"user": "me", "password": "sesame"}', "sesame"),
    ("$ pgbench 'host=h password=sesame dbname=a'", "sesame"),
    ("CREATE USER me PASSWORD 'sesame';", "sesame"),
    ("create user me identified by 'sesame';", "sesame"),
    ("requirepass sesame17", "sesame17"),
    ("export MYSQL_PWD='sesame'", "sesame"),
    ("OLD_PWD=/sesame", "/sesame"),
    ("-----BEGIN RSA PRIVATE KEY-----\nMIIsesame\nopen=\n-----END RSA PRIVATE KEY-----", "sesame"),
    ("x" * 9000 + " password=sesame " + "y" * 9000, "sesame"),
)
#: Texts of ordinary files and outputs.
WITHOUT_SECRET: tuple[str, ...] = (
    "password=********",
    "password=[redacted-by-loadcell]",
    "PWD=/home/bench",
    "OLDPWD=/home/bench",
    "--mysql-password=$PASSWORD",
    "--mysql-password=STRING     password of the user []",
    "password: ${env:PW}",
    '{"user": "${user}", "password": "${password}"}',
    "UPDATE users SET password = :password WHERE id = :id;",
    "SELECT id FROM users WHERE token = $1 AND secret = ?",
    "CREATE TABLE users (id int, password text, token text);",
    "GH_TOKEN: ${{ github.token }}",
    "password: {{ password }}",
    'if [ -n "${LOADCELL_TOKEN:-}" ]; then',
    r"printf 'PRIVATE-TOKEN: %s\n'",
    "password: null",
    "password=",
    "Enter password:",
    "max_tokens: 128",
    "tokens per second: 12.5",
    "GET http://127.0.0.1:8080/a@b",
    "wrk -c10 http://h:8080/a@b",
    "Basic statistics of 12 executions",
    "primary key: id",
    "cookie: none",
)
#: Names of settings that hold secrets.
NAMES = (
    "password", "PGPASSWORD", "http_pass", "ssl-passphrase", "api_key", "apikey", "X-Api-Key", "secret",
    "aws_secret_access_key", "access.token", "Authorization", "credentials", "private-key",
)  # fmt: skip
OTHER_NAMES = ("user", "max_tokens", "key", "primary_key", "password_encryption", "passes", "secretary")

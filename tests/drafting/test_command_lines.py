"""Plans drafted from command lines of other tools, and runs of them on real servers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from drafting.drafted import document, drafted, init, refused, run
from mariadb import MariadbServer
from redis_server import RedisServer
from servers import PostgresServer
from shop import Shop, create


def from_command(home: Path, *words: str, variables: tuple[str, ...] = ()) -> dict[str, Any]:
    return drafted(home, "--", *words, variables=variables)


class TestPgbench:
    def test_options_become_settings(self, tmp_path: Path) -> None:
        (tmp_path / "mine.sql").write_text("SELECT :x;")
        plan = from_command(
            tmp_path,
            *("pgbench", "-h", "db", "-p", "5433", "-U", "me", "-c", "8", "-j", "2", "-T", "60", "-R", "100"),
            *("-f", "mine.sql@3", "-b", "tpcb@2", "-S", "-M", "prepared", "-D", "x=1", "-L", "50", "shop"),
        )
        assert plan["target"] == {
            "postgres": {"server": "external", "dsn": "postgresql://me@db:5433/shop"},
        }
        assert plan["workload"]["pgbench"] == {
            "scripts": ["tpcb-like@2", "select-only", "mine.sql@3"],
            "init_steps": "",
            "variables": {"x": "1"},
            "protocol": "prepared",
            "latency_limit": "50ms",
        }
        assert plan["load"] == {
            "clients": 8, "threads": 2, "duration": "1min", "rate": "100/s", "warmup": "5s",
        }  # fmt: skip

    def test_transactions_per_client_with_a_rate_are_those_of_all(self, tmp_path: Path) -> None:
        plan = from_command(tmp_path, "pgbench", "-c", "4", "-t", "25", "-R", "50")
        assert (plan["load"]["requests"], plan["target"]["postgres"]["server"]) == (100, "embedded")

    def test_options_without_a_counterpart_are_named(self, tmp_path: Path) -> None:
        result = init(tmp_path, "--", "pgbench", "-C", "--sampling-rate=0.1", "-n", "-P", "1", "bench")
        line = "Options without a counterpart here, omitted: -C, --sampling-rate"
        assert line in result.stderr
        assert f"# - {line}" in result.stdout

    @pytest.mark.parametrize(
        ("words", "dsn"),
        [
            (("-h", "h1", "postgresql://me:sesame-17@db/shop"), "postgresql://me@db/shop"),
            (
                ("-p", "5433", "-U", "me", "postgresql:///shop?password=sesame-17"),
                "postgresql://me@:5433/shop",
            ),
            (("-d", "host=db user=me password='sesame-17' dbname=shop"), "host=db user=me dbname=shop"),
        ],
    )
    def test_a_dsn_in_the_place_of_a_name(self, tmp_path: Path, words: tuple[str, ...], dsn: str) -> None:
        result = init(tmp_path, "--", "pgbench", "-S", *words)
        assert "sesame" not in result.stdout + result.stderr
        server = document(result.stdout)["target"]["postgres"]
        assert server == {"server": "external", "dsn": dsn, "password": "${env:PGPASSWORD}"}

    def test_it_runs(self, tmp_path: Path, postgres_server: PostgresServer) -> None:
        words = ("pgbench", "-h", postgres_server.host, "-p", str(postgres_server.port), "-U", "postgres")
        from_command(tmp_path, *words, "-c", "2", "-T", "1", "-S", "postgres")
        [trial] = run(tmp_path)
        assert (trial.status, trial.totals.transactions.failed) == ("ok", 0), trial.reason


class TestSysbench:
    def test_options_become_settings(self, tmp_path: Path) -> None:
        plan = from_command(
            tmp_path,
            *("sysbench", "/usr/share/sysbench/oltp_read_only.lua", "--db-driver=pgsql", "--pgsql-host=db"),
            *(
                "--pgsql-user=me",
                "--pgsql-db=bench",
                "--pgsql-password=sesame-17",
                "--tables=4",
                "--threads=16",
            ),
            *("--table-size=5000", "--time=60", "--warmup-time=3", "--skip_trx=on", "--rand-type=special"),
            *("--point_selects=5", "--db-ps-mode=disable", "--report-interval=1", "run"),
            variables=("PGPASSWORD",),
        )
        assert plan["target"]["postgres"]["dsn"] == "postgresql://me@db/bench"
        assert plan["workload"]["sysbench"] == {
            "script": "oltp_read_only", "tables": 4, "table_size": 5000, "point_selects": 5, "skip_trx": True,
            "distribution": "special", "protocol": "simple",
        }  # fmt: skip
        assert plan["load"] == {"clients": 16, "warmup": "3s", "duration": "1min"}

    def test_no_password_is_written(self, tmp_path: Path) -> None:
        words = ("sysbench", "oltp_read_write", "--mysql-user=me", "--mysql-password=sesame-17", "run")
        result = init(tmp_path, "--", *words)
        assert "sesame-17" not in result.stdout + result.stderr
        assert "${env:MYSQL_PWD}" in result.stdout
        assert "MYSQL_PWD" in result.stderr
        message = refused(tmp_path, "--", "sysbench", "mine.lua", "--mysql-password=sesame-17", "run")
        assert "sesame-17" not in message

    def test_an_address_that_no_plan_has(self, tmp_path: Path) -> None:
        words = ("sysbench", "oltp_read_write", "--mysql-socket=/tmp/other.sock", "run")
        assert "--mysql-socket names a socket" in refused(tmp_path, "--", *words)

    def test_options_of_the_other_driver_are_named(self, tmp_path: Path) -> None:
        words = ("sysbench", "oltp_read_write", "--db-driver=pgsql", "--mysql-host=db", "run")
        notes = init(tmp_path, "--", *words).stderr
        assert "Options without a counterpart here, omitted: --mysql-host" in notes

    def test_a_password_of_postgres_is_a_variable(self, tmp_path: Path) -> None:
        words = ("sysbench", "oltp_read_write", "--pgsql-user=me", "--pgsql-password=sesame-17", "run")
        plan = from_command(tmp_path, *words, variables=("PGPASSWORD",))
        assert plan["target"]["postgres"]["password"] == "${env:PGPASSWORD}"

    def test_a_rate_of_a_test_that_sysbench_runs_is_named(self, tmp_path: Path) -> None:
        result = init(tmp_path, "--", "sysbench", "cpu", "--rate=10", "run")
        assert "Options without a counterpart here, omitted: --rate" in result.stderr
        assert "10/s" not in result.stdout

    def test_tests_without_a_database_are_called_as_they_are(self, tmp_path: Path) -> None:
        plan = from_command(
            tmp_path, "sysbench", "cpu", "--cpu-max-prime=100", "--threads=2", "--time=1", "run"
        )
        assert plan["workload"] == {"tool": {"sysbench": "cpu --cpu-max-prime=100 run"}}
        assert plan["load"] == {"clients": 2, "duration": "1s", "warmup": "0s"}
        [trial] = run(tmp_path)
        assert trial.status == "ok", trial.reason

    def test_it_runs_on_mariadb(self, tmp_path: Path, mariadb_server: MariadbServer) -> None:
        words = ("sysbench", "oltp_point_select", "--mysql-host=127.0.0.1", "--mysql-user=test", "--tables=1")
        more = (f"--mysql-port={mariadb_server.port}", "--mysql-password=x", "--table-size=100", "run")
        from_command(tmp_path, *words, *more, variables=("MYSQL_PWD",))
        [trial] = run(tmp_path, MYSQL_PWD=mariadb_server.password)
        assert (trial.status, trial.totals.transactions.failed) == ("ok", 0), trial.reason


class TestRedisBenchmark:
    def test_words_keep_their_blanks(self, tmp_path: Path) -> None:
        words = ("redis-benchmark", "-n", "10", "SET", "k a", 'it "is"', "", "-x", "a=b", "c'd")
        plan = from_command(tmp_path, *words)
        [operation] = plan["workload"]["kv"]["commands"].values()
        assert operation == {"command": 'SET "k a" \'it "is"\' "" -x a=b c\'d'}
        assert "both kinds of quotation marks" in refused(tmp_path, "--", *words[:3], "SET", "k", "a'\" b")

    def test_eval_is_a_script(self, tmp_path: Path, redis_server: RedisServer) -> None:
        server = ("redis-benchmark", "-p", str(redis_server.port), "-a", "x", "-n", "50", "-c", "2")
        script = "return redis.call('SET', KEYS[1], ARGV[1])"
        words = ("EVAL", script, "1", "k:__rand_int__", "a b")
        plan = from_command(tmp_path, *server, *words, variables=("REDISCLI_AUTH",))
        assert plan["workload"]["kv"]["commands"] == {
            "eval": {"script": script, "keys": ["k:${number}"], "arguments": ["a b"]}
        }
        [trial] = run(tmp_path, REDISCLI_AUTH=str(redis_server.password))
        assert (trial.status, trial.totals.transactions.succeeded) == ("ok", 50), trial.reason
        assert "'2' of the option EVAL" in refused(tmp_path, "--", *server, "EVAL", script, "2", "k")

    def test_tests_are_levels(self, tmp_path: Path) -> None:
        words = (
            "redis-benchmark",
            "-h",
            "db",
            "-t",
            "get,lpush",
            "-n",
            "1000",
            "-c",
            "5",
            "-P",
            "8",
            "-r",
            "99",
        )
        plan = from_command(
            tmp_path, *words, "-d", "64", "-q", "-a", "sesame-17", variables=("REDISCLI_AUTH",)
        )
        assert plan["target"]["redis"] == {
            "server": "external", "host": "db", "port": 6379, "password": "${env:REDISCLI_AUTH}",
        }  # fmt: skip
        assert plan["workload"]["kv"] == {"keys": 99, "value_size": "64B", "pipeline": 8}
        assert plan["factors"]["test"] == {
            "get": {"workload.kv.mix": {"get": 1}},
            "lpush": {"workload.kv.commands": {"lpush": {"command": "LPUSH mylist ${value}"}}},
        }
        assert plan["load"]["requests"] == 1000

    def test_a_command_of_the_users_own(self, tmp_path: Path) -> None:
        plan = from_command(tmp_path, "redis-benchmark", "-n", "10", "set", "k:__rand_int__", "__data__")
        assert plan["workload"]["kv"]["commands"] == {"set_command": {"command": "set k:${number} ${value}"}}
        assert plan["load"]["clients"] == 10  # no more than there are requests

    def test_it_runs(self, tmp_path: Path, redis_server: RedisServer) -> None:
        words = (
            "redis-benchmark",
            "-p",
            str(redis_server.port),
            "-a",
            "x",
            "-t",
            "set",
            "-n",
            "500",
            "-c",
            "2",
        )
        from_command(tmp_path, *words, variables=("REDISCLI_AUTH",))
        [trial] = run(tmp_path, REDISCLI_AUTH=str(redis_server.password))
        assert (trial.status, trial.totals.transactions.succeeded) == ("ok", 500), trial.reason


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Any:
    directory = tmp_path_factory.mktemp("shop")
    create(directory / "shop.db")
    with Shop(directory) as running:
        yield running


class TestHttp:
    def test_ab(self, tmp_path: Path) -> None:
        (tmp_path / "order.json").write_text("{}")
        words = ("ab", "-n", "100", "-c", "10", "-k", "-p", "order.json", "-T", "application/json", "-s", "3")
        more = ("-H", "X-Api-Key: sesame-17", "-A", "me:sesame-18", "http://127.0.0.1:8080/x?a=1")
        plan = from_command(tmp_path, *words, *more, variables=("LOADCELL_X_API_KEY", "LOADCELL_PASSWORD"))
        assert plan["workload"]["http"] == {
            "method": "POST",
            "path": "/x?a=1",
            "headers": {"X-Api-Key": "${env:LOADCELL_X_API_KEY}", "Content-Type": "application/json"},
            "auth": {"basic": {"user": "me", "password": "${env:LOADCELL_PASSWORD}"}},
            "body": {"file": "order.json"},
        }
        assert plan["load"] == {"clients": 10, "timeout": "3s", "requests": 100, "warmup": "5s"}

    def test_ab_without_k_makes_connections(self, tmp_path: Path) -> None:
        plan = from_command(tmp_path, "ab", "-n", "1", "http://127.0.0.1/")
        assert plan["workload"]["http"]["keep_alive"] is False

    def test_a_script_of_wrk_keeps_wrk(self, tmp_path: Path) -> None:
        (tmp_path / "post.lua").write_text('wrk.method = "POST"')
        plan = from_command(
            tmp_path, "wrk", "-t2", "-c10", "-d5s", "-s", "post.lua", "http://127.0.0.1:8080/x"
        )
        assert plan["workload"] == {"tool": {"wrk": "-s post.lua '${url}/x'"}}

    def test_what_a_script_of_wrk_leaves_out_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "post.lua").write_text("x = 1")
        words = ("wrk2", "-R", "100", "--sesame", "x", "-s", "post.lua")
        result = init(tmp_path, "--", *words, "http://127.0.0.1/")
        assert "Options without a counterpart here, omitted: --sesame" in result.stderr
        assert "Options without a counterpart here, omitted: --rate" in result.stderr
        for url in ("http://me:sesame-17@127.0.0.1/", "http://127.0.0.1/?token=sesame-17"):
            assert "contains a secret" in refused(tmp_path, "--", "wrk", "-s", "post.lua", url)

    def test_wrk_runs(self, tmp_path: Path, shop: Shop) -> None:
        plan = from_command(tmp_path, "wrk", "-t1", "-c2", "-d1s", "--latency", f"{shop.url}/items?page=2")
        assert plan["load"]["clients"] == 2
        [trial] = run(tmp_path)
        assert (trial.status, trial.totals.transactions.failed) == ("ok", 0), trial.reason

    def test_curl_as_browsers_copy_it(self, tmp_path: Path) -> None:
        result = init(
            tmp_path, "--", "curl", "https://shop.example/orders?x=1", "-H", "content-type: application/json",
            "-H", "Authorization: Bearer sesame-17", "-b", "session=sesame-18", "-k", "--compressed", "-L",
            "--data-raw", '{"item": 7, "password": "sesame-19", "note": "${x}"}',
        )  # fmt: skip
        assert "sesame" not in result.stdout + result.stderr
        plan = document(result.stdout)
        assert plan["target"] == {"http": {"url": "https://shop.example", "tls": {"verify": False}}}
        assert plan["workload"]["http"] == {
            "method": "POST",
            "path": "/orders?x=1",
            "headers": {"content-type": "application/json", "Cookie": "${env:LOADCELL_COOKIE}"},
            "auth": {"bearer": "${env:LOADCELL_TOKEN}"},
            "body": '{"item": 7, "password": "${env:LOADCELL_PASSWORD}", "note": "${dollar}{x}"}',
            "parameters": {"dollar": {"values": ["$"]}},
        }
        assert "Options without a counterpart here, omitted: --compressed, -L" in result.stderr

    @pytest.mark.parametrize(
        "words",
        [
            ("-H", "X-Account-Key: sesame-17"),
            ("-H", "X-Log: Authorization: ApiKey sesame-17"),
            ("-d", "s3_key=sesame-17"),
            ("-d", '{"note": "glpat-sesame-17-sesame-17"}'),
            ("-d", '{"requirepass": "sesame-17"}'),
        ],
    )
    def test_secrets_of_every_form_become_variables(self, tmp_path: Path, words: tuple[str, ...]) -> None:
        result = init(tmp_path, "--", "curl", "http://127.0.0.1/a", *words)
        assert result.returncode == 0, result.stderr
        assert "sesame" not in result.stdout + result.stderr
        assert "${env:LOADCELL_" in result.stdout

    @pytest.mark.parametrize(
        "data",
        [
            "user%5Bpassword%5D=sesame-17",
            "user[password]=sesame-17&x=1",
            '{"a": [{"pin": 93817264, "password": 12345678}], "x": true}',
            "{card_number: 4111111111111111, cvv: 93817264}",
            '{"inner": "{\\"password\\": \\"sesame-17\\"}"}',
            'x {\\"password\\": \\"sesame-17\\"}',
            "user: me\npassword: sesame-17 93817264\n",
            "<p><Password><![CDATA[x]sesame-17]]></Password></p>",
            "link=http%3A%2F%2Fx%2F%3Ftoken%3Dsesame-17",
        ],
    )
    def test_passwords_in_bodies_of_all_kinds(self, tmp_path: Path, data: str) -> None:
        result = init(tmp_path, "--", "curl", "http://127.0.0.1/", "--data-raw", data)
        assert result.returncode == 0, result.stderr
        for secret in ("sesame", "93817264", "12345678", "411111"):
            assert secret not in result.stdout + result.stderr
        assert "${env:LOADCELL_" in document(result.stdout)["workload"]["http"]["body"]

    def test_json_that_curl_sends_as_a_form(self, tmp_path: Path) -> None:
        data = '{"a": "password reset: please", "url": "http://x/?a=b&c=d"}'
        plan = from_command(tmp_path, "curl", "http://127.0.0.1/", "-d", data)
        assert plan["workload"]["http"]["body"] == data

    def test_numbers_that_are_no_secrets(self, tmp_path: Path) -> None:
        data = '{"max_tokens": 100, "pin":"sesame-17", "remember_token": true}'
        plan = from_command(tmp_path, "curl", "http://127.0.0.1/", "-d", data, variables=("LOADCELL_PIN",))
        body = plan["workload"]["http"]["body"]
        assert body == '{"max_tokens": 100, "pin": "${env:LOADCELL_PIN}", "remember_token": true}'

    @pytest.mark.parametrize(
        "path",
        [
            "/x?sig=sesame-17",
            "/x?q=a%26token%3Dsesame-17",
            "/x?X-Amz-Signature=sesame-17&b=1",
            "/x;jsessionid=sesame-17?a=1",
        ],
    )
    def test_signatures_and_sessions_in_urls(self, tmp_path: Path, path: str) -> None:
        result = init(tmp_path, "--", "curl", f"http://127.0.0.1{path}", "-H", "X-Session-Id: sesame-18")
        assert result.returncode == 0, result.stderr
        assert "sesame" not in result.stdout + result.stderr

    @pytest.mark.parametrize(
        "words",
        [
            ("--retry-delay", "2"),
            ("--noproxy", "127.0.0.1"),
            ("--dump-header", "h.txt"),
            ("--pass", "sesame-17"),
            ("-sSLx", "http://proxy.example:3128"),
            ("--no-keepalive",),
        ],
    )
    def test_values_of_options_of_curl_are_no_addresses(self, tmp_path: Path, words: tuple[str, ...]) -> None:
        plan = from_command(tmp_path, "curl", *words, "http://127.0.0.1:8080/a")
        assert plan["target"]["http"]["url"] == "http://127.0.0.1:8080"

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (("--sesame", "x"), "curl has no option --sesame that is known here"),
            (("x.example",), "several addresses, and not all have a scheme"),
            (("-d", "a=1", "-d", "@p.txt"), "Option -d of curl makes the request of a file"),
            (("-G", "-d", "@p.txt"), "Option -G of curl makes the request of a file"),
            (("--data-urlencode", "name@p.txt"), "Option --data-urlencode of curl makes"),
            (("--json", "@-"), "Option --json of curl makes"),
            (("-F", "a=<p.txt"), "Option -F of curl makes"),
            (("--max-time",), "The option --max-time of curl has no value"),
        ],
    )
    def test_requests_of_curl_that_no_plan_has(
        self, tmp_path: Path, words: tuple[str, ...], message: str
    ) -> None:
        (tmp_path / "p.txt").write_text("b=2")
        assert message in refused(tmp_path, "--", "curl", "http://127.0.0.1/", *words)

    def test_pieces_of_a_body_of_curl_in_their_order(self, tmp_path: Path) -> None:
        words = ("--data-raw", "@x=1", "-d", "b=2", "--data-urlencode", "c=a b", "--data", "-d=3")
        request = from_command(tmp_path, "curl", "http://127.0.0.1/", *words)["workload"]["http"]
        assert request["body"] == "@x=1&b=2&c=a%20b&-d=3"

    def test_the_next_request_of_curl_is_left_out(self, tmp_path: Path) -> None:
        result = init(
            tmp_path, "--", "curl", "-d", "a=1", "http://127.0.0.1/a", "--next", "-d", "b=2", "http://x/b"
        )
        assert "Options without a counterpart here, omitted: --next" in result.stderr
        assert document(result.stdout)["workload"]["http"]["body"] == "a=1"

    def test_files_of_curl(self, tmp_path: Path) -> None:
        (tmp_path / "body.json").write_text("{}\n")
        request = from_command(tmp_path, "curl", "http://127.0.0.1/", "--json", "@body.json")["workload"][
            "http"
        ]
        assert request["body"] == {"file": "body.json"}
        assert request["headers"] == {"Content-Type": "application/json", "Accept": "application/json"}
        result = init(tmp_path, "--", "curl", "http://127.0.0.1/", "-d", "@body.json", "-b", "cookies.txt")
        assert "curl sends body.json without ends of lines" in result.stderr
        assert "Options without a counterpart here, omitted: -b" in result.stderr

    def test_further_urls_of_curl_are_named(self, tmp_path: Path) -> None:
        result = init(
            tmp_path, "--", "curl", "http://127.0.0.1/a", "http://me:sesame-17@127.0.0.1:81/b?token=sesame-18"
        )
        assert "Options without a counterpart here, omitted: http://127.0.0.1:81" in result.stderr
        assert "sesame" not in result.stdout + result.stderr

    def test_curl_logs_in(self, tmp_path: Path, shop: Shop) -> None:
        from_command(
            tmp_path, "curl", f"{shop.url}/login", "-d", "user=user1", "-d", "password=user1-pw",
            variables=("LOADCELL_PASSWORD",),
        )  # fmt: skip
        [trial] = run(tmp_path, LOADCELL_PASSWORD="user1-pw")
        assert (trial.status, trial.totals.transactions.failed) == ("ok", 0), trial.reason

    def test_a_form_with_a_file_is_a_step(self, tmp_path: Path) -> None:
        (tmp_path / "photo.png").write_bytes(b"\x89PNG")
        plan = from_command(
            tmp_path, "curl", "-F", "id=7", "-F", "photo=@photo.png", "http://127.0.0.1/photos"
        )
        assert plan["workload"]["http"]["steps"]["request"] == {
            "method": "POST", "path": "/photos", "form": {"id": "7"},
            "files": {"photo": {"file": "photo.png"}},
        }  # fmt: skip


class TestFio:
    def test_the_load_gives_jobs_and_time(self, tmp_path: Path) -> None:
        words = (
            "fio",
            "--name=x",
            "--rw=randread",
            "--size=1M",
            "--numjobs=2",
            "--runtime=5",
            "--time_based",
        )
        plan = from_command(tmp_path, *words, "--output", "out.json", "--output-format=json")
        assert plan["workload"] == {"tool": {"fio": "--name=x --rw=randread --size=1M"}}
        assert plan["load"] == {"warmup": "0s", "clients": 2, "duration": "5s"}

    def test_what_is_overwritten_is_named(self, tmp_path: Path) -> None:
        result = init(tmp_path, "--", "fio", "--name=x", "--rw=write", "--filename=/dev/sdz", "--size=1M")
        assert "fio writes to /dev/sdz: existing contents are overwritten" in result.stderr

    def test_a_job_file_is_called_as_it_is(self, tmp_path: Path) -> None:
        (tmp_path / "nightly.fio").write_text("[j]\nrw=read\nsize=64k\n")
        assert from_command(tmp_path, "fio", "nightly.fio")["workload"] == {"tool": {"fio": "nightly.fio"}}


class TestBadInput:
    @pytest.mark.parametrize(
        "words",
        [
            ("sysbench", "mine.lua", "--mysql-password=sesame-17", "run"),
            ("wrk", "-s", "mine.lua", "-H", "Authorization: Bearer sesame-17", "http://127.0.0.1/"),
            ("fio", "--name=x", "--ioengine=http", "--http_pass=sesame-17", "--size=1M"),
            ("fio", "--name=x", "--ioengine=http", "--http_s3_key=sesame-17", "--size=1M"),
        ],
    )
    def test_secrets_of_a_tool_that_is_called_itself(self, tmp_path: Path, words: tuple[str, ...]) -> None:
        (tmp_path / "mine.lua").write_text("x = 1")
        message = refused(tmp_path, "--", *words)
        assert f"The command line of {words[0]} contains a secret" in message
        assert "sesame" not in message

    def test_an_unknown_tool(self, tmp_path: Path) -> None:
        message = refused(tmp_path, "--", "hey", "-n", "10", "http://127.0.0.1/")
        assert "There is nothing to draft a plan from in 'hey'" in message
        assert "Did you mean pgbench?" in refused(tmp_path, "--", "pgbnch")

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (("pgbench", "-c", "many"), "'many' of the option c is not a number"),
            (("pgbench", "-f", "gone.sql"), "The file gone.sql of the option -f does not exist"),
            (("sysbench", "run"), "names no server"),
            (("curl", "-X", "POST"), "names no server"),
            (("wrk", "ftp://x/"), "'ftp://x/' is not an HTTP URL"),
            (("pgbench", "-c", "200000"), "load.clients"),
            (("ab", "-n", "1", "http://[/"), "is not a valid URL"),
        ],
    )
    def test_a_wrong_command_line(self, tmp_path: Path, words: tuple[str, ...], message: str) -> None:
        assert message in refused(tmp_path, "--", *words)

    def test_text_from_outside_stays_text(self, tmp_path: Path) -> None:
        hostile = 'x"\n# y: z\n- {a: [b\x07\x1b[31m'
        plan = from_command(tmp_path, "curl", "http://127.0.0.1/", "-H", "X-Note: {a: b # c", "-d", hostile)
        assert plan["workload"]["http"]["body"] == hostile
        assert plan["workload"]["http"]["headers"]["X-Note"] == "{a: b # c"
        message = refused(tmp_path, "--", "curl", "http://127.0.0.1/", "-H", f"X-Note: {hostile}")
        assert 'the header "X-Note" cannot be sent' in message

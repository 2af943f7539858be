"""Command lines of tools: missing arguments are filled in, and those of the plan stand."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from loadcell.workloads.tool_runner.registry import TOOLS, Setting, files, missing_program
from loadcell.workloads.tool_runner.spec import (
    Endpoint,
    LoadSpec,
    NoValueError,
    client_environment,
    fill,
    of_load,
    of_target,
)

HERE = Setting()
COUNTED = Setting(counted=True)


@pytest.mark.parametrize(
    ("tool", "values", "setting", "words"),
    [
        (
            "sysbench",
            "cpu run",
            HERE,
            "sysbench --threads=${clients} --time=${duration_s} --report-interval=1 cpu run",
        ),
        (
            "sysbench",
            "cpu --threads=8 --time=3 run",
            HERE,
            "sysbench --report-interval=1 cpu --threads=8 --time=3 run",
        ),
        ("sysbench", "memory run", HERE, "sysbench --threads=${clients} --time=${duration_s} memory run"),
        (
            "sysbench",
            "cpu run",
            COUNTED,
            "sysbench --threads=${clients} --time=${duration_s} --events=${requests} "
            "--report-interval=1 cpu run",
        ),
        (
            "sysbench",
            "oltp_read_only run --time=1 --threads=1 --report-interval=1",
            Setting("postgres"),
            "sysbench --db-driver=pgsql --pgsql-host=${host} --pgsql-port=${port} "
            "--pgsql-user=${user} --pgsql-db=${database} "
            "oltp_read_only run --time=1 --threads=1 --report-interval=1",
        ),
        (
            "sysbench",
            "oltp_read_only run --time=1 --threads=1 --report-interval=1",
            Setting("mysql", socket=True),
            "sysbench --db-driver=mysql --mysql-socket=${socket} --mysql-user=${user} --mysql-db=${database} "
            "oltp_read_only run --time=1 --threads=1 --report-interval=1",
        ),
        ("fio", "job.fio", HERE, "fio --output-format=json job.fio"),
        (
            "fio",
            "--name=a --rw=randread --runtime=5",
            HERE,
            "fio --output-format=json --directory=${directory} --numjobs=${clients} "
            "--group_reporting --name=a --rw=randread --runtime=5",
        ),
        ("pgbench", "-S", HERE, "pgbench -c ${clients} -j ${threads} -T ${duration_s} -P 1 -S"),
        ("pgbench", "-c4 -t 10", HERE, "pgbench -j ${threads} -P 1 -c4 -t 10"),
        ("ab", "-k", Setting("http"), "ab -c ${clients} -t ${duration_s} -n 10000000 -k ${url}/"),
        ("ab", "http://a/b", Setting("http", counted=True), "ab -c ${clients} -n ${requests} http://a/b"),
        (
            "wrk",
            "${url}/x",
            Setting("http"),
            "wrk -c ${clients} -t ${threads} -d ${duration_s}s --latency ${url}/x",
        ),
        (
            "redis-benchmark",
            "-t get",
            Setting("resp"),
            "redis-benchmark -h ${host} -p ${port} --dbnum ${database} -c ${clients} -t get",
        ),
        (
            "redis-benchmark",
            "-c 5",
            Setting("resp", socket=True, counted=True),
            "redis-benchmark -s ${socket} --dbnum ${database} -n ${requests} -c 5",
        ),
        ("iperf3", "-c 10.0.0.2 -R", HERE, "iperf3 -J -P ${clients} -t ${duration_s} -c 10.0.0.2 -R"),
        ("iperf3", "", Setting("http"), "iperf3 -c ${host} -p ${port} -J -P ${clients} -t ${duration_s}"),
        ("netperf", "-t TCP_RR", Setting("http"), "netperf -H ${host} -p ${port} -l ${duration_s} -t TCP_RR"),
        ("mbw", "64", HERE, "mbw 64"),
        ("stress-ng", "--cpu 2", HERE, "stress-ng --metrics-brief --timeout ${duration_s}s --cpu 2"),
    ],
)
def test_what_is_not_given_is_filled_in(tool: str, values: str, setting: Setting, words: str) -> None:
    assert " ".join(TOOLS[tool].words(values.split(), setting)) == words


def test_every_tool_says_how_to_get_it() -> None:
    for tool in TOOLS.values():
        assert re.search(r"apt install|https://", missing_program(tool.name, Path()).advice), tool.name


@pytest.mark.parametrize(
    ("tool", "values", "names"),
    [
        ("fio", "a.fio b.fio", ["a.fio", "b.fio"]),
        ("fio", "--output-format json a.fio", ["a.fio"]),
        ("fio", "--name=x --rw read", []),
        ("pgbench", "-f one.sql@3 --file=two.sql db", ["one.sql@3", "two.sql"]),
        ("wrk", "-s post.lua http://x/", ["post.lua"]),
        ("ab", "-p body http://x/", ["body"]),
        ("sysbench", "my.lua run", ["my.lua"]),
        ("sysbench", "cpu run", []),
    ],
)
def test_the_files_among_the_arguments(tool: str, values: str, names: list[str]) -> None:
    assert [name for _, _, name in files(TOOLS[tool], values.split())] == names


def test_places_are_the_loads_and_the_targets_and_never_a_secret() -> None:
    load = LoadSpec(4, 2, 0, 1_500_000_000, requests=10)
    assert of_load(load, 2**40 + 5) == {
        "clients": "4", "threads": "2", "duration_s": "1.5", "seed": "5", "requests": "10",
    }  # fmt: skip
    server = Endpoint("postgres", "::1", 5432, user="u", password="s3cret", database="d")
    values = of_target(server)
    assert values["url"] == "postgresql://u@[::1]:5432/d"
    assert "s3cret" not in str(values)
    child = client_environment(server, values)
    assert child["PGPASSWORD"] == "s3cret"
    assert (child["PGHOST"], child["PGPORT"], child["PGUSER"], child["PGDATABASE"]) == (
        "::1",
        "5432",
        "u",
        "d",
    )
    local = replace(server, socket="/run/x/.s.PGSQL.5432", host="localhost")
    assert client_environment(local, of_target(local))["PGHOST"] == "/run/x"
    assert of_target(Endpoint("http", "a", 80, sslmode="disable"))["url"] == "http://a:80"
    assert of_target(Endpoint("http", "a", 443, sslmode="require"))["url"] == "https://a:443"
    assert of_target(Endpoint("host", directory="/tmp")) == {}


@pytest.mark.parametrize(
    ("server", "variables"),
    [
        (
            Endpoint(
                "postgres", "h", 5, user="u", password="p", database="d", sslmode="require",
                sslrootcert="/ca", options="-c x=1",
            ),
            {"PGHOST": "h", "PGPORT": "5", "PGUSER": "u", "PGDATABASE": "d", "PGPASSWORD": "p",
             "PGSSLMODE": "require", "PGSSLROOTCERT": "/ca", "PGOPTIONS": "-c x=1"},
        ),
        (
            Endpoint("mysql", "h", 5, socket="/s", user="u", password="p", sslmode="require", options="x"),
            {"MYSQL_HOST": "h", "MYSQL_TCP_PORT": "5", "MYSQL_UNIX_PORT": "/s", "MYSQL_PWD": "p"},
        ),
        (Endpoint("resp", "h", 5, password="p", sslmode="require"), {"REDISCLI_AUTH": "p"}),
        (Endpoint("http", "h", 5, password="p"), {}),
        (Endpoint("unknown", "h", 5, password="p"), {}),
    ],
)  # fmt: skip
def test_clients_take_the_connection_from_their_environment(
    server: Endpoint, variables: dict[str, str]
) -> None:
    assert client_environment(server, of_target(server)) == variables


@pytest.mark.parametrize(
    ("server", "url"),
    [
        (Endpoint("mysql", "h", 5, user="u", database="d"), "mysql://u@h:5/d"),
        (Endpoint("resp", "h", 5, database=2), "redis://h:5/2"),
        (Endpoint("postgres", "h", 5, socket="/s/x", user="u"), "postgresql://u@/"),
        (Endpoint("unknown", "h", 5), None),
    ],
)
def test_the_url_of_a_target_is_that_of_its_protocol(server: Endpoint, url: str | None) -> None:
    assert of_target(server).get("url") == url


def test_a_place_without_a_value_is_named() -> None:
    with pytest.raises(NoValueError, match="port"):
        fill(["a", "${port}"], {"host": "x"})

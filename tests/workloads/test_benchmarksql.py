"""Property files of BenchmarkSQL: read as they are, every key known or named, the password left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadcell.ingest.benchmarksql_properties import REQUIRED, Connection, understand
from loadcell.ingest.text import java_properties
from loadcell.parts import installed
from loadcell.plan.load import LoadedPlan, load_plan
from loadcell.plan.problems import PlanError, SettingError
from loadcell.plan.remarks import remarks
from loadcell.workloads.benchmarksql import BenchmarkSql, BenchmarkSqlOptions
from loadcell.workloads.tpcc import Tpcc, TpccOptions

#: As BenchmarkSQL 5 ships it for PostgreSQL, with the values of a real report.
PROPS = """\
db=postgres
driver=org.postgresql.Driver
conn=jdbc:postgresql://localhost:5432/postgres
user=benchmarksql
password=PWbmsql

warehouses=10
loadWorkers=100

terminals=50
//To run specified transactions per terminal- runMins must equal zero
runTxnsPerTerminal=0
//To run for specified minutes- runTxnsPerTerminal must equal zero
runMins=5
//Number of total transactions per minute
limitTxnsPerMin=300

//Set to true to run in 4.x compatible mode. Set to false to use the
//entire configured database evenly.
terminalWarehouseFixed=true

//The following five values must add up to 100
//The default percentages of 45, 43, 4, 4 & 4 match the TPC-C spec
newOrderWeight=45
paymentWeight=43
orderStatusWeight=4
deliveryWeight=4
stockLevelWeight=4

// Directory name to create for collecting detailed result data.
// Comment this out to suppress.
resultDirectory=my_result_%tY-%tm-%td_%tH%tM%tS
osCollectorScript=./misc/os_collector_linux.py
osCollectorInterval=1
//osCollectorSSHAddr=user@dbhost
osCollectorDevices=net_eth0 blk_sda
"""


@pytest.fixture
def props(tmp_path: Path) -> Path:
    path = tmp_path / "props.pg"
    path.write_text(PROPS)
    return path


def plan(props: Path, text: str = "", target: str = "server: local") -> LoadedPlan:
    path = props.parent / "plan.yaml"
    path.write_text(
        f"target: {{postgres: {{{target}}}}}\nworkload: {{benchmarksql: {{properties: {props}}}}}\n{text}"
    )
    return load_plan(path, installed(), env={"PW": "password-x"})


def mistakes(props: Path, text: str = "") -> list[str]:
    with pytest.raises(PlanError) as caught:
        plan(props, text)
    return [f"{problem.path}: {problem.finding}" for problem in caught.value.problems]


def remark_texts(loaded: LoadedPlan) -> dict[str, str]:
    return {remark.path: remark.text for remark in remarks(loaded, installed())}


def test_a_file_is_the_same_as_the_plans_own_keys(props: Path) -> None:
    ours = BenchmarkSql(BenchmarkSqlOptions(properties=str(props)))
    theirs = Tpcc(TpccOptions(warehouses=10, load_workers=100, limit_txns_per_min=300))
    assert ours.engine() == theirs.engine()
    assert ours.data() == theirs.data()
    assert ours.loading() == theirs.loading()
    assert ours.notes() == theirs.notes()
    assert ours.changes_data == theirs.changes_data
    assert ours.verified == theirs.verified


def test_terminals_and_minutes_count_where_the_plan_leaves_them_open(props: Path) -> None:
    load = plan(props).base.load
    assert (load.clients, load.duration.text) == (50, "5min")
    load = plan(props, "load: {clients: 20, warmup: 1s}\n").base.load
    assert (load.clients, load.duration.text, load.warmup.text) == (20, "5min", "1s")


def test_terminals_can_be_a_factor(props: Path) -> None:
    loaded = plan(props, "load: {duration: 1min}\nfactors: {load.clients: [10, 50]}\n")
    assert [treatment.resolved.load.clients for treatment in loaded.treatments] == [10, 50]
    results = remark_texts(loaded)
    assert results["load.clients"] == "the plan has 10 terminals, the file 50"
    assert "runMins of 5" in results["load.duration"]


def test_files_can_be_a_factor(props: Path) -> None:
    other = props.with_name("other.pg")
    other.write_text(PROPS.replace("terminals=50", "terminals=10"))
    key = "workload.benchmarksql.properties"
    loaded = plan(props, f"factors: {{{key}: [{props}, {other}]}}\n")
    assert [treatment.resolved.load.clients for treatment in loaded.treatments] == [50, 10]


def test_what_was_read_is_in_the_record_and_the_password_is_not(props: Path) -> None:
    loaded = plan(props)
    record = json.dumps(loaded.base.document())
    assert loaded.base.document()["workload"]["benchmarksql"]["said"]["terminals"] == 50
    assert "PWbmsql" not in record + json.dumps([remark.text for remark in remarks(loaded, installed())])
    assert "PWbmsql" not in repr(loaded.base.workload) + str(vars(loaded.base.workload))


def test_what_has_no_meaning_here_is_named(props: Path) -> None:
    text = remark_texts(plan(props))["workload.benchmarksql.properties"]
    assert "password in the file is ignored" in text
    assert "${env:NAME}" in text
    for key in ("resultDirectory", "osCollectorScript", "osCollectorDevices"):
        assert key in text
    assert "driver" not in text


def test_a_key_that_nobody_knows_is_named_with_what_was_meant(props: Path) -> None:
    props.write_text(PROPS + "newOrderWieght=3\nmonkeys=8\n")
    text = remark_texts(plan(props))["workload.benchmarksql.properties"]
    assert "`newOrderWieght` is not a property of BenchmarkSQL 5: did you mean newOrderWeight?" in text
    assert "`monkeys` is not a property of BenchmarkSQL 5" in text


def test_a_server_other_than_the_one_measured_is_remarked_upon(props: Path) -> None:
    text = remark_texts(plan(props))["target.postgres.server"]
    assert "`conn` names localhost:5432/postgres" in text
    assert "external" in text
    same = "server: external, dsn: 'postgresql://me@localhost:5432/other', password: '${env:PW}'"
    assert not any(path.startswith("target") for path in remark_texts(plan(props, target=same)))
    other = same.replace("localhost", "db1")
    assert "the plan measures db1:5432" in remark_texts(plan(props, target=other))["target.postgres.dsn"]


@pytest.mark.parametrize(
    ("db", "url", "address"),
    [
        ("mysql", "jdbc:mysql://db1/tpcc?useSSL=false", "db1:3306/tpcc"),
        ("mariadb", "jdbc:mariadb://db1:3307/tpcc", "db1:3307/tpcc"),
        ("mysql", "jdbc:mariadb://db1:3307/tpcc", "db1:3307/tpcc"),
    ],
)
def test_a_file_for_mysql_or_mariadb_is_taken_by_target_mysql(
    props: Path, db: str, url: str, address: str
) -> None:
    text = PROPS.replace("db=postgres", f"db={db}")
    props.write_text(text.replace("jdbc:postgresql://localhost:5432/postgres", url))
    path = props.parent / "plan.yaml"

    def remarks_of(target: str) -> dict[str, str]:
        path.write_text(f"target: {{{target}}}\nworkload: {{benchmarksql: {{properties: {props}}}}}\n")
        return remark_texts(load_plan(path, installed(), env={"PW": "password-x"}))

    managed = remarks_of("mysql: {server: local}")["target.mysql.server"]
    assert f'mysql: {{server: external, url: "mysql://benchmarksql@{address}"' in managed
    external = f"mysql: {{server: external, url: 'mysql://me@{address}', password: '${{env:PW}}'}}"
    assert not any(name.startswith("target") for name in remarks_of(external))
    elsewhere = remarks_of(external.replace("db1", "db2"))["target.mysql.url"]
    assert f"the plan measures {address.partition('/')[0].replace('db1', 'db2')}" in elsewhere


@pytest.mark.parametrize("key", REQUIRED)
def test_a_missing_property_is_named(props: Path, key: str) -> None:
    lines = [line for line in PROPS.splitlines() if not line.startswith(f"{key}=")]
    props.write_text("\n".join(lines))
    [problem] = mistakes(props)
    assert problem == f"workload.benchmarksql.properties: props.pg: `{key}` is missing"


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("paymentWeight=43", "paymentWeight=44", "the five weights add up to 101"),
        ("paymentWeight=43", "paymentWeight=43.5", "`paymentWeight` is '43.5'"),
        ("warehouses=10", "warehouses=ten", "`warehouses` is 'ten', but must be a whole number"),
        ("warehouses=10", "warehouses=0", "`warehouses` is 0"),
        ("warehouses=10", "warehouses=60000", "60000"),
        ("runMins=5", "runMins=0", "one of `runMins` and `runTxnsPerTerminal` must be 0"),
        (
            "runTxnsPerTerminal=0",
            "runTxnsPerTerminal=9",
            "one of `runMins` and `runTxnsPerTerminal` must be 0",
        ),
        ("db=postgres", "db=oracle", "`db` is 'oracle': loadcell runs this on mariadb, mysql and postgres"),
        ("jdbc:postgresql:", "jdbc:mysql:", "`conn` refers to mysql, but `db` is postgres"),
        ("db=postgres", "db=mysql", "`conn` refers to postgresql, but `db` is mysql"),
        ("user=", "useStoredProcedures=true\nuser=", "`useStoredProcedures` is true"),
    ],
)
def test_what_cannot_be_is_reported(props: Path, old: str, new: str, part: str) -> None:
    assert old in PROPS
    props.write_text(PROPS.replace(old, new))
    [problem] = mistakes(props)
    assert problem.startswith("workload.benchmarksql")
    assert part in problem


def test_everything_that_is_wrong_is_reported_at_once(props: Path) -> None:
    props.write_text(PROPS.replace("terminals=50", "terminals=x").replace("runMins=5\n", ""))
    [problem] = mistakes(props)
    assert "`runMins` is missing" in problem
    assert "`terminals` is 'x'" in problem


def test_more_terminals_than_ten_a_warehouse_are_a_mistake(props: Path) -> None:
    props.write_text(PROPS.replace("terminals=50", "terminals=101"))
    problems = mistakes(props)
    assert [
        problem
        for problem in problems
        if "load.clients: 101 clients need as many terminals, but the limit is 100 (warehouses: 10,"
        in problem
    ], problems


def test_a_number_of_transactions_instead_of_minutes_is_measured_for_a_time(props: Path) -> None:
    props.write_text(PROPS.replace("runMins=5", "runMins=0").replace("Terminal=0", "Terminal=1000"))
    loaded = plan(props)
    assert loaded.base.load.duration.text == "30s"
    assert "runTxnsPerTerminal is 1000" in remark_texts(loaded)["workload.benchmarksql.properties"]


def test_a_fixed_warehouse_that_is_not_mentioned_is_taken_as_benchmarksql_takes_it(props: Path) -> None:
    props.write_text(PROPS.replace("terminalWarehouseFixed=true\n", ""))
    loaded = plan(props)
    assert BenchmarkSql(loaded.base.workload).engine()["tpcc"]["terminal_warehouse_fixed"] is False  # type: ignore[arg-type]
    assert "`terminalWarehouseFixed` is missing" in remark_texts(loaded)["workload.benchmarksql.properties"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "cannot read"),
        (b"\0\0\0", "property file"),
        (b"db=postgres\0", "property file"),
        (b"x" * 1_000_001, "property file"),
    ],
)
def test_what_is_no_property_file_is_reported(tmp_path: Path, content: bytes | None, reason: str) -> None:
    path = tmp_path / "props.pg"
    if content is not None:
        path.write_bytes(content)
    [problem] = mistakes(path)
    assert reason in problem


def test_a_directory_is_no_property_file(tmp_path: Path) -> None:
    [problem] = mistakes(tmp_path)
    assert "cannot read" in problem


def test_the_format_is_javas() -> None:
    text = (
        "a=1\n  b : 2\nc 3\n# no=1\n! no=2\n//no=3\nlong=one,\\\n     two\nempty=\nbare\n"
        "key\\ with\\:signs=x\\u0041\\tb\nback=c:\\\\d\r\nlast=\\\n"
    )
    assert java_properties(text) == {
        "a": "1",
        "b": "2",
        "c": "3",
        "long": "one,two",
        "empty": "",
        "bare": "",
        "key with:signs": "xA\tb",
        "back": "c:\\d",
        "last": "",
    }


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("jdbc:postgresql://db:5433/bench?ssl=true", Connection("postgresql", "db", 5433, "bench")),
        ("jdbc:postgresql://db/bench", Connection("postgresql", "db", None, "bench")),
        ("jdbc:postgresql://[::1]:5432/bench", Connection("postgresql", "[::1]", 5432, "bench")),
        ("jdbc:postgresql:bench", Connection("postgresql", None, None, "bench")),
        ("", None),
        ("postgresql://u:secret@db/bench", None),
    ],
)
def test_where_a_jdbc_url_leads(url: str, expected: Connection | None) -> None:
    properties: dict[str, Any] = java_properties(
        PROPS.replace("jdbc:postgresql://localhost:5432/postgres", url)
    )
    read = understand(properties, "props.pg")
    assert read.connection == expected
    assert "secret" not in repr(read)


def test_a_file_that_changes_while_a_plan_is_in_use_changes_nothing(props: Path) -> None:
    options = BenchmarkSqlOptions(properties=str(props))
    props.write_text(PROPS.replace("warehouses=10", "warehouses=99"))
    assert options.tpcc().warehouses == 10
    assert BenchmarkSqlOptions(properties=str(props)).tpcc().warehouses == 99


def test_mistakes_are_one_kind_of_error() -> None:
    with pytest.raises(SettingError):
        understand({}, "props.pg")


#: What property files are made of, in any order.
_WORDS = (
    "= : # ! // \\ \\u0041 \\ud83d \\ude00 \\u12 jdbc:postgresql:// jdbc:mysql: [::1] :99999 / ? "
    "%zz %c3%a9 0 -1 true"
)
_PIECES = st.sampled_from(
    [*PROPS.splitlines(), *REQUIRED, *_WORDS.split(), " ", "\n", "\r", "9" * 13, "\u00e9"]
)
_TEXTS = st.one_of(
    st.text(max_size=300),
    st.lists(_PIECES, max_size=60).map("".join),
    st.lists(_PIECES, max_size=40).map("\n".join),
)


@settings(max_examples=300, deadline=None)
@given(_TEXTS)
def test_any_text_is_properties_or_a_mistake_that_can_be_shown(text: str) -> None:
    message: object
    try:
        properties = understand(java_properties(text), "props.pg")
        message = [properties.options, properties.unknown, properties.user]
    except SettingError as error:
        message = str(error)
    json.dumps(message, ensure_ascii=False).encode()


def test_escapes_of_two_halves_are_one_character() -> None:
    assert java_properties("user=\\ud83d\\ude00\nx=\\ud83d") == {"user": "\U0001f600", "x": "\ufffd"}

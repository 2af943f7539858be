"""Options of the workload `sql`: what a plan may write, what the engine gets, and mistakes by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from loadcell.parts import installed
from loadcell.plan.load import load_plan
from loadcell.plan.problems import PlanError
from loadcell.plan.workload import WorkloadError
from loadcell.workloads.sql import Sql, SqlOptions
from loadcell.workloads.sql.parameters import of_line

PLAN = "target: {{{target}: {{server: local}}}}\nload: {{clients: 1}}\nworkload:\n  sql:\n"


def plan(directory: Path, options: str, target: str = "postgres") -> Sql:
    """The workload of a plan in `directory`."""
    file = directory / "plan.yaml"
    text = "".join(f"    {line}\n" for line in options.splitlines())
    file.write_text(PLAN.format(target=target) + text)
    options_of_plan = load_plan(file, installed()).base.workload
    assert isinstance(options_of_plan, SqlOptions)
    return Sql(options_of_plan)


def mistakes(directory: Path, options: str, target: str = "postgres") -> str:
    with pytest.raises(PlanError) as caught:
        plan(directory, options, target)
    return str(caught.value)


def engine(workload: Sql) -> dict[str, Any]:
    section: dict[str, Any] = workload.engine()["sql"]
    return section


def test_a_statement_is_a_text_and_its_parameters_are_values(tmp_path: Path) -> None:
    workload = plan(
        tmp_path,
        "statements: ['SELECT * FROM t WHERE id = :id AND s IN (:s, :id)']\n"
        "parameters: {id: 1..100, s: [new, 5, 0.5, null, true]}",
    )
    section = engine(workload)
    assert section["transactions"] == [
        {
            "name": "select",
            "weight": 1,
            "statements": [
                {
                    "name": "select:select",
                    "kind": "read",
                    "parts": [
                        {"sql": "SELECT * FROM t WHERE id = "},
                        {"parameter": 0},
                        {"sql": " AND s IN ("},
                        {"parameter": 1},
                        {"sql": ", "},
                        {"parameter": 0},
                        {"sql": ")"},
                    ],
                }
            ],
        }
    ]
    assert section["parameters"] == [
        {"range": (1, 100), "values": None, "distribution": "uniform"},
        {"range": None, "values": '["new", 5, 0.5, null, true]', "distribution": "uniform"},
    ]
    assert (section["protocol"], workload.changes_data, workload.data()) == ("prepared", False, None)


def test_transactions_have_names_weights_and_a_block(tmp_path: Path) -> None:
    workload = plan(
        tmp_path,
        "statements:\n"
        "  - {name: pay, weight: 3, transaction: ['UPDATE t SET a = 1', 'SELECT 1; SELECT 2']}\n"
        "  - {sql: 'BEGIN; DELETE FROM t; COMMIT'}\n"
        "  - SELECT 1\n"
        "  - SELECT 2\n",
    )
    transactions = engine(workload)["transactions"]
    assert [(transaction["name"], transaction["weight"]) for transaction in transactions] == [
        ("pay", 3), ("begin", 1), ("select", 1), ("select.2", 1),
    ]  # fmt: skip
    statements = transactions[0]["statements"]
    assert [statement["name"] for statement in statements] == [
        "pay:begin", "pay:update", "pay:select", "pay:select.2", "pay:commit",
    ]  # fmt: skip
    assert [statement["kind"] for statement in statements] == ["other", "write", "read", "read", "other"]
    assert workload.changes_data


@pytest.mark.parametrize(
    ("written", "section"),
    [
        ("zipfian(1..9, 1.5)", {"range": (1, 9), "distribution": {"zipfian": 1.5}}),
        ("gaussian(-5..5)", {"range": (-5, 5), "distribution": {"gaussian": 2.5}}),
        ("{range: 1..9, distribution: exponential, shape: 3}", {"distribution": {"exponential": 3.0}}),
        (
            "{values: [a, b], distribution: zipfian}",
            {"values": '["a", "b"]', "distribution": {"zipfian": 1.1}},
        ),
        ("{file: skus.txt}", {"values": '["A-1", "\\u0024{env:HOME}", " x"]'}),
        ("{file: skus.csv, column: sku}", {"values": '["1,5", "2"]'}),
        ("7", {"values": "[7]"}),
        ("x1..9", {"values": '["x1..9"]'}),
    ],
)
def test_parameters_have_many_sources(tmp_path: Path, written: str, section: dict[str, Any]) -> None:
    (tmp_path / "skus.txt").write_text("A-1\n${env:HOME}\n x\n")
    (tmp_path / "skus.csv").write_text('id,sku\n1,"1,5"\n2,2\n')
    workload = plan(tmp_path, f"statements: ['SELECT :a']\nparameters:\n  a: {written}")
    [parameter] = engine(workload)["parameters"]
    assert {name: parameter[name] for name in section} == section


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("statements: ['SELECT :custmer']\nparameters: {customer: 1..9}", "did you mean: customer"),
        ("statements: ['SELECT :a']", "select uses `:a`, which has no value: add it to `parameters`"),
        ("statements: ['SELECT 1']\nparameters: {a: 1..9}", "parameters.a: no statement uses it: write `:a`"),
        ("statements: ['SELECT :a']\nparameters: {a: 9..1}", "9..1 is not a range of integers"),
        (
            "statements: ['SELECT :a']\nparameters: {a: {range: 1..9, values: [1]}}",
            "it needs exactly one of `range`",
        ),
        ("statements: ['SELECT :a']\nparameters: {a: {file: no.txt}}", "no.txt: No such file"),
        ("statements: ['SELECT :a']\nparameters: {a: {file: empty.sql}}", "empty.sql has no values"),
        ("statements: ['SELECT :a']\nparameters: {a: {file: t.csv, column: nmae}}", "did you mean name?"),
        (
            "statements: ['SELECT :a']\nparameters: {a: 'zipfian(1..9, 0.5)'}",
            "does not fit `distribution: zip",
        ),
        ("statements: []", "statements"),
        ("statements: [' ; -- no']", "statement 1 contains no SQL"),
        ('statements: ["SELECT \'a"]', "the quote or comment that starts in line 1 is not closed"),
        ("statements: [SELECT f(1, 2)]", "the parentheses of `SELECT f(1` are not balanced"),
        ("statements: ['SELECT 1)']", "the parentheses of `SELECT 1)` are not balanced"),
        ("statements: ['BEGIN; SELECT 1']", "starts a transaction and does not end it"),
        ("statements: [{name: a, sql: SELECT 1}, {name: a, sql: SELECT 2}]", "the name a is already used"),
        ("statements: [{weight: 1}]", "needs either `sql` or `transaction`"),
        ("statements: [{sql: SELECT 1, weight: 0}]", "all weights are 0"),
        ("statements: [SELECT 1]\ndata: {files: [shcema.sql]}", "shcema.sql: No such file or directory"),
        ("statements: [SELECT 1]\ndata: {files: [empty.sql]}", "empty.sql is empty"),
        ("statements: [SELECT 1]\ndata: {files: [{file: empty.csv, table: t}]}", "empty.csv is empty"),
        ("statements: [SELECT 1]\ndata: {files: [t.xlsx]}", "none of `.sql`, `.csv`, `.tsv` and `.parquet`"),
        ("statements: [SELECT 1]\ndata: {files: [{file: a.sql, table: t}]}", "a.sql is an SQL file"),
        ("statements: [SELECT 1]\ndata: {}", "it names no data"),
        ("statements: [SELECT 1]\nbefore-trail: [SELECT 1]", "before-trial"),
    ],
)
def test_mistakes_name_what_is_wrong(tmp_path: Path, options: str, message: str) -> None:
    for name, text in {
        "empty.sql": "",
        "empty.csv": " \n",
        "t.csv": "name\n1\n",
        "a.sql": "SELECT 1;",
    }.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "t.xlsx").write_text("x")
    assert message in mistakes(tmp_path, options)


def test_a_statement_that_a_comma_splits_is_refused_at_its_position(tmp_path: Path) -> None:
    options = "statements: [SELECT 1]\nbefore-treatment: [CREATE INDEX ON events (device, at DESC)]"
    reported = mistakes(tmp_path, options)
    assert "plan.yaml:6:23: workload.sql.before-treatment" in reported
    assert "the parentheses of `CREATE INDEX ON events (device` are not balanced" in reported
    assert "a comma inside [ ] separates statements; put the statement in quotes" in reported


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE INDEX ON events (device, at DESC)",
        "SELECT ')', \"(\", $$($$ -- (",
        "SELECT 1 /* ( */",
        "SELECT 'it\\'s (', 1",
        "SELECT 1 # (",
    ],
)
def test_parentheses_count_outside_of_quotes_and_comments(tmp_path: Path, statement: str) -> None:
    workload = plan(tmp_path, f"statements: [SELECT 1]\nbefore-treatment:\n- |\n  {statement}")
    assert workload.options.before_treatment == (statement,)


def test_an_unused_parameter_is_reported_at_its_line_without_a_guess_at_a_used_name(tmp_path: Path) -> None:
    options = "statements: ['SELECT :device']\nparameters:\n  device: 1..9\n  devices: 1..9"
    [line] = [line for line in mistakes(tmp_path, options).splitlines() if "parameters.devices" in line]
    assert "devices: 1..9" in (tmp_path / "plan.yaml").read_text().splitlines()[int(line.split(":")[1]) - 1]
    assert "did you mean" not in mistakes(tmp_path, options)


def test_a_misspelt_place_is_guessed_once_among_unused_parameters(tmp_path: Path) -> None:
    options = "statements: ['SELECT :device, :devise']\nparameters: {device: 1..9, devize: 1..9}"
    assert mistakes(tmp_path, options).count("did you mean: devize") == 1
    assert mistakes(tmp_path, options).count("did you mean") == 1


def test_mysql_has_no_extended_protocol(tmp_path: Path) -> None:
    options = "statements: [SELECT 1]\nprotocol: extended"
    assert "have no extended protocol" in mistakes(tmp_path, options, "mysql")
    assert plan(tmp_path, options).options.protocol == "extended"


def test_a_data_set_is_its_files_and_the_statements_behind_them(tmp_path: Path) -> None:
    (tmp_path / "schema.sql").write_text("CREATE TABLE t (id int);")
    (tmp_path / "t.tsv").write_text("id\n1\n")
    options = "data: {files: [schema.sql, t.tsv], ready: SELECT 1}\nstatements: [SELECT 1]\n"
    first = plan(tmp_path, options)
    index = plan(tmp_path, f"{options}before-treatment: [CREATE INDEX i ON t (id)]")
    assert first.data() != index.data()
    assert first.data() == plan(tmp_path, options.replace("SELECT 1]", "SELECT 2]")).data()
    loading = index.loading()
    assert loading is not None
    [section] = loading.values()
    assert section["before_treatment"] == ["CREATE INDEX i ON t (id)"]
    assert [(file["table"], file["delimiter"]) for file in section["files"]] == [
        ("schema", ","), ("t", "\t"),
    ]  # fmt: skip
    (tmp_path / "t.tsv").write_text("id\n1\n2\n")
    assert plan(tmp_path, options).data() != first.data(), "a changed file is another data set"


class TestAroundTheLoad:
    """Statements before and after the load, on answers of a recorded database."""

    def _run(self, options: str, tmp_path: Path, rows: Any, *, entered: bool = True) -> tuple[Sql, list[Any]]:
        workload, calls = plan(tmp_path, options), []

        def run(statement: str, key: str) -> list[tuple[Any, ...]]:
            calls.append((key, statement))
            return rows if key in ("ready", "parameters.id") else []

        workload.before_load(run, entered=entered)
        workload.after_load(run)
        return workload, calls

    def test_they_are_executed_in_order(self, tmp_path: Path) -> None:
        options = (
            "data: {ready: SELECT true}\nstatements: ['SELECT :id']\nparameters: {id: {query: SELECT id}}\n"
            "before-treatment: [A]\nbefore-trial: ['B; C']\nafter-trial: [D]"
        )
        workload, calls = self._run(options, tmp_path, [(3,), (None,), ("$x",)])
        assert calls == [
            ("ready", "SELECT true"), ("before-treatment", "A"), ("before-trial", "B"),
            ("before-trial", "C"), ("parameters.id", "SELECT id"), ("after-trial", "D"),
        ]  # fmt: skip
        assert engine(workload)["parameters"][0]["values"] == '[3, null, "\\u0024x"]'
        _, again = self._run(options, tmp_path, [(3,)], entered=False)
        assert ("before-treatment", "A") not in again
        [[explained]] = workload.explained(mysql=False)
        assert (explained.sql, explained.filled) == ("SELECT :id", "SELECT 3")

    @pytest.mark.parametrize(
        ("rows", "message"),
        [([], "returns no row"), ([(0,)], "returns NULL, false or 0"), ([(None,)], "NULL")],
    )
    def test_data_that_are_not_ready_end_the_trial(self, tmp_path: Path, rows: Any, message: str) -> None:
        with pytest.raises(WorkloadError) as caught:
            self._run("data: {ready: SELECT x}\nstatements: [SELECT 1]", tmp_path, rows)
        assert message in caught.value.finding
        assert caught.value.advice

    def test_a_query_without_rows_has_no_values(self, tmp_path: Path) -> None:
        options = "statements: ['SELECT :id']\nparameters: {id: {query: SELECT id}}"
        with pytest.raises(WorkloadError, match="the query of parameter id returns no row"):
            self._run(options, tmp_path, [])


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("1..9", "1..9"),
        ("zipfian(1..9,1.2)", "zipfian(1..9,1.2)"),
        ("new,paid", ["new", "paid"]),
        ("5,-1,0.5,007", [5, -1, 0.5, "007"]),
        ("select id from t, u", {"query": "select id from t, u"}),
        ("@/x/a.csv:sku", {"file": "/x/a.csv", "column": "sku"}),
        ("@/x/a.txt", {"file": "/x/a.txt"}),
    ],
)
def test_a_command_line_has_short_forms(text: str, written: Any) -> None:
    assert of_line(text) == written
    json.dumps(written)

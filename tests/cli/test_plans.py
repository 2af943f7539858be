"""`loadcell plans`."""

from __future__ import annotations

import json
import re

import pytest
from rich.cells import cell_len

from lines import CliRunner
from loadcell import parts
from loadcell.cli import main
from loadcell.plan.load import load_plan
from loadcell.plan.ready import ready_plans


def test_built_in_plans_are_listed_with_their_size() -> None:
    result = CliRunner().invoke(main, ["plans"])
    assert result.exit_code == 0
    for name in ("quickstart", "postgres-concurrency-readwrite", "postgres-concurrency-readonly"):
        assert any(line.split()[:1] == [name] for line in result.stdout.splitlines())
    assert "64 trials" in result.stdout
    rows = {row["name"]: row for row in json.loads(CliRunner().invoke(main, ["plans", "--json"]).stdout)}
    assert set(rows) == set(ready_plans())
    assert rows["quickstart"]["trials"] == 15
    assert all(row["problem"] is None for row in rows.values())


@pytest.mark.parametrize(("lang", "script"), [("en", r"[\x00-\x7f]+"), ("zh", r".*[\u3400-\u9fff].*")])
def test_every_plan_has_one_line_of_80_columns_and_texts_in_both_languages(lang: str, script: str) -> None:
    printed = CliRunner().invoke(main, ["plans", "--lang", lang], env={"COLUMNS": "80"}).stdout
    lines = {line.split()[0]: line for line in printed.splitlines() if line.startswith("  ")}
    assert set(lines) == set(ready_plans())
    for name, path in ready_plans().items():
        plan = load_plan(path, parts.installed())
        title, question = plan.title_in(lang), " ".join(plan.question_in(lang).split())
        assert re.fullmatch(script, title), (name, title)
        assert re.fullmatch(script, question), (name, question)
        shown = lines[name].removeprefix("  " + name).split("  ")
        shown_title = next(part.strip() for part in shown if part.strip())
        assert title.startswith(shown_title.removesuffix("…").rstrip()), name
        assert cell_len(lines[name].rstrip()) <= 80, name


def test_plans_of_one_name_are_a_group() -> None:
    lines = CliRunner().invoke(main, ["plans", "--lang", "en"]).stdout.splitlines()
    heads = [line for line in lines if line and not line.startswith(" ")]
    assert {"incident", "jvm", "postgres", "others"} <= set(heads)
    group = lines[lines.index("incident") + 1 :]
    assert group[0].split()[0].startswith("incident-")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("quickstart", "`loadcell run quickstart` runs it"),
        ("quikstart", "Did you mean `loadcell plans show quickstart`?"),
        ("metrcs", "Did you mean `loadcell plans metrics`?"),
        ("nothing-like-it", "There are: "),
    ],
)
def test_a_name_behind_plans_leads_to_what_was_meant(name: str, hint: str) -> None:
    result = CliRunner().invoke(main, ["plans", "--lang", "en", name])
    assert result.exit_code == 2
    assert hint in " ".join(result.stderr.split())


def test_every_plan_stands_in_the_list_of_plans() -> None:
    listed = (ready_plans()["quickstart"].parent / "README.md").read_text(encoding="utf-8")
    for name, path in ready_plans().items():
        assert f"\n| [{name}]({path.name}) |" in listed


def test_one_is_shown_as_it_is() -> None:
    result = CliRunner().invoke(main, ["plans", "show", "quickstart"])
    assert result.stdout == ready_plans()["quickstart"].read_text(encoding="utf-8")


def test_a_plan_that_there_is_not() -> None:
    result = CliRunner().invoke(main, ["plans", "show", "quickstrat"])
    assert result.exit_code == 2
    assert "Did you mean quickstart?" in result.stderr


@pytest.mark.parametrize(("lang", "meaning"), [("en", "percentage: 5%"), ("zh", "百分数：5%")])
def test_the_metrics_of_expectations_are_listed_with_their_units(lang: str, meaning: str) -> None:
    listed = CliRunner().invoke(main, ["plans", "metrics", "--lang", lang]).stdout
    for metric in ("latency.p99.9", "host.cpu", "tpmC", "heap.peak"):
        assert any(line.split()[:1] == [metric] for line in listed.splitlines()), metric
    assert meaning in listed
    rows = json.loads(CliRunner().invoke(main, ["plans", "metrics", "--json"]).stdout)
    by_key = {row["key"]: row for row in rows}
    assert (by_key["host.cpu"]["kind"], by_key["host.cpu"]["per_group"]) == ("share", False)


def test_the_schema_is_json() -> None:
    result = CliRunner().invoke(main, ["plans", "schema"])
    assert json.loads(result.stdout)["title"] == "loadcell plan"


@pytest.mark.parametrize("name", ["quikstart", "nosuch", "nosuch.yaml"])
def test_a_name_that_is_no_plan_lists_those_there_are(name: str) -> None:
    result = CliRunner().invoke(main, ["check", name])
    assert result.exit_code == 2
    assert "neither a file nor a built-in plan" in result.stderr
    assert "quickstart" in result.stderr

"""Run directories of schema 1 (tests/data/schema-1) stay readable, and every value computed from them stays
the same.

The expected values are what the commands printed at the commit that wrote the runs. Keys may be added; no
number, state, status, verdict or stored text may change.
"""

from __future__ import annotations

import json
import math
import shutil
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from loadcell.cli import main

DATA = Path(__file__).resolve().parent.parent / "data" / "schema-1"
RUNS = sorted(path.relative_to(DATA / "results") for path in DATA.glob("results/*/*"))
QUERIES = tomllib.loads((DATA / "queries.toml").read_text(encoding="utf-8"))
#: Relative tolerance of floats: the order of a sum may change, a method may not.
TOLERANCE = 1e-9
#: Findings are ranked and worded by the report; their kinds, severities and numbers are compared in
#: `finding_numbers`.
WORDED = ("findings", "summary")


def run_id(run: Path) -> str:
    """Return the short id of a run, the last part of its directory's name."""
    return run.name.rpartition("-")[2]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the directory of results, so that no command can change the data."""
    return Path(shutil.copytree(DATA / "results", tmp_path_factory.mktemp("schema-1") / "results"))


def call(*arguments: str | Path) -> Result:
    """Run a command in this process; it must succeed."""
    result = CliRunner().invoke(main, [*map(str, arguments)])
    assert result.exit_code == 0, f"{arguments}: {result.output}\n{result.exception!r}"
    return result


def output(*arguments: str | Path) -> Any:
    """Return the JSON document that a command prints with --json."""
    return json.loads(call(*arguments, "--json").stdout)


def expected(name: str) -> Any:
    return json.loads((DATA / "expected" / f"{name}.json").read_text(encoding="utf-8"))


def differences(expected: Any, actual: Any, path: str = "") -> Iterator[str]:
    """Yield a line for every expected value that `actual` lacks or contradicts; more keys in `actual` are
    allowed.
    """
    if isinstance(expected, Mapping):
        if not isinstance(actual, Mapping):
            yield f"{path}: expected an object, got {actual!r}"
            return
        for key, value in expected.items():
            if key not in actual:
                yield f"{path}.{key}: missing"
            elif key not in WORDED:
                yield from differences(value, actual[key], f"{path}.{key}")
    elif isinstance(expected, list):
        if not isinstance(actual, list) or len(actual) != len(expected):
            yield f"{path}: expected {len(expected)} items, got {actual!r}"
            return
        for index, (value, other) in enumerate(zip(expected, actual, strict=True)):
            yield from differences(value, other, f"{path}[{index}]")
    elif isinstance(expected, float) and isinstance(actual, (int, float)):
        if not math.isclose(expected, actual, rel_tol=TOLERANCE, abs_tol=1e-12):
            yield f"{path}: expected {expected!r}, got {actual!r}"
    elif expected != actual and not is_path_of(expected, actual):
        yield f"{path}: expected {expected!r}, got {actual!r}"


def is_path_of(expected: Any, actual: Any) -> bool:
    """Tell whether `actual` is the path of the run or file that the expected document names without its
    directories.
    """
    return isinstance(expected, str) and isinstance(actual, str) and Path(actual).name == expected


def assert_same(expected: Any, actual: Any) -> None:
    lines = list(differences(expected, actual))
    assert not lines, "\n".join(lines)


def finding_numbers(document: Mapping[str, Any]) -> Counter[tuple[Any, ...]]:
    """Count the findings by kind, severity and the numbers among their parameters, but for the number of
    trials that findings of checks did not have at first.
    """
    return Counter(
        (
            finding["kind"],
            finding["severity"],
            *sorted(
                numbers(
                    {
                        name: value
                        for name, value in finding["params"].items()
                        if (finding["kind"], name) != ("checks", "of")
                    }
                )
            ),
        )
        for finding in document["findings"]
    )


def numbers(value: Any) -> Iterator[float]:
    """Yield all numbers in a document, rounded to nine significant digits."""
    if isinstance(value, Mapping):
        for item in value.values():
            yield from numbers(item)
    elif isinstance(value, list):
        for item in value:
            yield from numbers(item)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield float(f"{value:.9g}")


def test_the_comparison_of_documents_notices_every_difference() -> None:
    document = {"a": [1.5, {"b": "text", "c": None}], "d": 3}
    assert not list(differences(document, {**document, "more": 1}))
    assert list(differences(document, {"a": [1.5000001, {"b": "text", "c": None}], "d": 3}))
    assert list(differences(document, {"a": [1.5, {"b": "other", "c": None}], "d": 3}))
    assert list(differences(document, {"a": [1.5, {"b": "text"}], "d": 3}))
    assert list(differences(document, {"a": [1.5], "d": 3}))
    assert list(differences(document, {"a": document["a"]}))


def test_list_shows_every_run_with_its_state(results: Path) -> None:
    assert_same(expected("list"), output("list", results))


@pytest.mark.parametrize("run", RUNS, ids=run_id)
def test_the_analysis_of_a_run_has_the_same_values(run: Path, results: Path) -> None:
    document = output("report", results / run)
    assert_same(expected(f"report-{run_id(run)}"), document)
    assert finding_numbers(expected(f"report-{run_id(run)}")) == finding_numbers(document)


@pytest.mark.parametrize("run", RUNS, ids=run_id)
def test_show_has_every_value_of_the_records(run: Path, results: Path) -> None:
    document = output("show", results / run)
    head = json.loads((DATA / "results" / run / "run.json").read_text(encoding="utf-8"))
    assert document["state"] == ("killed" if run_id(run) == "3e27" else head.pop("state"))
    assert_same({key: value for key, value in head.items() if key != "state"}, document)
    records = {record["name"]: record for record in document["records"] + document["unscored_records"]}
    stored = sorted((DATA / "results" / run / "trials").glob("[!.]*/trial.json"))
    assert len(stored) == len(records) > 0
    for path in stored:
        record = json.loads(path.read_text(encoding="utf-8"))
        assert_same(record, records[record["name"]])
    assert document["damage"] == []
    assert document["unfinished"] == (["003-clients=1-r1"] if run_id(run) == "3e27" else [])


@pytest.mark.parametrize("run", RUNS, ids=run_id)
def test_the_terminal_shows_the_run_and_each_kind_of_trial(run: Path, results: Path) -> None:
    document = expected(f"report-{run_id(run)}")
    text = " ".join(call("show", results / run).stdout.split())
    assert document["title"] in text
    for status in {trial["status"] for trial in document["trials"]} - {"ok", "not-run"}:
        assert status in text
    trial = next(trial for trial in document["trials"] if trial["status"] != "not-run")
    assert trial["name"] in call("show", results / run, trial["name"]).stdout


@pytest.mark.parametrize("run", RUNS, ids=run_id)
def test_the_page_has_the_title_and_the_reasons_as_they_were_written(
    run: Path, results: Path, tmp_path: Path
) -> None:
    call("report", results / run, "--out", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    document = expected(f"report-{run_id(run)}")
    assert document["title"] in page
    assert all(treatment["label"] in page for treatment in document["treatments"])
    excluded = [trial["name"] for trial in document["trials"] if trial["status"] not in ("ok", "not-run")]
    assert all(name in page for name in excluded)
    arguments = [json.loads(text).get("reason_args", {}) for text in records(DATA / "results" / run).values()]
    assert all(values["message"] in page for values in arguments if "message" in values)


@pytest.mark.parametrize(
    ("id_", "language", "word"),
    [("f662", "en", "repeats"), ("f662", "zh", "重复"), ("8570", "zh", "失败"), ("7257", "en", "search")],
)
def test_markdown_in_both_languages(
    id_: str, language: str, word: str, results: Path, tmp_path: Path
) -> None:
    run = next(results / run for run in RUNS if run_id(run) == id_)
    call("report", run, "--lang", language, "--out", tmp_path / "report.md")
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    document = expected(f"report-{id_}")
    assert document["title"] in text
    levels = (treatment["label"].rpartition(" = ")[2] for treatment in document["treatments"])
    assert all(level in text for level in levels)
    assert word in text


def test_two_runs_compare_with_the_same_values(results: Path) -> None:
    both = sorted(results.glob("redis/*"))
    assert_same(expected("compare-runs"), output("compare", *both))
    assert "+46.7%" in call("compare", *both).stdout


def test_the_levels_of_a_run_compare_with_the_same_values(results: Path) -> None:
    [run] = results.glob("redis/*-140b")
    assert_same(expected("compare-levels"), output("compare", run, "--factor", "workload.kv.reads"))


def test_two_machines_compare_with_the_same_values(results: Path) -> None:
    assert_same(expected("compare-hosts"), output("compare", *sorted(results.glob("host-baseline/*"))))


def test_the_history_of_a_plan_has_the_same_values(results: Path) -> None:
    assert_same(expected("history"), output("history", "redis", "--results", results))


@pytest.mark.parametrize("name", QUERIES)
def test_sql_over_all_runs_has_the_same_answer(name: str, results: Path) -> None:
    rows = output("query", QUERIES[name], "--results", results)
    if name == "columns":
        missing = [row for row in expected("query-columns") if row not in rows]
        assert not missing
    else:
        assert_same(expected(f"query-{name}"), rows)


#: Exit statuses of a run without anything left to do: those of its first execution.
COMPLETE = {"f662": 1, "140b": 0, "9e58": 0, "7257": 0, "1d2b": 0, "8570": 3, "ee8c": 3, "57a0": 0}


@pytest.mark.parametrize("id_", COMPLETE)
def test_resuming_a_complete_run_measures_nothing(id_: str, tmp_path: Path) -> None:
    [source] = DATA.glob(f"results/*/*-{id_}")
    run = shutil.copytree(source, tmp_path / source.name)
    result = CliRunner().invoke(main, ["run", "--resume", str(run), "--no-report", "--quiet", "--json"])
    assert result.exit_code == COMPLETE[id_], result.output
    assert records(run) == records(source)
    last = json.loads((run / "run.json").read_text(encoding="utf-8"))["executions"][-1]
    assert (last["how"], last["trials"], last["reused"]) == (
        "resumed",
        None if id_ == "7257" else 0,
        len(records(source)),
    )


@pytest.mark.parametrize(("id_", "reused"), [("4a12", 3), ("3e27", 2)], ids=["interrupted", "killed"])
def test_resuming_an_incomplete_run_measures_only_the_remaining_trials(
    id_: str, reused: int, tmp_path: Path
) -> None:
    [source] = DATA.glob(f"results/*/*-{id_}")
    run = shutil.copytree(source, tmp_path / source.name)
    before = {name: text for name, text in records(source).items() if json.loads(text)["status"] == "ok"}
    assert len(before) == reused
    call("run", "--resume", run, "--no-report", "--quiet")
    after = records(run)
    assert len(after) == 6
    assert {name: after[name] for name in before} == before
    assert {json.loads(text)["status"] for text in after.values()} == {"ok"}
    document = output("show", run)
    assert (document["state"], document["unfinished"], document["damage"]) == ("finished", [], [])
    last = document["executions"][-1]
    assert (last["how"], last["trials"], last["reused"]) == ("resumed", 6 - reused, reused)
    assert all(trial["throughput_per_s"] > 0 for trial in output("report", run)["trials"])


def records(run: Path) -> dict[str, str]:
    """Return the text of every trial.json of a run, by the directory of the trial."""
    paths = sorted((run / "trials").glob("[!.]*/trial.json"))
    return {path.parent.name: path.read_text(encoding="utf-8") for path in paths}

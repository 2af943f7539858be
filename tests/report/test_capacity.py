"""`loadcell report --headroom --instances`: the capacity in every form, and wrong calls."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import Result

from execution.test_search_trials import SEARCH, curve
from execution.world import World
from fake_runs import Shape, write_run
from lines import CliRunner
from loadcell.analysis import capacity
from loadcell.analysis.analyse import analyse
from loadcell.analysis.capacity import Provision, capacities
from loadcell.cli import main
from loadcell.model.message import MessageCode
from loadcell.report.sections import capacity as section
from loadcell.store.read import read_run

SHAPE = Shape(
    factors={"load.clients": [4, 16]}, repeats=1, expect=("latency.p99 < 20ms",), missed=frozenset({2})
)


def report(run: Path, *options: str) -> Result:
    return CliRunner(env={"COLUMNS": "80"}).invoke(main, ["report", str(run), *options])


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("capacity") / "run", SHAPE)


def squeezed(text: str) -> str:
    return " ".join(text.split())


def test_terminal_page_and_markdown_state_capacity_and_assumption(run: Path, tmp_path: Path) -> None:
    done = report(run, "--headroom", "30%", "--instances", "4", "--out", str(tmp_path))
    assert done.exit_code == 0, done.output
    assert max(map(len, done.stdout.splitlines()[:-2])) <= 80
    page, markdown = ((tmp_path / f"report.{kind}").read_text(encoding="utf-8") for kind in ("html", "md"))
    for text in (squeezed(done.stdout), squeezed(markdown)):
        assert "instances scale linearly and share nothing" in text
        assert "30% headroom" in text
    assert 'id="capacity"' in page
    assert "Capacity" not in squeezed(report(run, "--format", "md", "--out", str(tmp_path / "x.md")).stdout)


def test_chinese(run: Path, tmp_path: Path) -> None:
    done = report(run, "--instances", "2", "--lang", "zh", "--format", "md", "--out", str(tmp_path))
    assert "各实例线性扩展且互不共享资源" in done.stdout.replace("\n", "")
    assert "2 个实例可按每秒" in (tmp_path / "report.md").read_text(encoding="utf-8")


def test_titles_are_in_the_language_of_the_page(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", SHAPE)
    record = json.loads((run / "run.json").read_text(encoding="utf-8"))
    (run / "run.json").write_text(json.dumps({**record, "title_zh": "PostgreSQL 的容量"}), encoding="utf-8")
    done = report(run, "--headroom", "30%", "--lang", "zh")
    assert done.stdout.split("\n")[1] == "PostgreSQL 的容量"
    assert SHAPE.title not in done.stdout
    other = write_run(tmp_path / "other", SHAPE)
    compare = CliRunner().invoke(main, ["compare", str(run), str(other), "--lang", "zh"])
    assert "PostgreSQL 的容量" in compare.stdout, compare.output
    assert SHAPE.title not in compare.stdout


def test_json_has_rates_and_sentences(run: Path) -> None:
    document = json.loads(report(run, "--json", "--headroom", "50%").stdout)["capacity"]
    [system] = document["systems"]
    assert (document["headroom_share"], document["instances"]) == (0.5, 1)
    assert system["provisioned_per_s"] == system["capacity_per_s"] / 2
    assert system["sentences"][0].startswith("Capacity: ")
    assert "capacity" not in json.loads(report(run, "--json").stdout)


SYSTEMS = Shape(factors={"load.clients": [4, 16], "storage": ["a", "b", "c", "d"]}, repeats=1)


def rows(markdown: str) -> dict[str, str]:
    """Rows of the table of capacities, by system."""
    cells = (line.strip("| ").split(" | ") for line in markdown.splitlines() if line.startswith("|"))
    return {system: " | ".join(values) for system, *values in cells if len(values) == 5}


def test_many_systems_are_a_table(tmp_path: Path) -> None:
    done = report(write_run(tmp_path / "run", SYSTEMS), "--instances", "2", "--format", "md")
    assert "Highest throughput within the bounds" in done.stdout
    assert "Planned rate (/s)" in (tmp_path / "run" / "report.md").read_text(encoding="utf-8")
    assert max(map(len, done.stdout.splitlines()[:-1])) <= 80


@pytest.fixture(scope="module")
def cautious(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Clients that missed the bound: none on a, where 16 were disturbed; 4 on b, 16 on c, both on d."""
    path = tmp_path_factory.mktemp("cautious")
    numbers = {
        trial.treatment: trial.number for trial in read_run(write_run(path / "order", SYSTEMS)).run.trials
    }
    missed = ("clients=4,storage=b", "clients=16,storage=c", "clients=4,storage=d", "clients=16,storage=d")
    shape = replace(
        SYSTEMS,
        missed=frozenset(numbers[name] for name in missed),
        noticed={numbers["clients=16,storage=a"]: ("other-processes", "noticed")},
    )
    return write_run(path / "run", shape)


def test_the_table_has_every_caution(cautious: Path, tmp_path: Path) -> None:
    report(cautious, "--instances", "2", "--out", str(tmp_path))
    markdown = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "Bounds: errors == 0." in markdown
    notes = rows(markdown)
    assert "range of 1 repeat, no 95% CI; may be higher: no higher load missed a bound; " in notes["a"]
    assert "1 of 1 trials disturbed" in notes["a"]
    assert "no load below the first miss met the bounds; not counted: clients = 16" in notes["b"]
    assert notes["c"].endswith("| range of 1 repeat, no 95% CI")
    assert notes["d"].endswith("| no load met the bounds")


def test_the_chinese_table_has_every_caution(cautious: Path, tmp_path: Path) -> None:
    report(cautious, "--instances", "2", "--lang", "zh", "--out", str(tmp_path))
    notes = rows((tmp_path / "report.md").read_text(encoding="utf-8"))
    assert "1 次重复的范围，并非 95% 置信区间；可能更高" in notes["a"]


def test_each_caution_has_a_short_form() -> None:
    codes = [code for code in vars(capacity).values() if isinstance(code, MessageCode)]
    cautions = {code.code.removesuffix(".of") for code in codes if code.severity in ("caution", "problem")}
    cautions -= {capacity.NO_BOUND.code, capacity.NOT_COMPARABLE.code, capacity.ASSUMPTION.code}
    assert cautions == section.NOTES.keys()


@pytest.mark.parametrize("headroom", ["100%", "-1%", "30", "a%", "nan%", "%", "150%"])
def test_headroom_is_a_share_below_100_percent(run: Path, headroom: str) -> None:
    done = report(run, "--headroom", headroom)
    assert done.exit_code == 2
    assert f"--headroom {headroom}: write a share of the capacity as 30%" in squeezed(done.stderr)


@pytest.mark.parametrize("instances", ["0", "-3", "2.5", "many", "1" * 400])
def test_instances_are_a_whole_number_from_1(run: Path, instances: str) -> None:
    done = report(run, "--instances", instances)
    assert done.exit_code == 2
    assert "write a whole number of instances from 1" in squeezed(done.stderr)


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_run_without_bounds_is_one_clear_error(tmp_path: Path, options: list[str]) -> None:
    path = write_run(tmp_path / "run", Shape(expect=(), repeats=1))
    done = report(path, "--headroom", "30%", *options)
    assert done.exit_code != 0
    error = squeezed(done.stderr)
    assert "this run has no bound, so its capacity is not defined; run again with `expect:`" in error
    assert "add `--set 'expect=[latency.p99 < 20ms]'`" in error
    assert not (path / "report.html").exists()


BOUND = ("step: 1", "step: 1, objective: max clients, subject to: latency.mean < 16ms")


def test_the_answer_of_a_search_is_the_capacity(tmp_path: Path) -> None:
    world = World(per_s=curve)
    stored = world.stored(world.run(tmp_path, SEARCH.replace(*BOUND)))
    analysis = analyse(stored.run, stored.trials)
    [system] = capacities(analysis)
    assert system.treatment is not None
    assert system.treatment.levels == {"load.clients": "29"}
    assert system.bounds == ("latency.mean < 16ms",)
    assert (system.open_ended, system.met, system.tried) == (False, 4, 4)
    assert system.rate_per_s == pytest.approx(curve(29), rel=0.01)
    assert "missed-below" not in "".join(message.code for message in system.sentences(Provision()))


def test_the_answer_of_a_search_above_a_load_that_missed_has_a_caution(tmp_path: Path) -> None:
    """A search for the highest throughput does not measure all loads."""
    world = World(per_s=curve)
    stored = world.stored(world.run(tmp_path, SEARCH.replace(*BOUND)))
    analysis = analyse(stored.run, stored.trials)
    [search] = analysis.searches
    below = min(step.level for step in search.steps)
    steps = tuple(replace(step, met=False) if step.level == below else step for step in search.steps)
    [system] = capacities(replace(analysis, searches=(replace(search, steps=steps),)))
    assert system.missed_below == (f"clients = {search.labels[below]}",)
    assert "capacity.missed-below" in [message.code for message in system.sentences(Provision())]

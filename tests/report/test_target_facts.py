"""Facts of a target are named in the reader's language; what a server calls by its names
stays as it is.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import pytest

import fake_runs
import loadcell.systems
from loadcell.linux import disks
from loadcell.model import panels
from loadcell.model.panels import fact_labels, fact_units
from loadcell.report import write
from loadcell.report.context import ReportContext
from loadcell.report.sections import environment
from loadcell.report.sections.environment import summarised
from loadcell.report.texts import Texts
from loadcell.report.values import FIELD, fact
from loadcell.store.read import read_run
from loadcell.systems.base import TargetFacts
from report import comparisons


def fields_of(kind: type[Any]) -> Iterator[str]:
    """The fields of facts and of the records within them, except settings, which have their own table."""
    hints = get_type_hints(kind)
    for field in fields(kind):
        if field.name != "settings":
            yield field.name
            for part in (hints[field.name], *get_args(hints[field.name])):
                if is_dataclass(part) and isinstance(part, type):
                    yield from fields_of(part)


def fact_paths() -> Iterator[str]:
    """The names of the facts that loadcell's targets report."""
    for module in pkgutil.walk_packages(loadcell.systems.__path__, "loadcell.systems."):
        importlib.import_module(module.name)
    kinds = [TargetFacts]
    for kind in kinds:
        kinds += kind.__subclasses__()
        yield from fields_of(kind)


def test_every_fact_that_a_target_gives_has_a_name() -> None:
    names = {*fact_paths()}
    assert len(names) > 20
    assert names - {path.rpartition(".")[2] for path in fact_labels()} - {*FIELD.names} == set()


def numbers_of(kind: type[Any], parent: str = "") -> Iterator[str]:
    """Paths of facts whose names say that they are sizes or times; a part of a mapping is `*`."""
    hints = get_type_hints(kind)
    for field in fields(kind):
        hint = hints[field.name]
        path = f"{parent}{field.name}"
        if field.name.endswith(("_bytes", "_s", "_ms")):
            yield path
        inner = "*." if get_origin(hint) is Mapping else ""
        for part in (hint, *get_args(hint)):
            if is_dataclass(part) and isinstance(part, type):
                yield from numbers_of(part, f"{path}.{inner}")


def test_every_size_and_time_has_a_declared_unit(tmp_path: Path) -> None:
    assert {*fact_paths()}, "all systems are imported"
    kinds = [TargetFacts]
    for kind in kinds:
        kinds += kind.__subclasses__()
    paths = {path for kind in kinds for path in numbers_of(kind)}
    paths |= {f"data.{name}" for name in disks.file_system(tmp_path) or () if name.endswith("_bytes")}
    assert {"files.*.size_bytes", "database.size_bytes", "data.free_bytes"} <= paths
    assert paths - fact_units().keys() == set()


def test_a_started_file_has_a_size_and_a_time() -> None:
    size = summarised("files.argument 1.size_bytes", [123_456_789], Texts("en"))
    time = summarised("files.program.modified_utc", ["2026-11-26T02:00:03.000000Z"], Texts("en"))
    assert (size, time) == ("118 MiB", "2026-11-26 02:00")


def test_labels_are_declared_by_the_systems_alone() -> None:
    """A fact of one system has its label from that system's package."""
    labels = fact_labels()
    assert labels["compatible_with"] == "fact.compatible_with"
    declared = [item for item in panels._all() if isinstance(item, panels.FactLabels)]
    paths = [path for item in declared for path in item.paths]
    assert len(declared) > 5
    assert len(paths) == len(set(paths)) == len(labels)


@pytest.mark.parametrize(
    ("path", "en", "zh"),
    [
        ("version", "Version", "版本"),
        ("data.type", "Data: file system", "数据：文件系统"),
        ("data.image.mount", "Data: image: mount point", "数据：镜像文件：挂载点"),
        ("memory.used_memory", "Memory: used_memory", "内存：used_memory"),
        ("of_a_part.metrics_table", "of_a_part: metrics_table", "of_a_part：metrics_table"),
    ],
)
def test_a_fact_is_named_with_its_whole(path: str, en: str, zh: str) -> None:
    assert (fact(path, Texts("en")), fact(path, Texts("zh"))) == (en, zh)


def test_a_chinese_page_calls_them_so(tmp_path: Path) -> None:
    run = fake_runs.write_run(tmp_path / "run", fake_runs.Shape(seconds=10, monitors=False))

    def described(document: dict[str, object]) -> None:
        document["target"] = {
            "server": "embedded",
            "run_as": "nobody",
            "database": {"name": "shop", "keys": 7},
        }

    for trial in (run / "trials").iterdir():
        comparisons.change(trial, described, "trial.json")
    for language, names in {"en": ("Run as", "Database: keys"), "zh": ("运行用户", "数据库：键数")}.items():
        [page] = write(run, language, ["html"], tmp_path / f"{language}.html")
        text = page.read_text(encoding="utf-8").partition('<script type="application/json"')[0]
        assert all(name in text for name in names)
        assert "run_as" not in text


def test_two_ends_that_are_written_alike_are_one() -> None:
    assert summarised("size_bytes", [1_981_000, 1_982_000, 1_981_500], Texts("en")) == "1.89 MiB"
    assert summarised("size_bytes", [1_981_000, 2_981_000], Texts("en")) == "1.89 MiB – 2.84 MiB"


@pytest.mark.parametrize(
    ("run", "title"),
    [("host-baseline", "Machine under test"), ("quickstart", "Load generator and target on one machine")],
)
def test_a_machine_that_is_the_target_shares_nothing(run: str, title: str) -> None:
    path, *_ = sorted((Path(__file__).parents[1] / "data" / "schema-1" / "results" / run).glob("2*"))
    section = environment.section(ReportContext.of(read_run(path), "en"))
    assert section is not None
    assert section.blocks[0].title == title

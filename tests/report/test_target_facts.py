"""What a target says of itself is called in the reader's language; what a server calls by names of its own
stays as it is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import fake_runs
import loadcell.systems
from loadcell.report import write
from loadcell.report.sections.environment import said
from loadcell.report.texts import Texts
from loadcell.report.values import TARGET_FACT, fact
from report import comparisons

TARGETS = Path(loadcell.systems.__file__).parent


def keys(of: ast.Dict) -> Iterator[str]:
    """Those of a document written out, but for its settings, which have a table of their own."""
    for key, value in zip(of.keys, of.values, strict=True):
        if isinstance(key, ast.Constant) and key.value != "settings":
            yield str(key.value)
            if isinstance(value, ast.Dict):
                yield from keys(value)


def given() -> Iterator[str]:
    """The keys of what targets of loadcell's own say of themselves."""
    for path in TARGETS.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef) or node.name not in ("describe", "_facts"):
                continue
            for one in ast.walk(node):
                if isinstance(one, ast.Return | ast.AnnAssign) and isinstance(one.value, ast.Dict):
                    yield from keys(one.value)
                elif isinstance(one, ast.Subscript) and isinstance(one.ctx, ast.Store):
                    assert isinstance(one.slice, ast.Constant)
                    yield str(one.slice.value)


def test_every_fact_that_a_target_gives_has_a_name() -> None:
    found = {*given()}
    assert len(found) > 20
    assert found - {path.rpartition(".")[2] for path in TARGET_FACT.names} == set()


@pytest.mark.parametrize(
    ("path", "en", "zh"),
    [
        ("version", "Version", "版本"),
        ("data.type", "Data: file system", "数据：文件系统"),
        ("data.image.mount", "Data: image: at", "数据：映像文件：挂载点"),
        ("memory.used_memory", "Memory: used_memory", "内存：used_memory"),
        ("of_a_part.metrics_table", "of_a_part: metrics_table", "of_a_part：metrics_table"),
    ],
)
def test_a_fact_is_said_with_what_it_is_a_part_of(path: str, en: str, zh: str) -> None:
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
        [page] = write(run, language, ["md"], tmp_path / f"{language}.md")
        text = page.read_text(encoding="utf-8").replace("\\_", "_")
        assert all(name in text for name in names)
        assert "run_as" not in text


def test_two_ends_that_are_written_alike_are_one() -> None:
    assert said("size_bytes", [1_981_000, 1_982_000, 1_981_500], Texts("en")) == "1.89 MiB"
    assert said("size_bytes", [1_981_000, 2_981_000], Texts("en")) == "1.89 MiB – 2.84 MiB"

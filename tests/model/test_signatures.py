"""Seams are typed: no signature takes or returns a dictionary of anything.

`JsonObject` is the one name for it, where JSON or Vega-Lite is the subject.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import loadcell

SOURCE = Path(loadcell.__file__).parent
_UNTYPED = ("dict[str, Any]", "Mapping[str, Any]", "MutableMapping[str, Any]")
_ALIAS = "model/json.py:JsonObject"


@pytest.mark.parametrize(
    "code",
    [
        "def read(values: dict[str, Any]): ...",
        "def read(*, values: list[Mapping[str, Any]] | None = None): ...",
        "async def read(**values: 'dict[str, Any]'): ...",
        "class Reader:\n    def read(self) -> tuple[int, dict[str, Any]]: ...",
        "Row: TypeAlias = dict[str, Any]",
        "Row = Mapping[str, Any]",
    ],
)
def test_the_scan_finds_untyped_signatures_and_aliases(code: str) -> None:
    assert list(_untyped(ast.parse(code)))


@pytest.mark.parametrize(
    "code", ["def read(parts: Mapping[str, type[Any]]) -> JsonObject: ...", "words: dict[str, Any] = {}"]
)
def test_the_scan_leaves_typed_signatures_and_variables_alone(code: str) -> None:
    assert list(_untyped(ast.parse(code))) == []


def test_no_signature_is_untyped() -> None:
    untyped = [
        f"{path.relative_to(SOURCE)}:{name}"
        for path in sorted(SOURCE.rglob("*.py"))
        for name in _untyped(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert untyped == [_ALIAS]


def _untyped(tree: ast.Module) -> Iterator[str]:
    """Names of functions and aliases with a dictionary of anything."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            arguments = [item for item in ast.walk(node.args) if isinstance(item, ast.arg)]
            annotations = [node.returns, *(argument.annotation for argument in arguments)]
            if any(_is_untyped(annotation) for annotation in annotations):
                yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign) and _is_alias(node):
            yield ast.unparse(node.target if isinstance(node, ast.AnnAssign) else node.targets[0])


def _is_untyped(annotation: ast.expr | None) -> bool:
    text = "" if annotation is None else ast.unparse(annotation)
    return any(part in text for part in _UNTYPED)


def _is_alias(node: ast.Assign | ast.AnnAssign) -> bool:
    return node.value is not None and ast.unparse(node.value).strip("'") in _UNTYPED

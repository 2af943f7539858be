"""Templates are compiled once and then kept."""

from __future__ import annotations

from pathlib import Path

import pytest
from jinja2 import DictLoader, Environment, TemplateSyntaxError

from loadcell.report.render.html import compiled


def _rendered(source: str) -> str:
    """The output of a template in an environment that has compiled nothing yet."""
    loader = DictLoader({"page": source})
    return (
        Environment(loader=loader, bytecode_cache=compiled(), autoescape=True).get_template("page").render()
    )


def _cached_files(home: Path) -> list[Path]:
    return list((home / "loadcell" / "templates").iterdir())


def test_what_is_kept_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert _rendered("{{ 1 + 1 }}") == "2"
    assert len(_cached_files(tmp_path)) == 1

    def compile_again(*_: object, **__: object) -> None:
        raise AssertionError("compiled again")

    monkeypatch.setattr(Environment, "compile", compile_again)
    assert _rendered("{{ 1 + 1 }}") == "2"


def test_a_template_that_has_changed_is_compiled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert [_rendered("{{ 1 + 1 }}"), _rendered("{{ 1 + 2 }}")] == ["2", "3"]
    with pytest.raises(TemplateSyntaxError):
        _rendered("{{ 1 + }}")


@pytest.mark.parametrize("keep", [0, 5, 12, 25, 60, 100, -1])
def test_a_torn_cache_is_made_again(keep: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    _rendered("{{ 1 + 1 }}")
    (file,) = _cached_files(tmp_path)
    code = file.read_bytes()
    file.write_bytes(code[:keep])
    assert _rendered("{{ 1 + 1 }}") == "2"
    assert file.read_bytes() == code


def test_without_a_cache_it_only_takes_longer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "loadcell").write_text("in the way", encoding="utf-8")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert _rendered("{{ 1 + 1 }}") == "2"

"""The libraries of the page are made once and then kept."""

from __future__ import annotations

import base64
import gzip
import re
from pathlib import Path

import pytest

from loadcell.report.pictures import VEGA_LITE
from loadcell.report.render import html


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Counts how often the bundle is made, which costs nothing here."""
    calls: list[str] = []

    def javascript_bundle(snippet: str, vl_version: str) -> str:
        calls.append(vl_version)
        return f"const x = '</script><!-- ';{snippet}"

    monkeypatch.setattr("vl_convert.javascript_bundle", javascript_bundle)
    return calls


def test_it_is_made_once_for_a_version(
    made: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = html.libraries()
    assert html.libraries() == first
    assert made == [VEGA_LITE]
    assert [path.suffix for path in (tmp_path / "loadcell").iterdir()] == [".base64"]


def test_a_torn_cache_is_made_again(made: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    code = html.libraries()
    (file,) = (tmp_path / "loadcell").iterdir()
    complete = file.read_text(encoding="utf-8")
    file.write_text(complete[:-9], encoding="utf-8")
    assert html.libraries() == code
    assert file.read_text(encoding="utf-8") == complete
    assert len(made) == 2


def test_without_a_cache_it_only_takes_longer(
    made: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "loadcell").write_text("in the way", encoding="utf-8")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert html.libraries() == html.libraries()
    assert len(made) == 2


def test_it_cannot_end_the_script_it_stands_in(
    made: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    text = html.libraries()
    assert re.fullmatch(r"[A-Za-z0-9+/]+=*", text)
    assert "</script><!-- " in gzip.decompress(base64.b64decode(text)).decode()


def test_the_page_carries_the_version_that_charts_are_written_for() -> None:
    import altair
    import vl_convert

    assert altair.SCHEMA_VERSION.startswith(f"{VEGA_LITE}.")
    assert VEGA_LITE.removeprefix("v") in vl_convert.get_vegalite_versions()

"""The bar of a long reading."""

from __future__ import annotations

import io

import pytest

from loadcell.ingest.inputs import Bar

GB = 10**9


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_sees_how_far_a_long_reading_is() -> None:
    terminal = Terminal()
    with Bar(terminal) as bar:
        bar(GB // 2, 2 * GB)
        bar(2 * GB, 2 * GB)
    assert "reading" in terminal.getvalue()
    assert "2.0 GB" in terminal.getvalue()


@pytest.mark.parametrize(("stream", "total"), [(io.StringIO(), 2 * GB), (Terminal(), 1_000)])
def test_short_texts_and_files_have_none(stream: io.StringIO, total: int) -> None:
    with Bar(stream) as bar:
        bar(total, total)
    assert stream.getvalue() == ""


def test_while_a_long_text_is_read_what_comes_after_can_begin() -> None:
    begun: list[int] = []
    with Bar(io.StringIO(), lambda: begun.append(1)) as bar:
        bar(1_000, 1_000)
        assert begun == []
        bar(GB, 2 * GB)
    assert begun == [1]

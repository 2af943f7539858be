"""Parts of a tool's output in trial records: each is there, whatever it is called."""

from __future__ import annotations

from loadcell.ingest.base import Measured
from loadcell.workloads.tool_runner import result


def part(title: str, rate: float) -> Measured:
    return Measured(title, "operation", rate, succeeded=int(rate), figures={"mib_per_s": rate / 256})


def test_parts_of_one_name_are_numbered_and_none_replaces_another() -> None:
    parts = result.named_apart([part("db read", 512), part("db read", 256), part("db read (2)", 128)])
    titles = ["db read", "db read (2)", "db read (2) (2)"]
    assert [item.title for item in parts] == titles
    document = result.result(parts[0], parts, result.Window(0, 0, 10**9), {}, {}, {})
    operations = document["operations"]
    assert isinstance(operations, list)
    assert [item["name"] for item in operations[1:]] == titles
    assert list(result.figures(parts).values()) == [2, 1, 0.5]


def test_a_name_that_is_there_once_stays() -> None:
    parts = (part("db read", 512), part("db write", 256))
    assert result.named_apart(parts) == parts

"""Numbers in the texts of all incidents: few digits, separators of thousands, and units that fit."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from loadcell.incidents.base import Diagnosis, Healthy, examine
from loadcell.report.texts import Texts
from truth.incidents.case import Replay
from truth.incidents.driver import REPLAYS

#: More digits than anyone reads, exponents, seconds of a few milliseconds, and sizes beyond their unit.
BAD = re.compile(
    r"\d\.0*[1-9]\d{4,}|\d\.0{4,}|\de[-+]\d|\b\d\d+\.\d{2,}%|\b0\.0\d* s\b|\b1,0[2-9]\d (?:[KMGT]i)?B\b"
)


@pytest.mark.parametrize("replay", REPLAYS, ids=lambda replay: str(replay.incident))
def test_numbers_are_short(replay: Replay, tmp_path: Path) -> None:
    for number, build in enumerate((replay.seen, *replay.near)):
        directory = tmp_path / str(number)
        directory.mkdir()
        judgements = examine(build(random.Random(number), directory).evidence)
        messages = [
            item.summary if isinstance(item, Diagnosis) else item.value
            for item in judgements
            if isinstance(item, Diagnosis | Healthy)
        ]
        texts = [Texts(language).message(message) for message in messages for language in ("en", "zh")]
        assert [text for text in texts if BAD.search(text)] == []

"""Plain evaluation of the rules of services/rules, to compare with the answers of the service.

The parameters are those of the service (`rules.csv`); nothing else is shared with it.
"""

from __future__ import annotations

import csv
import json
import random
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

TABLE: Final = (
    Path(__file__).parent.parent / "services/rules/src/main/resources/tool/loadcell/rules/rules.csv"
)
PAYMENT: Final = "P"
LOGIN: Final = "L"


@dataclass(frozen=True, slots=True)
class Record:
    """A record of the stream; `time` in milliseconds, `amount` in cents, `location` is the field `place`."""

    number: int
    key: int
    time: int
    kind: str
    amount: int
    location: int

    def csv(self, size_bytes: int) -> str:
        """Values joined by commas, padded to a size with the line end."""
        text = f"{self.number},{self.key},{self.time},{self.kind},{self.amount},{self.location},"
        return text.ljust(size_bytes - 1, "x") + "\n"

    def json(self) -> str:
        return json.dumps(
            {
                "id": self.number,
                "key": str(self.key),
                "time": self.time,
                "kind": self.kind,
                "amount": self.amount,
                "place": self.location,
                "padding": "x",
            }
        )


def random_records(number: int, keys: int, seed: int, login_share: float = 0.1) -> Iterator[Record]:
    """Records at steps of 1 ms, with uniform keys, amounts and places."""
    chance = random.Random(seed)
    for index in range(number):
        kind = LOGIN if chance.random() < login_share else PAYMENT
        yield Record(
            index, chance.randrange(keys), index, kind, chance.randint(1, 100_000), chance.randrange(100)
        )


def fired_rules(
    records: Iterable[Record], rules: int, retained: int, window_ms: int
) -> Iterator[tuple[int, ...]]:
    """The rules that fire for each record: the first `rules` of the table are active."""
    with TABLE.open(encoding="utf-8") as table:
        active = list(csv.DictReader(table))[:rules]
    parameters = [{name: int(text) for name, text in row.items() if text.isdigit()} for row in active]
    kinds = [row["kind"] for row in active]
    histories: dict[int, deque[Record]] = defaultdict(deque)
    for record in records:
        history = histories[record.key]
        while history and history[0].number <= record.number - retained:
            history.popleft()
        if record.kind == PAYMENT:
            amounts = [record.amount]
            login = None
            for earlier in reversed(history):
                if earlier.kind == LOGIN:
                    login = login or earlier
                elif earlier.time > record.time - window_ms:
                    amounts.append(earlier.amount)
            yield tuple(
                row["rule"]
                for kind, row in zip(kinds, parameters, strict=True)
                if _fires(kind, row, record, amounts, login)
            )
        else:
            yield ()
        history.append(record)


def _fires(
    kind: str, row: Mapping[str, int], record: Record, amounts: list[int], login: Record | None
) -> bool:
    match kind:
        case "window":
            count = len(amounts)
            return count >= row["count"] and 100 * record.amount * count > row["factor"] * sum(amounts)
        case "threshold":
            return record.amount > row["amount"] and row["lowest"] <= record.location <= row["highest"]
        case "join":
            return (
                record.amount > row["amount"]
                and login is not None
                and login.time > record.time - row["within"]
                and login.location != record.location
            )
    raise ValueError(kind)


def answer(record: Record, rules: tuple[int, ...]) -> str:
    """The line of the service for a record."""
    return " ".join([str(record.number), *(f"r{rule}" for rule in rules)])

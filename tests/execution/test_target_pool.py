"""Targets of one run: separate options, common locks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from loadcell.execution.target_pool import TargetPool, contact_external
from loadcell.plan.model import Resolved
from loadcell.systems.base import Target
from loadcell.systems.redis.options import RedisOptions


class Recorded(Target[RedisOptions]):
    """A target that only comes up."""

    def up(self) -> None: ...

    def alive(self) -> bool:
        return True

    def endpoint(self) -> Any: ...

    def describe(self) -> Any: ...

    def prepare(self, spec: Any, load: Any, *, will_change: bool) -> Any: ...


@dataclass
class Settings:
    """Part of a treatment's settings that the pool reads."""

    target: RedisOptions
    target_name: str = "redis"


def test_external_servers_of_treatments_are_contacted_once_each(monkeypatch: pytest.MonkeyPatch) -> None:
    contacts: list[str] = []
    monkeypatch.setattr(Recorded, "up", lambda self: contacts.append(self.options.host))
    options = [RedisOptions(server="external", host=host) for host in ("a", "b", "a")]
    treatments = [SimpleNamespace(resolved=Settings(target)) for target in (*options, RedisOptions())]
    contact_external({"redis": Recorded}, cast(Any, treatments), str)
    assert contacts == ["a", "b"]


def test_targets_of_a_run_share_its_locks(tmp_path: Path) -> None:
    pool = TargetPool({"redis": Recorded}, tmp_path, log=print, secret=str, note=print)
    first, second = (
        pool.up(cast(Resolved, Settings(RedisOptions(server="external", host=host))), lambda _: None)
        for host in ("localhost", "127.0.0.1")
    )
    assert first is not second
    assert first.context.locks is second.context.locks

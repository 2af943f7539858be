"""Targets on real Redis servers, each with a separate work directory, and a small data set to fill them
with.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from loadcell.model.message import as_written
from loadcell.systems.base import DataSpec, ServerEndpoint, TargetContext
from loadcell.systems.redis.connection import Address
from loadcell.systems.redis.options import RedisOptions
from loadcell.systems.redis.target import Redis

KEYS = 1500
DATA = DataSpec({"kv": {"keys": KEYS, "key_prefix": "key:"}})
OTHER = DataSpec({"kv": {"keys": KEYS, "key_prefix": "other:"}})


def address(endpoint: ServerEndpoint) -> Address:
    """The way of the load: to where the endpoint says."""
    return Address(
        host=endpoint.host, port=endpoint.port, socket=endpoint.socket, user=endpoint.user,
        password=endpoint.password, database=int(endpoint.database or 0), tls=endpoint.sslmode != "disable",
        tls_ca=endpoint.sslrootcert,
    )  # fmt: skip


def ask(endpoint: ServerEndpoint, *words: Any) -> Any:
    """The answer to one command."""
    with address(endpoint).session(as_written("ask"), during="test") as connection:
        return connection.ask(*words)


def loader(prefix: str = "key:") -> Any:
    """Fills a data set as the engine would."""

    def load(endpoint: ServerEndpoint) -> int:
        words = [word for number in range(KEYS) for word in (f"{prefix}{number}", "value")]
        ask(endpoint, "MSET", *words)
        return KEYS

    return load


load = loader()


@dataclass
class Bench:
    """Makes targets that share one work directory, as the targets of one run do; `log` is what they said."""

    work: Path
    env: dict[str, str] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    made: list[Redis] = field(default_factory=list)

    def reveal(self, text: str) -> str:
        for name, value in self.env.items():
            text = text.replace(f"${{env:{name}}}", value)
        return text

    def target(self, **options: Any) -> Redis:
        context = TargetContext(self.work, self.log.append, self.reveal)
        self.made.append(Redis(RedisOptions(**options), context))
        return self.made[-1]

    def up(self, **options: Any) -> Redis:
        target = self.target(**options)
        target.up()
        return target


@pytest.fixture
def bench() -> Iterator[Bench]:
    # A directory that other users can reach; pytest's own are closed to them.
    directory = Path(tempfile.mkdtemp(prefix="loadcell-test-", dir="/var/tmp"))
    directory.chmod(0o755)
    made = Bench(directory / "work")
    made.work.mkdir(mode=0o755)
    yield made
    for target in made.made:
        target.down()
        target.destroy()
    shutil.rmtree(directory, ignore_errors=True)

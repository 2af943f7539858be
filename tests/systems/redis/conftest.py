"""Targets on real Redis servers, each with a separate work directory, and a small data set to fill them
with.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from loadcell.model.message import as_written
from loadcell.systems.base import DataSpec, ServerEndpoint, TargetContext
from loadcell.systems.redis.connection import Address
from loadcell.systems.redis.options import RedisOptions
from loadcell.systems.redis.target import Redis
from systems.bench import Bench, temporary

KEYS = 1500
DATA = DataSpec({"kv": {"keys": KEYS, "key_prefix": "key:"}}, ("key:",))
OTHER = DataSpec({"kv": {"keys": KEYS, "key_prefix": "other:"}}, ("other:",))


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


def make(context: TargetContext, **options: Any) -> Redis:
    return Redis(RedisOptions(**options), context)


@pytest.fixture
def bench() -> Iterator[Bench[Redis]]:
    with temporary(make) as bench:
        yield bench

"""Databases for the engine's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from servers import PostgresServer


@pytest.fixture
def database(postgres_server: PostgresServer, request: pytest.FixtureRequest) -> Iterator[str]:
    """A new, empty database on the common server; its name."""
    name = f"engine_{abs(hash(request.node.nodeid)) % 10**10}"
    postgres_server.sql(f"CREATE DATABASE {name}")
    yield name
    postgres_server.sql(f"DROP DATABASE {name} WITH (FORCE)")

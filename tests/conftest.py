"""Fixtures for all tests: real servers and a browser, started once per file and only when a test asks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from browser import Browser
from loadcell.report import publish
from mariadb import MariadbServer
from painting import SharedPainter
from redis_server import RedisServer, valkey
from servers import PostgresServer

#: Directories whose files take longest, most of it waiting. Begun last, one of them would keep a single
#: process busy at the end of all tests.
LONG = ("tutorials", "execution", "truth", "systems", "incidents", "cli", "engine")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the files of long directories first; the order within a file stays."""

    def position(item: pytest.Item) -> int:
        directory = item.path.relative_to(Path(__file__).parent).parts[0]
        return LONG.index(directory) if directory in LONG else len(LONG)

    items.sort(key=position)


@pytest.fixture(scope="session", autouse=True)
def _shared_painter() -> Iterator[None]:
    """Paint the pictures of all reports that this process writes by one process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(publish, "Painter", SharedPainter)
        yield
    SharedPainter.close()


@pytest.fixture(scope="module")
def postgres_server() -> Iterator[PostgresServer]:
    """A PostgreSQL with `pg_stat_statements`, everybody trusted. Each test creates its databases in it."""
    settings = {"shared_preload_libraries": "pg_stat_statements", "pg_stat_statements.max": "10000"}
    with PostgresServer(settings=settings) as server:
        yield server


@pytest.fixture(scope="module")
def mariadb_server() -> Iterator[MariadbServer]:
    """A MariaDB whose user `test` may do everything. Each test creates its databases in it."""
    with MariadbServer() as server:
        yield server


@pytest.fixture(scope="module")
def redis_server() -> Iterator[RedisServer]:
    """A Redis with a password that keeps nothing. Tests empty it before they use it."""
    with RedisServer() as server:
        yield server


@pytest.fixture(scope="module")
def valkey_server() -> Iterator[RedisServer]:
    """A Valkey with a password that keeps nothing. Tests empty it before they use it."""
    with RedisServer(program=valkey()) as server:
        yield server


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A Chromium for pages, without a network. Opening a page resets it."""
    chromium = Browser()
    yield chromium
    chromium.close()

"""Which server it is: by what each says of itself in INFO, and by what its program says of its version."""

from __future__ import annotations

import pytest

from loadcell.systems.redis.server import Product, product_from_info, product_from_program

#: What servers said, shortened to what they differ in.
REDIS = "redis_version:7.0.15\nredis_mode:standalone\nprocess_id:1\nexecutable:/usr/bin/redis-server"
VALKEY = (
    "redis_version:7.2.4\nserver_name:valkey\nvalkey_version:9.1.2\nvalkey_release_stage:ga\n"
    "server_mode:standalone\nexecutable:/usr/bin/valkey-server"
)
KEYDB = (
    "redis_version:6.3.4\nredis_git_sha1:7e7e5e57\nredis_mode:standalone\nexecutable:/data/keydb-server\n"
    "availability_zone:\nfeatures:cluster_mget"
)
DRAGONFLY = (
    "redis_version:7.4.0\ndragonfly_version:df-v1.40.1\nredis_mode:standalone\narch_bits:64\nthread_count:8\n"
    "multiplexing_api:iouring\nexecutable:/usr/bin/dragonfly"
)
GARNET = "garnet_version:1.0.83\nserver_name:garnet\nredis_version:7.4.3\nredis_mode:standalone"


def info(output: str) -> dict[str, str]:
    return dict(line.split(":", 1) for line in output.splitlines())


@pytest.mark.parametrize(
    ("output", "product"),
    [
        (REDIS, Product("Redis", "7.0.15")),
        (VALKEY, Product("Valkey", "9.1.2", "7.2.4")),
        (KEYDB, Product("KeyDB", "6.3.4")),
        (DRAGONFLY, Product("Dragonfly", "1.40.1", "7.4.0")),
        (GARNET, Product("Garnet", "1.0.83", "7.4.3")),
        (KEYDB.replace("keydb-server", "server") + "\nmvcc_depth:0", Product("KeyDB", "6.3.4")),
        ("redis_version:7.2.4\nserver_name:valkey", Product("Valkey", None, "7.2.4")),
        ("redis_version:7.0.0\nserver_name:NewOne", Product("NewOne", None, "7.0.0")),
        ("", Product("Redis", None)),
    ],
)
def test_what_a_server_says_of_itself(output: str, product: Product) -> None:
    assert product_from_info(info(output)) == product


@pytest.mark.parametrize(
    ("output", "product"),
    [
        (
            "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=d81",
            Product("Redis", "7.0.15"),
        ),
        ("Valkey server v=9.1.2 sha=00000000:1 malloc=libc bits=64 build=1536", Product("Valkey", "9.1.2")),
        ("KeyDB server v=6.3.4 sha=7e7e5e57:0 malloc=jemalloc-5.2.1 bits=64", Product("KeyDB", "6.3.4")),
        ("dragonfly v1.40.1-4a7c9b", None),
        ("v=7.0.15", None),
    ],
)
def test_what_its_program_says_of_its_version(output: str, product: Product | None) -> None:
    assert product_from_program(output) == product

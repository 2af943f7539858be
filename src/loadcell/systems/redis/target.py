"""Redis from this machine, or a running server that speaks RESP."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from loadcell.model.extensions import RESP
from loadcell.model.json import JsonObject
from loadcell.model.message import Count, MessageCode
from loadcell.monitors.numbered_writes import NUMBERED_WRITES
from loadcell.plan.data_size import Cache, Questions
from loadcell.systems.base import Secret, ServerEndpoint, TargetError
from loadcell.systems.redis.connection import ANSWERED, PORT, REDIS_INFO, Address, RefusedError
from loadcell.systems.redis.keys import Keys, key_count
from loadcell.systems.redis.numbered_writes import RedisWrites
from loadcell.systems.redis.options import RECORDED, RedisOptions, data_cache, remarks, too_many_clients
from loadcell.systems.redis.server import SECTIONS, DataDirectory, Server, find_binary, product_from_info
from loadcell.systems.redis.settings import unknown_settings
from loadcell.systems.server import ALIVE_LIMIT_S, DatabaseFacts, ServerFacts, ServerTarget
from loadcell.systems.server_options import Setting, read_back
from loadcell.systems.shared import account
from loadcell.systems.shared.owner import Owner
from loadcell.systems.shared.server_errors import (
    DOING_FIND_THE_PROCESS,
    DOING_READ_COUNTERS,
    DOING_READ_SETTINGS,
)
from loadcell.systems.shared.server_process import ReportedProcess, identify

if TYPE_CHECKING:
    from loadcell.systems.redis.client import Client

REDIS_CLUSTER = MessageCode("redis.cluster", count=Count, where=str)
DOING_ASK_WHAT_IT_IS = MessageCode("doing.ask-what-it-is")

#: Fields of INFO that are recorded, by section.
_MEMORY = (
    "used_memory",
    "used_memory_rss",
    "used_memory_peak",
    "used_memory_dataset",
    "maxmemory",
    "maxmemory_policy",
    "mem_fragmentation_ratio",
    "mem_allocator",
)
_PERSISTENCE = (
    "rdb_changes_since_last_save",
    "rdb_last_bgsave_status",
    "aof_enabled",
    "aof_last_write_status",
)
#: Prefix of the names of counters of commands: `calls_get`.
CALLS = "calls_"


@dataclass(frozen=True, kw_only=True)
class RedisFacts(ServerFacts):
    """Facts of a Redis; `memory` and `persistence` are fields of INFO. None where the server does not say."""

    version: str | None
    compatible_with: str | None
    mode: str | None
    role: str | None
    threads: int | float | str | None
    memory: JsonObject
    persistence: JsonObject


#: Entry in the hash table, object header and rounding of the allocator, per key.
_RECORD_OVERHEAD_BYTES = 95


class Redis(ServerTarget[RedisOptions, Server, Address]):
    """Redis from this machine, or an existing Redis or compatible server."""

    name = "redis"
    summary = "Redis, Valkey and what speaks RESP: local, or external"
    Options = RedisOptions
    offers = frozenset({RESP, REDIS_INFO, NUMBERED_WRITES})
    answered_codes = ANSWERED
    single_threaded = True  # commands; `io-threads` read and write only
    size_questions = Questions("INFO memory", "CONFIG GET maxmemory")
    remarks = staticmethod(remarks)
    too_many_clients = staticmethod(too_many_clients)

    @classmethod
    def cache(cls, options: RedisOptions) -> Cache | None:
        return data_cache(options)

    @classmethod
    def record_bytes(cls, options: RedisOptions, payload_bytes: float) -> float | None:  # noqa: ARG003
        """Source: used_memory of Redis 7.0 with 200,000 and 300,000 keys of 16 bytes, values of 10 bytes to
        1 kB: 81 to 109 bytes more than the key and its value.
        """
        return payload_bytes + _RECORD_OVERHEAD_BYTES

    @staticmethod
    def unknown_settings(options: RedisOptions) -> Mapping[str, str | None]:
        return unknown_settings(find_binary(options.bin), options.settings)

    def _make_server(self, parent: Path, settings: Mapping[str, Setting], sockets: Path) -> Server:
        binary = find_binary(self.options.bin)
        user = account.choose(self.options.run_as, product=binary.product, kind="redis", pin=self.context.pin)
        directory = DataDirectory(parent, binary, user, self.context.log)
        return Server(binary.server.name, directory, settings, sockets, self.context.log)

    def _managed_address(self, server: Server) -> Address:
        return server.address(self.options.connect, self.options.resp)

    def _external_address(self) -> Address:
        options = self.options
        return Address(
            options.host or "localhost",
            options.port or PORT,
            socket=options.socket,
            user=options.user,
            password=Secret(self.context.secret(options.password)) if options.password else None,
            database=options.database or 0,
            tls=bool(options.tls),
            tls_ca=options.certificates,
            tls_verify=options.tls_verify is not False,
            resp=options.resp,
        )

    def _check_external(self, address: Address) -> None:
        with address.session(DOING_ASK_WHAT_IT_IS(), during="up") as client:
            primaries = _primaries(client)
        if primaries > 1:
            raise TargetError(REDIS_CLUSTER(where=address.where, count=primaries))

    def _data_sets(self) -> Keys:
        return Keys(
            address=self._load_address(),
            managed=self._server is not None,
            owner=Owner.of(self.context.work),
            keep=bool(self.options.keep_data),
            log=self.context.log,
        )

    def endpoint(self) -> ServerEndpoint:
        return self._load_address().endpoint()

    def numbered_writes(self) -> RedisWrites:
        return RedisWrites(self._admin())

    def observed(self) -> Address:
        return self._admin()

    def _facts(self) -> tuple[RedisFacts, Path | None]:
        with self._admin().session(DOING_READ_SETTINGS(), during="collect") as client:
            info = client.info(*SECTIONS, "memory", "persistence", "replication")
            effective = client.config()
            keys = key_count(client)
        software = product_from_info(info)
        address, server = self._load_address(), self._server
        facts = RedisFacts(
            server=self.options.server,
            product=software.name,
            version=software.version,
            compatible_with=f"Redis {software.redis_version}" if software.redis_version else None,
            mode=info.get("redis_mode") or info.get("server_mode"),
            role=info.get("role"),
            threads=_value(info["thread_count"]) if "thread_count" in info else None,
            settings=read_back(effective, self.options.settings, RECORDED),
            memory={name: _value(info[name]) for name in _MEMORY if name in info},
            persistence={name: _value(info[name]) for name in _PERSISTENCE if name in info},
            database=DatabaseFacts(str(address.database), keys=keys),
            tls=address.tls,
            binaries=None if server is None else str(server.directory.binary.server),
            host=(address.socket or address.host) if server is None else None,
        )
        return facts, None

    def _external_processes(self, address: Address) -> list[int]:
        with address.session(DOING_FIND_THE_PROCESS(), during="collect", limit_s=ALIVE_LIMIT_S) as client:
            reported = reported_process(client.info("server"))
        pid = None if reported is None else identify(reported, address.port, address.socket)
        return [] if pid is None else [pid]

    def counters(self) -> dict[str, int]:
        with self._admin().session(DOING_READ_COUNTERS(), during="collect") as client:
            return _calls(client.info("commandstats"))


def _primaries(client: Client) -> int:
    """Number of primaries that share the keys; 1 for a server that is no node of a cluster."""
    if client.info("cluster").get("cluster_enabled") != "1":
        return 1
    try:
        lines = str(client.ask("CLUSTER", "INFO")).split()
    except RefusedError:
        return 1
    return int(dict(line.split(":", 1) for line in lines if ":" in line).get("cluster_size", "1"))


def _calls(commandstats: Mapping[str, str]) -> dict[str, int]:
    """Calls of each command since the server started, out of INFO commandstats; subcommands count for their
    command.

    Calls that were rejected before they were executed are not among them.
    """
    counts: dict[str, int] = {}
    for name, text in commandstats.items():
        calls = re.match(r"calls=(\d+)", text)
        if name.startswith("cmdstat_") and calls:
            key = CALLS + name.removeprefix("cmdstat_").partition("|")[0].lower()
            counts[key] = counts.get(key, 0) + int(calls[1])
    return counts


def _value(text: str) -> int | float | str:
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def reported_process(info: Mapping[str, str]) -> ReportedProcess | None:
    """The process by INFO. Its `executable` is the first word of the command line below the working
    directory, if that word is no absolute path: only its name is of use.
    """
    try:
        pid = int(info["process_id"])
    except (KeyError, ValueError):
        return None
    uptime = info.get("uptime_in_seconds", "")
    return ReportedProcess(
        pid, Path(info.get("executable", "")).name or None, int(uptime) if uptime.isdecimal() else None
    )


PART = Redis

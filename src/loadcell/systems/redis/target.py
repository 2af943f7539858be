"""The target of Redis: brings the parts of this package together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from loadcell import __version__
from loadcell.linux import file_system
from loadcell.plan.parts import Advice
from loadcell.systems.base import DataSet, Loader, Target, TargetContext, TargetError
from loadcell.systems.messages import (
    DOING_FIND_THE_PROCESS,
    DOING_READ_COUNTERS,
    DOING_READ_SETTINGS,
    TARGET_NOT_UP,
)
from loadcell.systems.redis import advice, binaries, counters, product, settings
from loadcell.systems.redis.connection import NONE_LEFT, PORT, Address, Connection, RefusedError
from loadcell.systems.redis.directory import DataDirectory
from loadcell.systems.redis.keys import Keys, keys_held
from loadcell.systems.redis.messages import DOING_ASK_WHAT_IT_IS, REDIS_CLUSTER
from loadcell.systems.redis.observed import Observed
from loadcell.systems.redis.options import RedisOptions
from loadcell.systems.redis.server import Server
from loadcell.systems.shared import account
from loadcell.systems.shared.ownership import Owner

_ALIVE_LIMIT_S = 3

#: Figures of INFO that belong into the record, by section.
_MEMORY = (
    "used_memory", "used_memory_rss", "used_memory_peak", "used_memory_dataset", "maxmemory", "maxmemory_policy",
    "mem_fragmentation_ratio", "mem_allocator",
)  # fmt: skip
_PERSISTENCE = (
    "rdb_changes_since_last_save",
    "rdb_last_bgsave_status",
    "aof_enabled",
    "aof_last_write_status",
)


class Redis(Target[RedisOptions]):
    """Redis from this machine, or Redis or what speaks as it does, standing elsewhere."""

    name = "redis"
    summary = "Redis, Valkey and what speaks RESP: local, or external"
    Options = RedisOptions

    def __init__(self, options: RedisOptions, context: TargetContext) -> None:
        super().__init__(options, context)
        self._server: Server | None = None
        self._external: Address | None = None
        self._touched = False

    # -- life -------------------------------------------------------------------------------------------------------

    def up(self) -> None:
        if self.options.server == "external":
            self._reach()
            return
        server = self._server or self._make()
        # One that was killed a moment ago may still be a process; one that hangs is.
        if server.running and not self.alive():
            server.stop()
        if not server.running:
            server.stop()  # what is left of one that died
            server.directory.make()
            server.start()

    def _make(self) -> Server:
        options = self.options
        found = binaries.find(options.bin)
        who = account.choose(options.run_as, product=found.product, kind="redis", pin=self.context.pin)
        parent = Path(options.data).expanduser().absolute() if options.data else self.context.work
        given = {
            name: self.context.secret(value) if isinstance(value, str) else value
            for name, value in options.settings.items()
        }
        directory = DataDirectory(parent, found, who, self.context.log)
        self._server = Server(directory, given, self.context.work / "socket", self.context.log)
        return self._server

    def _reach(self) -> None:
        options, reveal = self.options, self.context.secret
        if self._external is None:
            self._external = Address(
                host=options.host or "localhost",
                port=options.port or PORT,
                path=options.socket,
                user=options.user,
                password=reveal(options.password) if options.password else None,
                database=options.database or 0,
                tls=bool(options.tls),
                tls_ca=options.tls_ca,
                tls_verify=options.tls_verify is not False,
                resp=options.resp,
            )
        with self._external.session(DOING_ASK_WHAT_IT_IS(), during="up") as connection:
            masters = _masters(connection)
        if masters > 1:
            raise TargetError(REDIS_CLUSTER(where=self._external.where, count=masters))

    def down(self) -> None:
        if self._server is not None:
            self._server.stop()

    def destroy(self) -> None:
        try:
            if self._server is not None:
                self._server.stop(quickly=True)
                self._server.directory.remove()
            elif self._external is not None and self._touched:
                self._keys().sweep()
        except TargetError as error:
            self.context.log(f"cannot clean up: {error.finding}: {error.advice}")

    # -- data -------------------------------------------------------------------------------------------------------

    def prepare(self, data: dict[str, Any], load: Loader, *, will_change: bool) -> DataSet:
        self._touched = True
        return self._keys().prepare(data, load, will_change=will_change)

    def _keys(self) -> Keys:
        return Keys(
            address=self._address(),
            own=self._server is not None,
            owner=Owner.of(self.context.work),
            keep=bool(self.options.keep_data),
            version=__version__,
            log=self.context.log,
        )

    # -- asked by the runner ----------------------------------------------------------------------------------------

    def endpoint(self) -> dict[str, Any]:
        return self._address().endpoint()

    def observed(self) -> Observed:
        return Observed(self._admin())

    def describe(self) -> dict[str, Any]:
        with self._admin().session(DOING_READ_SETTINGS(), during="collect") as connection:
            info = connection.info(*product.SECTIONS, "memory", "persistence", "replication")
            shown = connection.config()
            keys = keys_held(connection)
        what = product.of_info(info)
        record: dict[str, Any] = {
            "server": self.options.server,
            "product": what.name,
            "version": what.version,
            "compatible_with": f"Redis {what.redis_version}" if what.redis_version else None,
            "mode": info.get("redis_mode") or info.get("server_mode"),
            "role": info.get("role"),
            "threads": _figure(info["thread_count"]) if "thread_count" in info else None,
            "settings": settings.read_back(shown, self.options.settings),
            "memory": {name: _figure(info[name]) for name in _MEMORY if name in info},
            "persistence": {name: _figure(info[name]) for name in _PERSISTENCE if name in info},
            "database": {"name": str(self._address().database), "keys": keys},
            "tls": self._address().tls,
        }
        if self._server is not None:
            directory = self._server.directory
            record["binaries"] = str(directory.binary.server)
            record["run_as"] = directory.account.name
            record["connect"] = self.options.connect
            record["size_bytes"] = file_system.used_bytes(directory.data)
            record["data"] = file_system.file_system(directory.data)
        else:
            record["host"] = self._address().path or self._address().host
            record["data"] = None
        return record

    def processes(self) -> list[int]:
        if self._server is not None:
            pid = self._server.pid
            return [] if pid is None else [pid]
        if self._external is None or not self._external.here:
            return []
        try:
            with self._external.session(
                DOING_FIND_THE_PROCESS(), during="collect", limit_s=_ALIVE_LIMIT_S
            ) as connection:
                info = connection.info("server")
        except TargetError:
            return []
        return _process(info)

    def alive(self) -> bool:
        if self.options.server != "external" and (self._server is None or not self._server.running):
            return False
        try:
            self._admin().connect(limit_s=_ALIVE_LIMIT_S).close()
        except TargetError as error:
            return error.message.code in NONE_LEFT  # it answered, after all
        return True

    def counters(self) -> dict[str, int]:
        with self._admin().session(DOING_READ_COUNTERS(), during="collect") as connection:
            return counters.read(connection.info("commandstats"))

    # -- connections ------------------------------------------------------------------------------------------------

    def _admin(self) -> Address:
        return self._server.address("socket") if self._server is not None else self._address()

    def _address(self) -> Address:
        if self._server is not None:
            return self._server.address(self.options.connect, self.options.resp)
        if self._external is None:
            raise TargetError(TARGET_NOT_UP())
        return self._external

    @classmethod
    def advice(cls, options: RedisOptions, load: dict[str, Any]) -> list[Advice]:
        return advice.remarks(options, load)


def _masters(connection: Connection) -> int:
    """How many primaries share the keys; 1 where the server stands alone."""
    if connection.info("cluster").get("cluster_enabled") != "1":
        return 1
    try:
        said = str(connection.ask("CLUSTER", "INFO"))
    except RefusedError:
        return 1
    found = dict(line.split(":", 1) for line in said.split() if ":" in line)
    return int(found.get("cluster_size", "1"))


def _figure(text: str) -> int | float | str:
    """A number, where it is one."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _process(info: dict[str, str]) -> list[int]:
    """The process id that the server gives, if that is one of this machine: a port may be forwarded from elsewhere."""
    try:
        pid = int(info["process_id"])
        program = Path(f"/proc/{pid}/exe").readlink()
        return [pid] if program == Path(info["executable"]).resolve() else []
    except (KeyError, OSError, ValueError):
        return []


PART = Redis

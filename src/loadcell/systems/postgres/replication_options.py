"""Plan options of standbys: their number, and what a commit of the primary waits for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from pydantic import Field

from loadcell.model.message import MessageCode
from loadcell.plan.parts import Options
from loadcell.plan.problems import SettingError
from loadcell.systems.server_options import Setting

STANDBYS_KEEP_DATA = MessageCode("postgres.standbys-keep-data")
STANDBYS_SETTING = MessageCode("postgres.standbys-setting", setting=str, replication=str)
STANDBYS_NEED_WAL = MessageCode("postgres.standbys-need-wal", setting=str, value=str)

#: Setting of the primary that names the standbys which a commit waits for.
SYNCHRONOUS_NAMES = "synchronous_standby_names"
#: Settings that `standbys` decides, and those without which there is no replication.
_DECIDED = (SYNCHRONOUS_NAMES, "primary_conninfo", "primary_slot_name", "cluster_name", "hot_standby")
_NO_REPLICATION: dict[str, tuple[str, ...]] = {
    "wal_level": ("minimal",),
    "max_wal_senders": ("0",),
    "max_replication_slots": ("0",),
}


class StandbyOptions(Options, use_attribute_docstrings=True):
    """Standbys of a PostgreSQL that loadcell starts, each on its own directory and port."""

    count: int = Field(default=1, ge=1, le=4)
    """Number of standbys, from 1 to 4."""
    replication: Literal["asynchronous", "synchronous", "remote_apply"] = "asynchronous"
    """Condition of a commit: the primary has written it (`asynchronous`), all standbys have written it, too
    (`synchronous`), or all have applied it (`remote_apply`)."""

    @property
    def names(self) -> list[str]:
        """Names of the standbys as plans use them: `standby-1`."""
        return [f"standby-{number}" for number in range(1, self.count + 1)]

    def primary_settings(self) -> Iterator[tuple[str, Setting]]:
        """Settings of the primary."""
        if self.replication == "asynchronous":
            return
        names = ", ".join(map(server_name, self.names))
        yield SYNCHRONOUS_NAMES, f"FIRST {self.count} ({names})"
        if self.replication == "remote_apply":
            yield "synchronous_commit", "remote_apply"


def server_name(name: str) -> str:
    """Name of a standby among the server's identifiers: `standby_1`."""
    return name.replace("-", "_")


def check_standbys(options: StandbyOptions, settings: Mapping[str, Setting], *, keep_data: bool) -> None:
    """Raise SettingError for options of the server that standbys exclude."""
    if keep_data:
        raise SettingError(STANDBYS_KEEP_DATA())
    for name in _DECIDED:
        if name in settings:
            raise SettingError(STANDBYS_SETTING(setting=name, replication=options.replication))
    for name, values in _NO_REPLICATION.items():
        if str(settings.get(name, "")).strip().lower() in values:
            raise SettingError(STANDBYS_NEED_WAL(setting=name, value=str(settings[name])))

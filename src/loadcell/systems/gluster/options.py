"""Plan options of GlusterFS as storage under a target's data."""

from __future__ import annotations

from typing import Annotated

from pydantic import AliasChoices, ConfigDict, Field, field_validator, model_validator

from loadcell.model.message import MessageCode
from loadcell.plan.parts import Options
from loadcell.plan.problems import SettingError
from loadcell.plan.units import Duration, Size

BRICKS_NOT_A_MULTIPLE = MessageCode("gluster.bricks-not-a-multiple", bricks=int, replica=int)
REPLICAS_ON_ONE_HOST = MessageCode("gluster.replicas-on-one-host", hosts=int, replica=int)
PING_TIMEOUT_NOT_INTEGER = MessageCode("gluster.ping-timeout-not-whole", value=str)

#: Hosts are numbered in the last byte of their address; 254 is the client's.
_MOST_HOSTS = 16


class GlusterOptions(Options, use_attribute_docstrings=True):
    """A GlusterFS volume on hosts in namespaces of this machine (root only), made for the run."""

    model_config = ConfigDict(extra="forbid", frozen=True, title="gluster")

    hosts: int = Field(default=3, ge=1, le=_MOST_HOSTS)
    """Hosts, each with its own network interface and management daemon."""
    bricks: int = Field(default=1, ge=1, le=16)
    """Bricks of each host."""
    replica: int = Field(default=3, ge=1, le=_MOST_HOSTS)
    """Copies of each file. Fewer than there are bricks make a distributed volume."""
    shards: Annotated[Size, Field(ge=4 * 2**20, le=4 * 2**40)] | None = None
    """Size of the pieces that files are divided into (`64MiB`). Default: whole files."""
    ping_timeout: Annotated[Duration, Field(ge=1)] | None = Field(
        default=None, validation_alias=AliasChoices("ping_timeout", "ping-timeout")
    )
    """Time without an answer after which a brick counts as lost (`network.ping-timeout`). Default: 42s."""
    options: dict[str, str | int | bool] = Field(default_factory=dict)
    """Other options of the volume, as after `gluster volume set`."""

    @field_validator("ping_timeout")
    @classmethod
    def _integer_seconds(cls, value: Duration | None) -> Duration | None:
        if value is not None and float(value) != int(value):
            raise SettingError(PING_TIMEOUT_NOT_INTEGER(value=value.text))
        return value

    @model_validator(mode="after")
    def _replicas_have_hosts(self) -> GlusterOptions:
        if self.replica > self.hosts:
            raise SettingError(REPLICAS_ON_ONE_HOST(hosts=self.hosts, replica=self.replica))
        if self.brick_count % self.replica:
            raise SettingError(BRICKS_NOT_A_MULTIPLE(bricks=self.brick_count, replica=self.replica))
        return self

    @property
    def brick_count(self) -> int:
        """Bricks of all hosts."""
        return self.hosts * self.bricks

    def host_of(self, brick: int) -> int:
        """Number of the host of a brick; bricks beyond those of the plan are on the hosts in turn, too."""
        return (brick - 1) % self.hosts + 1

    def volume_options(self) -> dict[str, str]:
        """Options of the volume by their names in GlusterFS."""
        options = {name: _word(value) for name, value in self.options.items()}
        if self.ping_timeout is not None:
            options["network.ping-timeout"] = str(int(self.ping_timeout))
        if self.shards is not None:
            options |= {"features.shard": "on", "features.shard-block-size": f"{int(self.shards)}B"}
        return options


def _word(value: str | int | bool) -> str:
    return ("on" if value else "off") if isinstance(value, bool) else str(value)

"""Disks, by fio's definitions."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, model_validator

from loadcell.model.json import JsonObject
from loadcell.model.message import Labels
from loadcell.model.metrics import declare
from loadcell.plan.parts import Advice
from loadcell.plan.units import Fraction, Size
from loadcell.plan.workload import declare_unit
from loadcell.workloads.probe.messages import PROBE_BLOCK_SIZE
from loadcell.workloads.probe.section import Section

declare("iops", "rate", "probe disk: blocks read and written, of all clients together")
declare("read_mib_per_s", "count", "probe disk: MiB read, per second")
declare("write_mib_per_s", "count", "probe disk: MiB written, per second")

BLOCK = declare_unit("block")
_NOTE = Labels("note", ("probe.disk", "probe.disk.direct", "probe.disk.cached"))
#: What any device's sector is a multiple of, and what nearly all can do.
_SECTOR, _PAGE = 512, 4096
_WRITING = ("write", "readwrite", "randwrite", "randrw")


class DiskOptions(Section):
    """Blocks of a file are read and written, in order or at random, as fio does; each client has a separate
    file.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, title="disk")

    access: Literal["read", "write", "readwrite", "randread", "randwrite", "randrw"] = Field(
        default="randread",
        description="What is done to blocks, by fio's names: in order or at random, read, written or both.",
    )
    size: Annotated[Size, Field(ge=1, le=2**50)] = Field(
        default=Size(2 * 2**30),
        description="Of each client's file, which is written in full before anything is measured.",
    )
    block: Annotated[Size, Field(ge=1, le=2**30)] = Field(
        default=Size(_PAGE), description="What is read or written at once. As `bs`."
    )
    direct: bool = Field(
        default=True,
        description="Whether blocks go past the page cache (O_DIRECT). Where the file system cannot, they go through it, and the "
        "report says so.",
    )
    fdatasync: int = Field(
        default=0,
        ge=0,
        le=2**32,
        description="After so many writes the data are flushed to the device, and as fio does it after each read before the next write as well; "
        "0: never.",
    )
    ioengine: Literal["psync", "io_uring"] = Field(
        default="psync",
        alias="engine",
        description="`psync`: a call a block; `io_uring`: many blocks at once.",
    )
    depth: int = Field(
        default=1,
        ge=1,
        le=4096,
        description="Blocks that a client has under way at once, with `io_uring`. As `iodepth`.",
    )
    reads: Annotated[Fraction, Field(ge=0, le=1)] = Field(
        default=Fraction(0.5), description="Of `readwrite` and `randrw`: the share of blocks that are read."
    )
    random_map: bool = Field(
        default=True,
        description="Whether random access comes to every block once before it comes to any again; `false` is `norandommap`.",
    )

    @model_validator(mode="after")
    def _is_consistent(self) -> DiskOptions:
        if self.size < self.block:
            raise ValueError(f"`size` ({self.size.text}) is less than a block ({self.block.text})")
        if self.direct and self.block % _SECTOR:
            raise ValueError(
                f"blocks of {self.block.text} cannot go past the page cache: use a multiple of 512B, or `direct: false`"
            )
        if self.depth > 1 and self.ioengine == "psync":
            raise ValueError(
                f"`psync` has one block a client under way, not {self.depth}: use `engine: io_uring`, or more clients"
            )
        if self.fdatasync and self.access not in _WRITING:
            raise ValueError(f"`{self.access}` writes nothing: there is nothing for `fdatasync` to flush")
        return self

    @property
    def unit(self) -> str:
        return BLOCK

    @property
    def pipeline(self) -> int:
        """Number of blocks a client has under way at the most."""
        return self.depth

    @property
    def lays_out(self) -> bool:
        return True

    def engine(self) -> JsonObject:
        plain = self.model_dump(exclude={"size", "block", "reads", "ioengine"})
        sizes = {"size_bytes": int(self.size), "block_bytes": int(self.block)}
        return {**plain, **sizes, "engine": self.ioengine, "reads": float(self.reads)}

    def notes(self) -> tuple[str, ...]:
        return ("probe.disk", "probe.disk.direct" if self.direct else "probe.disk.cached")

    def advice(self) -> list[Advice]:
        if self.direct and self.block % _PAGE:
            return [Advice("block", PROBE_BLOCK_SIZE(block=self.block.text))]
        return []

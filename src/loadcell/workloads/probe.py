"""The workload `probe`: what the machine itself can do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ConfigDict, Field, model_validator

from loadcell.model import probes
from loadcell.model.extensions import HOST, TargetKind
from loadcell.model.json import JsonObject
from loadcell.model.message import MessageCode
from loadcell.plan.parts import Advice, Misfit, Options
from loadcell.plan.problems import SettingError
from loadcell.plan.workload import Workload
from loadcell.workloads.probe_options import (
    CpuOptions,
    DiskOptions,
    LatencyOptions,
    MemoryOptions,
    NetworkOptions,
    Section,
)

if TYPE_CHECKING:
    from loadcell.plan.model import Load, Resolved

PROBE_NO_RATE = MessageCode("probe.no-rate")
PROBE_IN_MEMORY = MessageCode("probe.in-memory", "caution", memory=str)
PROBE_KIND = MessageCode("probe.kind", kinds=list)


class ProbeOptions(Options):
    """Which of the machine's parts is probed: one of them."""

    model_config = ConfigDict(extra="forbid", frozen=True, title="probe")

    cpu: CpuOptions | None = Field(
        default=None, description="Processors: primes by trial division, as `sysbench cpu`."
    )
    memory: MemoryOptions | None = Field(
        default=None, description="Memory: the tests of `sysbench memory`, mbw and STREAM."
    )
    latency: LatencyOptions | None = Field(
        default=None, description="Memory: how long one access takes, by a chase through pointers."
    )
    disk: DiskOptions | None = Field(default=None, description="Disks: blocks read and written, as `fio`.")
    network: NetworkOptions | None = Field(
        default=None, description="Network: requests or octets to a peer, as `netperf` and `iperf3`."
    )

    @model_validator(mode="after")
    def _is_one(self) -> ProbeOptions:
        if len(self._given()) != 1:
            raise SettingError(PROBE_KIND(kinds=[f"`{name}`" for name in type(self).model_fields]))
        return self

    def _given(self) -> dict[str, Section]:
        every = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: section for name, section in every.items() if section is not None}

    @property
    def kind(self) -> str:
        """Name of the probed resource."""
        return next(iter(self._given()))

    @property
    def section(self) -> Section:
        """Its options."""
        return next(iter(self._given().values()))

    @property
    def most_in_flight(self) -> int:
        return self.section.pipeline


class Probe(Workload[ProbeOptions]):
    """Load on the machine alone. The engine reports its metrics."""

    name = "probe"
    summary = "what this machine can do: cpu, memory, latency, disk, network"
    Options = ProbeOptions
    needs = frozenset({HOST})
    quantity = staticmethod(probes.quantity)

    @property
    def unit(self) -> str:  # type: ignore[override]  # each probe counts its own
        return self.options.section.unit

    def data(self) -> None:
        return None

    @property
    def changes_data(self) -> bool:
        return False

    @property
    def lays_out(self) -> bool:
        return self.options.section.lays_out

    def engine(self) -> JsonObject:
        return {"probe": {self.options.kind: self.options.section.engine()}}

    def notes(self) -> tuple[str, ...]:
        return self.options.section.notes()

    def advice(self) -> list[Advice]:
        kind = self.options.kind
        return [Advice(f"{kind}.{advice.path}", advice.message) for advice in self.options.section.advice()]

    def remarks(self, settings: Resolved) -> list[Advice]:
        memory = getattr(settings.target, "memory", None) if self.lays_out else None
        if memory is None:
            return []
        return [Advice("target.host.directory", PROBE_IN_MEMORY(memory=memory))]

    def misfits(self, load: Load, target: TargetKind | None) -> list[Misfit]:  # noqa: ARG002
        kind, misfits = self.options.kind, []
        if load.rate is not None:
            misfits.append(Misfit("load.rate", PROBE_NO_RATE()))
        for misfit in self.options.section.misfits(load):
            misfits.append(Misfit(f"workload.probe.{kind}.{misfit.path}", misfit.message))
        return misfits


PART = Probe

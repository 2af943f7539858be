"""Networks, by netperf's definitions."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, model_validator

from loadcell.model.json import JsonObject
from loadcell.model.message import Labels
from loadcell.model.metrics import declare
from loadcell.plan.units import Size
from loadcell.workloads.probe.section import Section

declare("transactions_per_s", "rate", "probe network: requests answered, of all connections together")
declare("mbit_per_s", "count", "probe network: 10^6 bits that arrived of streams, per second", headline=True)

_NOTE = Labels("note", ("probe.network.rr", "probe.network.crr", "probe.network.stream"))
_LONGEST = 16 * 2**20
_Length = Annotated[Size, Field(ge=1, le=_LONGEST)]
#: Octets that two sockets with the kernel's largest buffers hold between them.
_UNDER_WAY = 64 * 2**20


class NetworkOptions(Section):
    """Requests and responses, or octets in one direction, between this machine and a peer, as netperf and
    iperf3 make them.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, title="network")

    test: Literal["rr", "crr", "stream"] = Field(
        default="rr",
        description="`rr`: request and response over connections that last; `crr`: a connection for each; `stream`: octets in one "
        "direction. netperf's TCP_RR, TCP_CRR and TCP_STREAM.",
    )
    request: _Length = Field(default=Size(1), description="Length of a request.")
    response: _Length = Field(default=Size(1), description="Length of a response.")
    block: _Length = Field(
        default=Size(128 * 2**10), description="Of a stream: what is written at once, as iperf3 does."
    )

    @model_validator(mode="after")
    def _is_consistent(self) -> NetworkOptions:
        other = ("request", "response") if self.test == "stream" else ("block",)
        for name in other:
            if name in self.model_fields_set:
                raise ValueError(f"`{self.test}` has no `{name}`: leave it out, or use another test")
        return self

    @property
    def unit(self) -> str:
        return "block" if self.test == "stream" else "transaction"

    @property
    def pipeline(self) -> int:
        """Maximum amount in flight per client: of a stream, blocks that buffers hold."""
        return _UNDER_WAY // int(self.block) + 1 if self.test == "stream" else 1

    def engine(self) -> JsonObject:
        return {
            "test": self.test,
            "request_bytes": int(self.request),
            "response_bytes": int(self.response),
            "block_bytes": int(self.block),
        }

    def notes(self) -> tuple[str, ...]:
        return (f"probe.network.{self.test}",)

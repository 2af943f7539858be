"""Memory bandwidth: processors and memory exchange nearly as many bytes as the modules can move."""

from __future__ import annotations

from loadcell.analysis.limits.candidate import AT_LIMIT, Evidence, Sign, at_limit, declared_candidate
from loadcell.model.message import Bytes, MessageCode, Share

#: Share of the theoretical bandwidth that programs achieve: refresh, turns between reads and writes, and
#: conflicts of banks take the rest. 65% to 75% by Jacob ("The Memory System", 2009), 67% to 79% with STREAM
#: by Texas Instruments (SPRAD45A and SPRACV1B, 2024). STREAM leaves out lines that are read before they are
#: written; the counters do not.
ACHIEVABLE = 0.8
TRAFFIC = MessageCode(
    "limit.bandwidth.traffic", "info", traffic_bytes=Bytes, peak_bytes=Bytes, used_share=Share
)


def _signs(evidence: Evidence) -> Sign | None:
    host = evidence.used.host
    traffic, peak = host.memory_traffic_bytes_per_s, host.memory_peak_bytes_per_s
    if traffic is None or not peak:
        return None
    return Sign(
        (at_limit(traffic / peak, AT_LIMIT * ACHIEVABLE),),
        TRAFFIC(traffic_bytes=round(traffic), peak_bytes=round(peak), used_share=traffic / peak),
    )


#: A thread that waits for memory uses its core: more cores or threads would wait as well.
CANDIDATE = declared_candidate("bandwidth", _signs, explains=("cpu", "thread"))

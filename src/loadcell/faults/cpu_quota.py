"""`cpu-quota`: the subject gets the CPU time of some cores, enforced per 100 ms."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from loadcell.faults.control_group import ControlGroupFault
from loadcell.plan.parts import SubjectOptions

_PERIOD_US = 100_000


class CpuQuotaOptions(SubjectOptions, use_attribute_docstrings=True):
    """Options of a CPU quota."""

    cores: float = Field(ge=0.01, le=1024)
    """CPU time per second, in cores: `0.2` is 20 ms in each period of 100 ms."""


class CpuQuota(ControlGroupFault[CpuQuotaOptions]):
    """Limit the CPU time of all processes of the subject together."""

    name = "cpu-quota"
    synonyms = ("cpu-limit", "throttle-cpu")
    summary = "Limit the CPU time of the subject (cgroup)"
    Options = CpuQuotaOptions
    controller = ("cpu", "cpu")

    def limits(self, unified: bool) -> Mapping[str, str]:
        quota_us = round(self.options.cores * _PERIOD_US)
        if unified:
            return {"cpu.max": f"{quota_us} {_PERIOD_US}"}
        return {"cpu.cfs_period_us": str(_PERIOD_US), "cpu.cfs_quota_us": str(quota_us)}


PART = CpuQuota

"""Contract of samplers, which attach to a target for one trial, and their registry: modules with
`SAMPLERS`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from loadcell import profilers
from loadcell.model.json import JsonObject
from loadcell.model.profile_record import ProfileRecord
from loadcell.plan.profile import Profile
from loadcell.store.write import TrialWriter

#: Longest profile of a load whose end is unknown.
LONGEST_S = 86_400.0


@dataclass(frozen=True)
class Download:
    """A package of a Maven repository that a sampler needs, with its pinned SHA-256."""

    group: str
    name: str
    version: str
    sha256: str

    @property
    def label(self) -> str:
        """`group:name:version`."""
        return f"{self.group}:{self.name}:{self.version}"


class Sampler(Protocol):
    """Samples one trial; see `loadcell.profilers.perf.PerfSampler`. All methods may raise ProfilerError.

    `unpacked` is the directory of its package, if it has a `download`; the load takes at most `limit_s`.
    """

    process_kind: Callable[[str], str]
    unpacked: Path | None
    limit_s: float

    @classmethod
    def check(cls, options: Any) -> None:
        """Check that this machine has what the profile needs. Raises ProfilerError."""

    @classmethod
    def download(cls, options: Any) -> Download | None:
        """The package that the profile needs; None without one."""

    def workload(self, section: JsonObject) -> JsonObject:
        """The engine's section of a workload, with the order of a profile that is taken inside it."""
        ...

    def attach(self, roots: list[int], *, by_thread: bool = False) -> None:
        """Begin to sample the trees of these processes."""

    def phase(self, name: str, mono_ns: int) -> None:
        """Note the phase of the load."""

    def end(self) -> None:
        """Detach from the target."""

    def collect(self, writer: TrialWriter, title: str, log: Callable[[str], None]) -> ProfileRecord:
        """Write the profile into the trial's directory."""
        ...

    def output(self) -> list[str]:
        """Lines that the profiler has printed so far."""
        ...

    def remove(self) -> None:
        """Remove its files."""


@cache
def _samplers() -> Mapping[str, type[Sampler]]:
    modules = pkgutil.iter_modules(profilers.__path__, profilers.__name__ + ".")
    registered = (getattr(importlib.import_module(module.name), "SAMPLERS", ()) for module in modules)
    return dict(entry for entries in registered for entry in entries)


def sampler_of(profile: Profile, work: Path) -> Sampler:
    """A sampler that takes this profile, with its files under `work`."""
    make: Callable[[Profile, Path], Sampler] = _samplers()[profile.kind]
    return make(profile, work)


def check(profile: Profile) -> None:
    """Check that this machine has what the profile needs. Raises ProfilerError."""
    _samplers()[profile.kind].check(profile)


def download(profile: Profile) -> Download | None:
    """The package that the profile needs; None without one."""
    return _samplers()[profile.kind].download(profile)
